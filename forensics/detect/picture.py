"""What the histogram of gaps is drawn from: counts, the fitted density, and where the strongest policy expects gaps."""

from __future__ import annotations

from collections.abc import Sequence

from forensics.analysis.curve import density_curve, expected_shares
from forensics.analysis.schedules import waits
from forensics.model import GapPicture, MatchResult, Policy

_BINS = 60
_CURVE_POINTS = 480


def gap_picture(groups: Sequence[Sequence[int]], match: MatchResult | None, resolution_us: int) -> GapPicture | None:
    """The picture of all gaps of the ledger; None when there are none."""
    gaps = sorted(g / 1e6 for group in groups for g in group)
    if not gaps:
        return None
    expected = expected_gaps(match.ranked[0].policy) if match and match.verdict == "named" else ()
    reach = max([gaps[int(0.97 * (len(gaps) - 1))] * 1.15, *[s * 1.1 for _, s in expected[:4]], 1.0])
    width = max(reach / _BINS, resolution_us / 1e6)
    bins = max(4, int(reach / width) + 1)
    edges = tuple(round(i * width, 6) for i in range(bins + 1))
    counts = [0] * bins
    for gap in gaps:
        if gap < edges[-1]:
            counts[min(bins - 1, int(gap / width))] += 1
    curve_s: tuple[float, ...] = ()
    curve: tuple[float, ...] = ()
    in_bins: tuple[float, ...] = ()
    if match and match.verdict == "named":
        fitted = density_curve(match.fits[0], resolution_us, edges[-1], _CURVE_POINTS)
        curve_s = tuple(round(float(x), 6) for x in fitted.gaps_s)
        curve = tuple(round(float(y) * len(gaps) * width, 6) for y in fitted.total)
        shares = expected_shares(match.fits[0], edges, resolution_us)
        in_bins = tuple(round(float(share) * len(gaps), 6) for share in shares)
    beyond = sum(g >= edges[-1] for g in gaps)
    return GapPicture(edges, tuple(counts), curve_s, curve, tuple(expected), beyond, in_bins)


def expected_gaps(policy: Policy) -> tuple[tuple[str, float], ...]:
    """Label and length of the gap between each attempt and the next when its reply was lost: timeout + nominal wait."""
    plan = policy.schedule_s or waits(policy, max(1, min(5, (policy.max_attempts or 4) - 1)))
    timeout = policy.timeout_s or 0.0
    return tuple((f"{n}→{n + 1}", round(timeout + wait, 6)) for n, wait in enumerate(plan, 1))
