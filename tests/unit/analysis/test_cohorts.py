"""When a label splits the groups: only where its values follow different laws by more than chance."""

from __future__ import annotations

import random

from forensics.analysis.cohorts import GapGroup, best_split, part_of, valley

SECOND = 1_000_000


def groups(label: str, value: str, low_s: float, high_s: float, count: int, seed: int = 3) -> list[GapGroup]:
    rng = random.Random(seed)  # noqa: S311
    return [GapGroup((round(rng.uniform(low_s, high_s) * SECOND),), {label: value}) for _ in range(count)]


def test_values_with_other_gaps_split_the_groups_most_groups_first() -> None:
    split = best_split(groups("channel", "app", 4, 5, 20) + groups("channel", "web", 8, 9, 40))
    assert split is not None
    assert (split.label, split.values) == ("channel", ("web", "app"))
    assert part_of(split, {"channel": "app"}) == "app"
    assert part_of(split, {"channel": "kiosk"}) is None


def test_values_drawn_from_one_law_do_not() -> None:
    for seed in range(20):
        both = groups("channel", "app", 4, 9, 40, seed) + groups("channel", "web", 4, 9, 40, seed + 100)
        assert best_split(both) is None


def test_a_value_with_few_groups_is_no_cohort() -> None:
    split = best_split(groups("channel", "app", 4, 5, 30) + groups("channel", "web", 8, 9, 5))
    assert split is None or split.values == ("app",)


def test_the_label_that_explains_more_is_taken() -> None:
    mixed = [
        GapGroup(g.gaps_us, {"sender": g.labels["sender"], "channel": ("app", "web")[n % 2]})
        for n, g in enumerate(groups("sender", "erp", 4, 5, 30) + groups("sender", "shop", 8, 9, 30))
    ]
    split = best_split(mixed)
    assert split is not None
    assert split.label == "sender"


def test_short_gaps_and_long_ones_are_parted_in_the_valley_between_them() -> None:
    gaps = [g.gaps_us[0] for g in groups("a", "b", 4, 6, 30) + groups("a", "b", 1000, 3000, 30)]
    cut = valley(gaps)
    assert cut is not None
    assert 6 * SECOND < cut < 1000 * SECOND


def test_one_hump_has_no_valley() -> None:
    rng = random.Random(5)  # noqa: S311
    assert valley([round(rng.lognormvariate(2, 0.5) * SECOND) for _ in range(200)]) is None
