"""The broker's own policy: after how long it delivers again what was not acknowledged."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from forensics.analysis.catalogue import entries_that_fit
from forensics.analysis.priors import near_round
from forensics.analysis.words import seconds
from forensics.detect.deliveries import common_return_s
from forensics.model import BROKER_COHORT, CatalogueEntry, CohortPolicy, Policy, RankedPolicy
from forensics.runner import Runner

_FEWEST_RETURNS = 5
_GIVEN_BACK_S = 1.0
"""Brokers count a visibility timeout in whole seconds; what comes back sooner was given back at once."""
_GIVEN_BACK_SHARE = 0.1
_NEAR = 0.08
_KINDS = ("broker", "queue")


def broker_policy(runner: Runner, acts: int, share: float, catalogue: Sequence[CatalogueEntry]) -> CohortPolicy | None:
    """The policy of redelivery that the deliveries show; None where they show none.

    `acts`: business acts that took effect again for it. `share`: of all acts with an excess, those.
    """
    if not acts or not runner.count("deliveries"):
        return None
    waits = sorted(r["again_us"] / 1e6 for r in runner.run("deliveries/returns").records())
    if len(waits) < _FEWEST_RETURNS:
        return None
    products = [entry for entry in catalogue if entry.kind in _KINDS]
    ranked, explained = _after_a_while(waits, products) or _at_once(waits, products) or (None, 0.0)
    return CohortPolicy(BROKER_COHORT, acts, share, explained, ranked) if ranked else None


def _after_a_while(waits_s: Sequence[float], products: Sequence[CatalogueEntry]) -> tuple[RankedPolicy, float] | None:
    """One time that most returns share: the broker waits so long for an acknowledgement.

    The wait and the timeout are one time here, and a gap holds it once: base and timeout are both given as it.
    """
    common = common_return_s(waits_s)
    if common is None:
        return None
    time_s, alike = common
    base = (near_round(time_s, _NEAR) or [round(time_s, 1)])[0]
    policy = Policy("fixed", base, 1.0, None, (base,), "none", None, base, None)
    said = (
        f"the wait is how long the broker waits for the acknowledgement ({seconds(base)}), so a gap holds it once",
        "a lock or lease of the consumer's own that runs out after as long",
    )
    return RankedPolicy(policy, round(min(0.9, alike), 4), False, entries_that_fit(policy, products), said), alike


def _at_once(waits_s: Sequence[float], products: Sequence[CatalogueEntry]) -> tuple[RankedPolicy, float] | None:
    """No common time, and some came back within a second: given back by a consumer that died or refused them."""
    sooner = sum(w < _GIVEN_BACK_S for w in waits_s) / len(waits_s)
    if sooner < _GIVEN_BACK_SHARE:
        return None
    policy = Policy("none", 0.0, 1.0, None, (0.0,), "none", None, 0.0, None)
    said = (
        f"how long it was away (half: {seconds(median(waits_s))}) is how long its consumer held it before it died",
        "a visibility timeout that differs from message to message",
    )
    return RankedPolicy(policy, round(0.6 + 0.3 * sooner, 4), False, entries_that_fit(policy, products), said), sooner
