"""The nouns of a case: frozen records that every layer above may read and none may change.

Money is `Decimal`, times are timezone-aware UTC datetimes, durations carry their unit in the name
(`_us` integer microseconds, `_s` seconds). None has one meaning per field, said beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import PurePath


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
    """Posterior among all candidates tried, 0..1."""
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


@dataclass(frozen=True, slots=True)
class Source:
    """One evidence file of a case, as read."""

    source_id: int
    path: str
    sha256: str
    kind: str
    format: str
    mapping: Mapping[str, str]
    """Canonical column -> 'heading (why)'."""
    encoding: str | None
    zone: str | None
    """Zone in which times without an offset were read; None when all carry one."""
    zone_reason: str | None
    resolution_us: int | None
    hop: str | None
    notes: tuple[str, ...]
    rows_read: int
    rows_loaded: int
    rows_rejected: int
    first_at: datetime | None
    last_at: datetime | None

    @property
    def name(self) -> str:
        """Base name of the file."""
        return PurePath(self.path).name


@dataclass(frozen=True, slots=True)
class Refused:
    """Evidence that could not be used, and why."""

    path: str
    message: str
    hint: str | None


Amounts = Mapping[str, Decimal]
"""Exact sums by ISO 4217 code; sums never cross currencies."""


@dataclass(frozen=True, slots=True)
class Examined:
    """What became of one question. No evidence is never the same as nothing found."""

    question: str
    status: str
    """ran | not_examined | failed."""
    why: str | None
    """For not_examined and failed: what was missing or went wrong; None when it ran."""


@dataclass(frozen=True, slots=True)
class RepeatRow:
    """One ledger row of a business act that has more than one effect, and what was made of it."""

    group_id: str
    """The same in every run over the same evidence."""
    business_key: str
    order_id: str
    payment_id: str | None
    created_at: datetime
    amount: Decimal
    currency: str
    """XXX when the source names none."""
    status: str
    kind: str
    gap_us: int | None
    """Since the previous effect of the act; None for the first and for rows that are no effect."""
    role: str
    """kept | excess | recorded_twice | legitimate | not_an_effect | refunded (an excess that was given back)."""
    why: str
    """The reason for the role, in words."""
    cause: str | None
    """For excess and refunded rows; None otherwise."""
    policy: str | None
    """Short text of the retry policy that made it, where the cause is a retry and a policy is named."""
    confidence: float
    """That role and cause are right, 0..1."""
    excess_probability: float | None
    """For excess and refunded rows: that the money really moved once too often, whatever the cause."""
    alternatives: tuple[tuple[str, float], ...]
    """Other causes and their probabilities, likeliest first."""
    kept_payment_id: str | None
    """For excess and refunded rows: the payment that stands."""
    same_key: bool | None
    """Whether it bears the idempotency key of the effect before it; None when either bears none."""
    provider_ref: str | None
    customer_id: str | None
    channel: str | None
    source_id: int
    line_no: int


@dataclass(frozen=True, slots=True)
class PaymentsSummary:
    """The ledger as a whole. excess_* are gross: what was already given back is in them and told apart."""

    rows: int
    orders: int
    effects: int
    without_order: int
    unknown_status: int
    duplicate_orders: int
    """Orders with more than one effect, lawful ones among them."""
    orders_with_excess: int
    excess_rows: int
    excess_amount: Amounts
    already_refunded_rows: int
    already_refunded_amount: Amounts
    recorded_twice_rows: int
    legitimate_rows: int
    review_rows: int
    """Excess rows that are not beyond doubt and so are not in refunds.csv."""
    refund_rows: int
    refund_amount: Amounts
    """What refunds.csv asks finance to give back."""


@dataclass(frozen=True, slots=True)
class CauseTotal:
    """Excess rows of one cause."""

    cause: str
    rows: int
    amount: Amounts


@dataclass(frozen=True, slots=True)
class CohortPolicy:
    """A policy named for one cohort of duplicate groups."""

    cohort: str
    groups: int
    share: float
    """Of the cohort's gaps, those that the strongest policy explains."""
    ranked: RankedPolicy


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


@dataclass(frozen=True, slots=True)
class ConductRule:
    """One rule of retrying, and whether the callers of the log keep it."""

    name: str
    """retried_400, retry_after_ignored, attempts_over_deadline, no_breaker_requests, ..."""
    title: str
    status: str
    """violated | kept | not_examined. No evidence is never kept."""
    broken: int | None
    """How often it was broken; None when it was not examined."""
    chances: int | None
    """How often it could have been broken; None when it was not examined."""
    why: str
    """What was counted, or what was missing."""
    callers: tuple[tuple[str, int], ...]
    """Who broke it and how often, most often first, capped."""


