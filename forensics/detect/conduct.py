"""How callers retry: which rules of retrying they keep, which they break, and for which there is no evidence.

A retry is a later attempt of the same call: the same request id, key or trace, method and path. Where no id ties
attempts, the ledger's order or the caller's address does, and then only attempt numbers make a retry. Only requests
that can make an effect count, at the hop that logged most of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from forensics.detect import rules
from forensics.detect.breakers import judge_breaker
from forensics.detect.hops import busiest, read_hops
from forensics.model import Conduct, ConductRule
from forensics.runner import Runner

_TIES = (
    ("request_id", "with_request", "request_ids", "request id"),
    ("idempotency_key", "with_key", "keys", "idempotency key"),
    ("trace_id", "with_trace", "traces", "trace id"),
)
_BUSY = (429, 503)
_MOST_CALLERS = 5
_FEWEST_WAITS = 5
_FASTER = 0.8
_FEWEST_FIRST = 20
NO_TIE = "nothing ties the attempts of a call: no attempt number, and no id or key that two requests share"


@dataclass(frozen=True, slots=True)
class _Seen:
    """What the log shows of one hop."""

    answers: Sequence[Mapping[str, Any]]
    inferred: Mapping[tuple[str, int], int]
    """(caller, status) -> retries that no id ties."""
    tied_by: str | None
    basis: str

    def total(self, column: str, statuses: Iterable[int] | None = None) -> int:
        """Sum of a column, of all answers or those of some statuses."""
        return sum(r[column] for r in self.answers if statuses is None or r["status"] in statuses)

    def by_caller(self, column: str) -> Counter[str]:
        """Sums of a column by caller."""
        counts = Counter[str]()
        for record in self.answers:
            counts[record["caller"]] += record[column]
        return counts


def measure_conduct(runner: Runner) -> Conduct | str:
    """Every rule as violated, kept or not examined; a text when no request in the logs can make an effect."""
    hops = read_hops(runner)
    if not hops:
        return "the logs hold no request with a state-changing method"
    hop = busiest(hops)
    seen = _look(runner, hop)
    judged = [
        *(_retried(seen, status) for status in rules.FINAL if seen.total("answers", (status,))),
        _retry_after(seen),
        _unkeyed(seen, hop),
        _faster_after_429(seen),
        _deadline(seen),
        _too_little_time(runner, seen, hop["hop"]),
        _cap(seen),
        _budget(seen, hop["requests"]),
        judge_breaker(runner, hop["hop"], hop["requests"]),
    ]
    told = seen.total("told_to_wait")
    scope = "requests with a state-changing method" + (f" at hop {hop['hop']}" if hop["hop"] else "")
    return Conduct(
        scope=scope,
        basis=seen.basis,
        requests=hop["requests"],
        callers=len({r["caller"] for r in seen.answers}),
        breaker_failures=rules.BREAKER_FAILURES,
        retry_after_honoured=seen.total("waited_enough") if told else None,
        tied_by=seen.tied_by,
        hop=hop["hop"],
        rules=tuple(judged),
    )


def _look(runner: Runner, hop: Mapping[str, Any]) -> _Seen:
    """Answers and what followed them, tied by the id that ties most; by ledger or caller where no id does."""
    ties = max(_TIES, key=lambda t: int(hop[t[1]] - hop[t[2]]))
    if hop[ties[1]] > hop[ties[2]] or (hop[ties[1]] and hop["numbered_one"] >= 0.95 * hop["requests"]):
        found = runner.run("conduct/answers", tied_by=ties[0], at_hop=hop["hop"]).records()
        inferred = runner.run("conduct/inferred_retries", tied_by=ties[0], at_hop=hop["hop"]).records()
        more = {(r["caller"], r["status"]): r["retried"] for r in inferred if r["retried"]}
        return _Seen(found, more, ties[0], f"the same {ties[3]}")
    if hop["with_attempt"] > 0:
        found = runner.run("conduct/answers", tied_by="order_id", at_hop=hop["hop"]).records()
        if sum(r["tied"] for r in found) >= 0.5 * hop["requests"]:
            return _Seen(found, {}, "order_id", "the same order, and the attempt number")
        found = runner.run("conduct/answers", tied_by="caller", at_hop=hop["hop"]).records()
        return _Seen(found, {}, "caller", "the same address, user agent and path, and the attempt number")
    found = runner.run("conduct/answers", tied_by="request_id", at_hop=hop["hop"]).records()
    return _Seen(found, {}, None, NO_TIE)


def _rule(name: str, broken: int, chances: int, why: str, callers: Mapping[str, int]) -> ConductRule:
    most = sorted(((c, n) for c, n in callers.items() if n), key=lambda c: (-c[1], c[0]))
    status = "violated" if broken else "kept"
    return ConductRule(name, rules.rule(name).title, status, broken, chances, why, tuple(most[:_MOST_CALLERS]))


def _unseen(name: str, why: str) -> ConductRule:
    return ConductRule(name, rules.rule(name).title, "not_examined", None, None, why, ())


def _retried(seen: _Seen, status: int) -> ConductRule:
    name = f"retried_{status}"
    if seen.tied_by is None:
        return _unseen(name, NO_TIE)
    if not seen.total("tied", (status,)) and not any(s == status for _, s in seen.inferred):
        return _unseen(name, f"none of the {seen.total('answers', (status,))} answers {status} bears an id that ties")
    callers = Counter[str]({r["caller"]: r["retried"] for r in seen.answers if r["status"] == status})
    guessed = Counter[str]({c: n for (c, s), n in seen.inferred.items() if s == status})
    answers = seen.total("answers", (status,))
    broken = callers.total() + guessed.total()
    why = f"{broken} of {answers} answers {status} were followed by another attempt of the same call"
    if guessed:
        why += f"; {guessed.total()} of them bear no id: the same address asked the same again within the usual wait"
    return _rule(name, broken, answers, why, callers + guessed)


def _retry_after(seen: _Seen) -> ConductRule:
    name = "retry_after_ignored"
    if seen.tied_by is None:
        return _unseen(name, NO_TIE)
    told, enough = seen.total("told_to_wait"), seen.total("waited_enough")
    bare = seen.total("retried", _BUSY) - told
    unsaid = f"{bare} answers 429 or 503 without Retry-After were retried: nothing to hold them to" if bare else ""
    if not told:
        return _unseen(name, unsaid or "no answer 429 or 503 with Retry-After was followed by another attempt")
    why = f"{told - enough} of {told} next attempts came before the time that Retry-After named"
    callers = seen.by_caller("told_to_wait")
    callers.subtract(seen.by_caller("waited_enough"))
    return _rule(name, told - enough, told, f"{why}; {unsaid}" if unsaid else why, callers)


def _unkeyed(seen: _Seen, hop: Mapping[str, Any]) -> ConductRule:
    name = "posts_retried_without_key"
    if seen.tied_by is None:
        return _unseen(name, NO_TIE)
    if seen.tied_by == "idempotency_key":
        return _unseen(name, "attempts are tied by the key itself: those without one cannot be seen")
    retried, unkeyed = seen.total("retried"), seen.total("posts_unkeyed")
    if not retried:
        return _unseen(name, "no call was tried again")
    why = f"{unkeyed} of {retried} retried answers belong to POSTs without an idempotency key"
    if not hop["with_key"]:
        why += "; no request at all bears one (if the log leaves the header out, let it log it)"
    return _rule(name, unkeyed, retried, why, seen.by_caller("posts_unkeyed"))


def _deadline(seen: _Seen) -> ConductRule:
    name = "attempts_over_deadline"
    carrying, over = seen.total("with_deadline"), seen.total("over_deadline")
    if not carrying:
        return _unseen(name, "no request in the log carries its caller's deadline")
    why = f"{over} of {carrying} requests with a deadline began after it"
    return _rule(name, over, carrying, why, seen.by_caller("over_deadline"))


def _too_little_time(runner: Runner, seen: _Seen, hop: str) -> ConductRule:
    name = "too_little_time_left"
    carrying = seen.total("with_deadline")
    if not carrying:
        return _unseen(name, "no request in the log carries its caller's deadline")
    found = runner.run("conduct/too_little_time", at_hop=hop).records()
    broken = found[0]["broken"] if found else 0
    why = f"{broken} of {carrying} requests with a deadline began with less time left than half of the successes took"
    rule = _rule(name, broken, carrying, why, {r["caller"]: r["by_caller"] for r in found})
    return replace(rule, parameters={"at_hop": hop})


def _faster_after_429(seen: _Seen) -> ConductRule:
    """Mean wait after 429 against that after failures of the server, caller by caller."""
    name = "faster_after_429"
    if seen.tied_by is None:
        return _unseen(name, NO_TIE)
    pressed = Counter[str]()
    compared, told = 0, []
    for caller in sorted({r["caller"] for r in seen.answers}):
        own = [r for r in seen.answers if r["caller"] == caller and r["retried"]]
        busy = [r for r in own if r["status"] == 429]
        failed = [r for r in own if r["status"] in (-1, 0, 408, 499) or r["status"] >= 500]
        times, after_busy = _mean_wait_s(busy)
        others, after_failure = _mean_wait_s(failed)
        if min(times, others) < _FEWEST_WAITS:
            continue
        compared += times
        if after_busy < _FASTER * after_failure:
            pressed[caller] = times
            told.append(f"{after_busy:.2f} s after 429, {after_failure:.2f} s after failures")
    if not compared:
        return _unseen(name, f"no caller came back {_FEWEST_WAITS} times both after 429 and after a failure")
    why = f"mean waits: {told[0]}" if told else "no caller waited less after 429 than after failures of the server"
    return _rule(name, pressed.total(), compared, why, pressed)


def _mean_wait_s(records: Sequence[Mapping[str, Any]]) -> tuple[int, float]:
    """How many retries, and how long they waited on average."""
    times = sum(r["retried"] for r in records)
    return times, sum(r["waits_us"] for r in records) / times / 1e6 if times else 0.0


def _budget(seen: _Seen, requests: int) -> ConductRule:
    name = "retries_over_budget"
    if seen.tied_by is None:
        return _unseen(name, NO_TIE)
    retries = seen.total("retried") + sum(seen.inferred.values())
    first = requests - retries
    if first < _FEWEST_FIRST:
        return _unseen(name, f"{first} first attempts are too few to speak of a share")
    share = retries / first
    over = max(0, retries - int(rules.BUDGET * first))
    why = f"{retries} retries of {first} first attempts over the whole log: {share:.0%}, where a budget allows 10 %"
    why += ", and the most that meshes allow is 20 %" if share > 2 * rules.BUDGET else ""
    return _rule(name, over, retries, why, seen.by_caller("retried") if over else {})


def _cap(seen: _Seen) -> ConductRule:
    name = "attempts_beyond_cap"
    numbered = seen.total("numbered")
    if not numbered:
        return _unseen(name, "no request says which attempt it is")
    highest = max(r["highest_attempt"] or 0 for r in seen.answers)
    why = f"the highest attempt number is {highest}; more than {rules.MOST_ATTEMPTS} of one call are too many"
    return _rule(name, seen.total("beyond_cap"), numbered, why, seen.by_caller("beyond_cap"))
