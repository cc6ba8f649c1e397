"""How clients retry, and how well gaps speak for it."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Policy:
    """One retry policy: nominal waits, what randomises them, and how long the caller waits for a reply."""

    shape: str
    """none | fixed | linear | exponential | polynomial | decorrelated | schedule (design: backoff schedule)."""
    base_s: float | None
    """First nominal wait of the shape, in seconds; None for a bare schedule."""
    factor: float | None
    """Exponential: multiplier; linear: step in seconds; polynomial: exponent; fixed and none: 1 or None; else None."""
    cap_s: float | None
    """Largest nominal wait; None when no cap shows."""
    schedule_s: tuple[float, ...]
    """Nominal waits before attempts 2, 3, ... as far as the evidence reaches, caps and first wait applied."""
    jitter: str
    """none | full | equal | proportional | additive | decorrelated."""
    jitter_amount: float | None
    """proportional: x of d(1±x); additive: x seconds of d+U(0,x); else None."""
    timeout_s: float | None
    """How long a caller waits before it counts a reply as lost; 0 = a lost reply shows at once; None = not known."""
    max_attempts: int | None
    """Most attempts including the first; a lower bound where the evidence shows no more; None = not known."""
    jitter_range: tuple[float, float] | None = None
    """proportional only: the bounds (low, high) of the multiplier where they are not 1-x and 1+x; else None."""
    first_wait_s: float | None = None
    """Wait before attempt 2 where the shape starts only before attempt 3 (urllib3: 0); None = it starts at once."""


@dataclass(frozen=True, slots=True)
class RankedPolicy:
    """A policy and how well the gaps of one cohort speak for it."""

    policy: Policy
    probability: float
    """That it is right in every field, 0..1. All candidates tried share 0.75; the rest is for policies that were not
    tried and for what the model has wrong, as measured on random policies."""
    tied: bool
    """True when the evidence cannot tell it from the strongest of its cohort (the strongest itself: False)."""
    policy_ids: tuple[str, ...]
    """Ids of catalogue entries with these waits, jitter and (where they have one) timeout."""
    cannot_tell_from: tuple[str, ...]
    """In words, what would leave the same gaps."""


@dataclass(frozen=True, slots=True)
class GapNoise:
    """Scatter of a gap about its schedule: a mixture of a narrow core and broad tails to both sides."""

    kinds: tuple[str, ...]
    """Of each part: around (logistic) | early (the row before came late: even on (-scale, 0)) | late (exponential)."""
    scales_s: tuple[float, ...]
    weights: tuple[float, ...]
    """Share of the gaps that scatter like each part; sums to 1."""
    resolution_us: int
    """How coarse the time stamps are; adds a triangular blur of that half width."""

    median_s: float
    """Half of the explained gaps lie within this distance of their schedule (blur left out)."""


@dataclass(frozen=True, slots=True)
class GapFit:
    """All that is needed to say how likely a gap is under one policy."""

    policy: Policy
    noise: GapNoise
    attempts: int
    """Attempts the model reaches, the first included."""
    row_share: float
    """Probability that an attempt leaves a row."""
    fast_after_row_share: float
    """Probability that an attempt that left a row was seen to fail at once, so that no timeout is in the gap."""
    fast_without_row_share: float
    """The same for attempts that left no row."""
    else_share: float
    """Share of the gaps that something else made."""
    lag_s: float
    """Time each attempt takes besides its wait and timeout."""
    log_likelihood: float
    """Natural logarithm, over the fitted groups, per second of gap."""
    pair_shares: tuple[tuple[int, int, float], ...]
    """(i, j, share): share of the policy's gaps between rows of attempts i and j, numbered from 1; sums to 1."""


@dataclass(frozen=True, slots=True)
class MatchResult:
    """What the gaps of one cohort say about the retry policy behind them."""

    verdict: str
    """named | no_policy."""
    why: str
    """One or two sentences for the verdict."""
    ranked: tuple[RankedPolicy, ...]
    """Strongest first; empty when no policy is named."""
    fits: tuple[GapFit, ...]
    """One for each ranked policy, in the same order."""
    groups: int
    """Groups with at least one gap."""
    gaps: int
    explained_share: float
    """Share of the gaps that the strongest policy explains, 0..1."""
    noise: GapNoise | None
    """Scatter under the strongest policy; None when no policy is named."""
    responsibilities: tuple[tuple[float, ...], ...]
    """For every gap given, in the shape given: probability that the strongest policy made it; 0 without a policy."""
    residual_s: tuple[float, float] | None = None
    """Half and nine tenths of the explained gaps lie within these distances of the schedule, in seconds, the blur of
    coarse stamps left out; None when no policy is named."""


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """The default retry behaviour of one product, read from its source or documents."""

    id: str
    product: str
    kind: str
    language: str
    version: str
    policy: Policy
    """As a policy; schedule_s holds the nominal waits the source gives, which count where a formula differs."""
    expected_waits_s: tuple[float, ...]
    """Nominal waits before attempts 2, 3, ... for failures that return at once; empty when not known."""
    total_window_s: float | None
    """It gives up this long after the first attempt; None = no such limit is known."""
    retries_post: bool | None
    """Whether a POST is sent again by default; None = not known."""
    honours_retry_after: bool | None
    """None = not known."""
    attempt_header: str
    """Header that carries the attempt number; empty when there is none."""
    idempotency: str
    """none | auto-key | auto-key-per-attempt | caller-key | event-id."""
    note: str
    source: str
    confidence: str
    """read-in-source | documented | secondary | measured."""


BROKER_COHORT = "broker redelivery"
"""Name of the cohort of acts that a broker delivered again."""


@dataclass(frozen=True, slots=True)
class CohortPolicy:
    """A policy named for one cohort of duplicate groups."""

    cohort: str
    """In words: 'rows of the ledger', 'rows of the ledger, channel app', 'broker redelivery'."""
    groups: int
    """Business acts or calls of the cohort that have a gap."""
    share: float
    """Of all such groups of the same evidence (ledger, access log), those of this cohort."""
    explained_share: float
    """Of the cohort's gaps, those that its strongest policy explains."""
    ranked: RankedPolicy
    residual_s: tuple[float, float] | None = None
    """Half and nine tenths of the explained gaps lie within these distances of its schedule, seconds;
    None where no schedule was fitted."""

    @property
    def of_broker(self) -> bool:
        """Whether it is not a client that waits, but a broker that delivers again."""
        return self.cohort == BROKER_COHORT


@dataclass(frozen=True, slots=True)
class GapPicture:
    """What the gap histogram is drawn from. Arrays of equal length per field group."""

    edges_s: tuple[float, ...]
    counts: tuple[int, ...]
    curve_s: tuple[float, ...]
    """Where the fitted density was evaluated; empty when no policy is named."""
    curve: tuple[float, ...]
    """Expected gaps per bin at curve_s."""
    expected_s: tuple[tuple[str, float], ...]
    """Label and place of the gaps that the strongest policy expects: ('1→2', 4.0), ..."""
    beyond: int
    """Gaps longer than the last edge."""
    fitted: tuple[float, ...] = ()
    """Gaps in each bin that the fitted policy, and what else may make gaps, would leave; empty when none is named."""

    @property
    def residuals(self) -> tuple[float, ...]:
        """For each bin gaps seen less gaps fitted, in standard deviations of a count (Pearson's residual), where less
        than one fitted gap counts as one; empty when no policy is named."""
        pairs = zip(self.counts, self.fitted, strict=True) if self.fitted else ()
        return tuple(round((seen - fitted) / math.sqrt(max(fitted, 1.0)), 4) for seen, fitted in pairs)