@dataclass(frozen=True, slots=True)
class Conduct:
    """How callers retry, at one hop."""

    scope: str
    """What was counted."""
    hop: str
    """Empty when the log's file name tells none."""
    basis: str
    """What tied the attempts of a call, in words."""
    tied_by: str | None
    """The same for the queries; None when nothing does."""
    requests: int
    callers: int
    breaker_failures: int
    """Failures in a row after which a breaker is taken to open."""
    retry_after_honoured: int | None
    """None when no answer with Retry-After was followed by another attempt."""
    rules: tuple[ConductRule, ...]

    @property
    def violations(self) -> Mapping[str, int]:
        """How often each examined rule was broken; a rule that was not examined is left out, which is not 0."""
        counts = {rule.name: rule.broken for rule in self.rules if rule.broken is not None}
        if self.retry_after_honoured is not None:
            counts["retry_after_honoured"] = self.retry_after_honoured
        return counts


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """One message that was given up, and whether it may be sent again."""

    source_id: int
    line_no: int
    message_id: str | None
    business_key: str | None
    queue: str | None
    family: str
    """system | data | refused | exhausted | never_run | unknown: what kind of fault the reason speaks of."""
    reason: str | None
    """In the source's words; None when it gives none."""
    attempts: int | None
    first_failed_at: datetime | None
    last_failed_at: datetime | None
    verdict: str
    """safe | unsafe | fix_first | unknown."""
    why: str
    batch: int | None
    """Number of the batch to replay it in, from 1, small ones first; None when it is not to be replayed."""
    over_cap: bool


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """All dead letters, and the plan to replay them. Nothing is replayed by this tool."""

    letters: tuple[DeadLetter, ...]
    """In the order to replay; after those, the ones that are not to be replayed."""
    missing: Mapping[str, int]
    """Field -> letters without it: original, reason, attempts, first_failed_at, business_key."""
    families: Mapping[str, int]
    """Letters by family of the reason, most first."""
    reasons: tuple[tuple[str, str, int], ...]
    """(family, reason without its numbers, letters), most first, capped."""
    first_at: datetime | None
    """Earliest failure told; None when no letter tells one."""
    last_at: datetime | None
    median_age_s: float | None
    """From a letter's last failure to the newest letter's."""
    repeated_messages: int
    """Letters that repeat a message id of an earlier letter."""
    cap: int | None
    """Attempts that the queue itself stops at, as the letters show it; None when no letter tells its attempts."""
    over_cap: int
    batches: tuple[int, ...]
    """Sizes of the batches to replay."""

    def count(self, verdict: str) -> int:
        """Letters of that verdict."""
        return sum(letter.verdict == verdict for letter in self.letters)


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    """Where a finding can be looked up."""

    table: str
    source_id: int
    line_no: int
    role: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One answer, with what speaks for it and against it."""

    id: str
    """Stable between runs over the same evidence."""
    rule: str
    title: str
    severity: str
    """note | low | medium | high."""
    confidence: float
    statement: str
    why: tuple[str, ...]
    alternatives: tuple[tuple[str, float], ...]
    numbers: Mapping[str, float | int | str | None]
    money: Mapping[str, Amounts]
    query: str | None
    """Name of the query that gives the rows; None when no single query does."""
    parameters: Mapping[str, object]
    evidence: tuple[EvidenceRow, ...]
    """Capped; evidence_total says how many there are."""
    evidence_total: int
    next_steps: tuple[str, ...]


SEVERITIES = ("note", "low", "medium", "high")


@dataclass(frozen=True, slots=True)
class Settlement:
    """The ledger against the provider's settlement. Every sum names every currency that either side names.

    difference = explained_by_duplicates + fees + cutoff + other, exactly, in each currency.
    """

    ledger_total: Amounts
    """Effects less what was given back, each payment once (rows recorded twice count once)."""
    provider_total: Amounts
    """What the provider paid: net of its fees and of what it gave back."""
    difference: Amounts
    """ledger_total less provider_total."""
    explained_by_duplicates: Amounts
    """Duplicates that the provider did not settle, less duplicates that only the provider has."""
    fees: Amounts
    """Gross less net over all rows of the settlement."""
    cutoff: Amounts
    """Booked outside the time that the settlement covers, less settled outside the time that the ledger covers."""
    other: Amounts
    """Missing on either side, and amounts that differ."""
    counts: Mapping[str, int]
    """Rows of each class, see forensics.detect.settlement."""
    cut: str | None
    """When payouts close, '23:30 Asia/Seoul'; None when it does not show."""
    covered_from: datetime | None
    """Movements booked from then on must stand in the settlement."""
    covered_to: datetime | None
    """Movements booked until then must stand in the settlement."""
    beside_share: float | None
    """Of the pairs, those settled within an hour of the usual time after booking; None when no pair has both times."""


@dataclass(frozen=True, slots=True)
class Scan:
    """Everything one scan of a case found: the reports are views of this."""

    case_name: str
    sources: tuple[Source, ...]
    refused: tuple[Refused, ...]
    """Files named in the same call that could not be used."""
    examined: tuple[Examined, ...]
    payments: PaymentsSummary | None
    """None when there is no payment table."""
    rows: tuple[RepeatRow, ...]
    causes: tuple[CauseTotal, ...]
    policies: tuple[CohortPolicy, ...]
    gap_picture: GapPicture | None
    traffic: Traffic | None
    timeline: tuple[TrafficBin, ...]
    timeline_step_s: float | None
    keys: Mapping[str, int] | None
    """Orders by key mode; None when not examined."""
    findings: tuple[Finding, ...]
    refund_confidence: float
    """Least excess_probability of a row in refunds.csv."""
    layers: Layers | None = None
    """None when not examined."""
    herd: Herd | None = None
    """None when not examined."""
    conduct: Conduct | None = None
    """None when not examined."""
    dead_letters: DeadLetters | None = None
    """None when not examined."""
    settlement: Settlement | None = None
    """None when not examined."""

    @property
    def failed(self) -> bool:
        """Whether a question that had evidence could not be answered."""
        return any(e.status == "failed" for e in self.examined)
