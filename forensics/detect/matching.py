"""Both kinds of evidence that gaps come from, matched cohort by cohort: rows of the ledger, attempts of a log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from forensics.analysis.cohorts import GapGroup
from forensics.analysis.match import match_gaps
from forensics.detect.attempts import Attempts
from forensics.detect.cohorts import Cohort, Cohorts, match_cohorts, with_timeout
from forensics.model import CatalogueEntry

_FEWEST_LOG_GAPS = 10
# A log without durations may stamp the ends of requests: gaps are off by how much longer one took than the other.
_UNTIMED_BLUR_US = 1_000_000
_UNTIMED = (
    "the same waits behind a timeout: the log has no durations, and if it stamps ends no timeout is in its gaps",
)


def match_rows(
    groups: Sequence[GapGroup], resolution_us: int, timeout_s: float | None, catalogue: Sequence[CatalogueEntry]
) -> Cohorts | None:
    """The policies behind the gaps between rows of the ledger; None where no gap can be compared."""
    if not groups:
        return None
    match = partial(match_gaps, resolution_us=resolution_us, timeout_s=timeout_s, catalogue=catalogue)
    return match_cohorts("rows of the ledger", groups, match)


def match_attempts(
    attempts: Attempts | None, step_us: int, timeout_s: float | None, catalogue: Sequence[CatalogueEntry]
) -> Cohorts | None:
    """The policies that the log's own attempts show; None where the log does not tie attempts.

    `step_us`: how coarsely the log tells starts. `timeout_s`: the client's timeout where the user knows it.
    """
    if attempts is None or sum(len(call.gaps_us) for call in attempts.calls) < _FEWEST_LOG_GAPS:
        return None
    timeout_s = timeout_s if timeout_s is not None else attempts.timeout_s
    given = 0.0 if attempts.waits else timeout_s
    match = partial(match_gaps, resolution_us=step_us, timeout_s=given, catalogue=catalogue)
    found = match_cohorts("attempts in the access log", attempts.waits or attempts.calls, match)
    if attempts.waits:
        return with_timeout(found, timeout_s, catalogue)
    return found if attempts.timed else _doubted(found)


def log_step_us(attempts: Attempts | None, resolution_us: int) -> int:
    """How coarsely the log tells starts: its clock, and where it has no durations at least as long as answers take."""
    untimed = attempts is not None and not attempts.timed
    return max(resolution_us, _UNTIMED_BLUR_US if untimed else 1)


def _doubted(cohorts: Cohorts) -> Cohorts:
    """With what no gap of an untimed log can tell any policy from."""
    return replace(cohorts, parts={value: _doubted_cohort(c) for value, c in cohorts.parts.items()})


def _doubted_cohort(cohort: Cohort) -> Cohort:
    ranked = tuple(replace(r, cannot_tell_from=(*_UNTIMED, *r.cannot_tell_from)) for r in cohort.match.ranked)
    return replace(cohort, match=replace(cohort.match, ranked=ranked))
