"""Requests over time and through the hops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

CARRIES = 0.1
"""Share of the growth from which a part is worth naming."""


@dataclass(frozen=True, slots=True)
class TrafficPart:
    """One route, client, user agent or hop in the two windows. Ratios are of rates."""

    part: str
    """Empty where the log does not say."""
    basis: str
    """What told its attempts, as traffic/split takes it."""
    baseline_requests: int
    baseline_first: int
    incident_requests: int
    incident_first: int
    incident_retries: int
    """What is neither a first attempt nor a retry does not say."""
    requests_ratio: float | None
    """None without a request in the baseline."""
    users_ratio: float | None
    """First attempts, incident against baseline; None where some requests do not say, or none was in the baseline."""
    amplification_baseline: float | None
    amplification_incident: float | None
    """Of the requests that say which attempt they are; None without a first attempt."""
    growth_share: float | None
    """Its part of the requests that came on top of the baseline's rate; None for hops, which do not add up, and
    without a growth."""


@dataclass(frozen=True, slots=True)
class TrafficSplit:
    """The two windows by one of the things that requests differ in."""

    by: str
    """route | client | user_agent | hop."""
    parts: tuple[TrafficPart, ...]
    """Those with most requests in the incident, most first."""
    of: int
    """Parts in all."""
    parameters: Mapping[str, object]
    """With which traffic/split gives these counts; of hops, those of the one that was counted."""

    @property
    def is_carried(self) -> bool:
        """Whether some part carries a tenth or more of the growth; so for hops, which have no shares of it."""
        return any(p.growth_share is None or p.growth_share >= CARRIES for p in self.parts)


@dataclass(frozen=True, slots=True)
class Probe:
    """A caller that behaves as a health check does; its requests are counted apart."""

    hop: str
    client: str
    user_agent: str
    method: str
    route: str
    requests: int
    regular: int
    """Gaps near the period, of one less than the requests."""
    period_s: float
    good_bytes: int | None
    """Size of all its good answers; None when the log has no sizes, or none was good."""
    first_at: datetime
    last_at: datetime


@dataclass(frozen=True, slots=True)
class Traffic:
    """Requests that can make an effect, in two windows. Ratios are of rates."""

    baseline_start: datetime
    baseline_end: datetime
    incident_start: datetime
    incident_end: datetime
    windows_why: str
    requests_ratio: float | None
    users_ratio: float | None
    """First attempts, incident against baseline; None when no attempt can be told."""
    amplification_baseline: float | None
    amplification_incident: float | None
    retry_share_incident: float | None
    retry_share_low: float | None
    retry_share_high: float | None
    header_coverage: float
    basis: str
    """How first attempts were told: 'attempt header', 'idempotency key', 'request id', ..."""
    verdict: str
    """retries | users | both | neither | cannot_tell."""
    scope: str
    recovered_at: datetime | None = None
    """End of the tail after the incident in which retries or failures were still above the ordinary; None without."""
    users_ratio_low: float | None = None
    users_ratio_high: float | None = None
    growth_by_retries: float | None = None
    """Share of the growth's logarithm that retries carry, users the rest; None without a growth."""
    verdict_why: tuple[str, ...] = ()
    cannot_tell_from: tuple[str, ...] = ()
    """What the verdict cannot be told apart from, in words."""
    splits: tuple[TrafficSplit, ...] = ()
    """Empty when no incident was found or given."""
    probes: tuple[Probe, ...] = ()
    """Health checks, at all hops, counted in none of the numbers above."""


@dataclass(frozen=True, slots=True)
class Supposed:
    """What another way to retry would have made of the incident."""

    name: str
    """as_seen | no_retries | one_layer | full_jitter | budget_10 | budget_20 | breaker."""
    requests: int
    """Expected at the last hop over the incident, rounded."""
    peak: int
    """Most of them in one step."""


@dataclass(frozen=True, slots=True)
class WhatIf:
    """A model, stated with its assumptions."""

    step_s: float
    """Length of the steps in which `peak` is counted."""
    assumptions: tuple[str, ...]
    scenarios: tuple[Supposed, ...]


@dataclass(frozen=True, slots=True)
class TrafficBin:
    """Requests in one step of the timeline."""

    at: datetime
    first_attempts: int
    retries: int
    unnumbered: int
    """Requests that do not say which attempt they are."""


@dataclass(frozen=True, slots=True)
class LayerHop:
    """One hop of a chain, and how often it tries."""

    hop: str
    """As the log file is named."""
    attempts_per_request: float | None
    """Tries this hop makes of one request it received, when all fail; None when the evidence does not show it."""
    at_least: bool
    """True when no request failed throughout, so that the hop may try more often than was seen."""
    told_by: str
    """In words: what the number was read from, or why there is none."""
    requests: int
    """Requests with a state-changing method that the hop logged."""
    failed_calls: int
    """Calls that failed throughout here, from which the number was read."""
    share: float | None
    """Of those, the share that shows exactly this number; None when there is no number."""
    product_without: float | None
    """Requests at the last hop for one at the edge if only this hop stopped retrying; None without a number."""


@dataclass(frozen=True, slots=True)
class Layers:
    """Retries multiplied through hops."""

    hops: tuple[LayerHop, ...]
    """From the edge inwards."""
    product: float
    """Requests at the last hop for one at the edge when everything fails: the product over the hops."""
    seen_product: float | None
    """The same counted from end to end, over calls that failed throughout; None when there were too few."""
    tied_by: str
    """The id by which the hops' lines were brought together."""
    switch_off_first: str | None
    """Hop whose retries should go first; None when no more than one hop retries."""
    notes: tuple[str, ...]
    """What limits the answer, in words."""
    confidence: float
    window: tuple[datetime, datetime] | None = None
    """The calls that began in it were looked at; None: all."""
    window_why: str = ""
    """Which time that is, in words."""


@dataclass(frozen=True, slots=True)
class HerdBin:
    """Retries in one step of time after the calls were cut off."""

    offset_s: float
    retries: int
    full_jitter: float
    """Retries expected there, had every wait been drawn between zero and its length."""


@dataclass(frozen=True, slots=True)
class HerdWave:
    """The retries of one number among calls that ended together."""

    attempt: int
    offset_s: float
    """Its middle, after the calls ended."""
    retries: int
    peak: int
    """Most of them in one step of time."""
    peak_full_jitter: float
    """The expected peak, had the same waits been fully jittered."""


@dataclass(frozen=True, slots=True)
class Herd:
    """Whether calls that ended together come back together."""

    synchronised: bool
    wave_offsets_s: tuple[float, ...]
    """Middle of each wave after the calls ended; empty when not synchronised."""
    confidence: float
    why: str
    ended: tuple[datetime, datetime] | None
    """Half-open span in which the calls ended together; None when they never did."""
    clients: int
    """Calls that ended then and were tried again; 0 when none ended together."""
    share_in_step: float | None
    """Of their retries, the share in narrow waves; None when none ended together or the clock is too coarse."""
    peak: int
    """Most retries in one step of time."""
    mean: float
    """Retries per step, from the end to the last retry."""
    step_s: float
    waves: tuple[HerdWave, ...]
    """Empty when none ended together."""
    bins: tuple[HerdBin, ...]
    """Empty when none ended together."""
    tied_by: str
    hop: str
    """Empty for logs whose file names none."""
    window: tuple[datetime, datetime] | None = None
    """Calls that ended together were looked for in it; None: in the whole log."""
    window_why: str = ""
    """Which time that is, in words."""
