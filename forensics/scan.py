"""All questions of a scan, in order, and what became of each: ran, not examined and why, or failed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeVar
from zoneinfo import ZoneInfo

from forensics.detect import (
    business_key,
    conduct,
    dead_letters,
    decisions,
    deliveries,
    duplicates,
    herd,
    key_findings,
    keys,
    layers,
    policies,
    traffic,
)
from forensics.detect.attempts import measure_attempts
from forensics.detect.causes import Explained, Setting, explain
from forensics.detect.design import judge_design
from forensics.detect.ledger import judge_rows
from forensics.detect.letter_findings import find_letters
from forensics.detect.made_twice import find_made_twice
from forensics.detect.options import ScanOptions
from forensics.detect.second_checkouts import find_second_checkouts, measure_second_checkouts
from forensics.detect.settlement import Reconciled, measure_settlement
from forensics.detect.settlement_finding import find_settlement
from forensics.detect.timeline import Calendar
from forensics.detect.traffic_finding import find_traffic
from forensics.detect.violations import find_violations
from forensics.errors import ForensicsError, UsageError
from forensics.model import (
    BusinessKey,
    Conduct,
    DecisionOutcome,
    Examined,
    Finding,
    Herd,
    PaymentsSummary,
    Refused,
    RepeatRow,
    Scan,
    Source,
)
from forensics.runner import Runner

T = TypeVar("T")


class Scanner:
    """One run over all questions; keeps what became of each."""

    def __init__(self, runner: Runner, sources: tuple[Source, ...], options: ScanOptions) -> None:
        self._runner = runner
        self._sources = sources
        self._options = options
        self._examined: list[Examined] = []
        self._key: BusinessKey | None = None
        self._decided: tuple[DecisionOutcome, ...] = ()

    def scan(self, name: str, refused: tuple[Refused, ...]) -> Scan:
        """All questions, those without evidence named as such.

        Raises:
            UsageError: the user's business key names nothing in the ledger.
        """
        if any(s.kind == "requests" for s in self._sources):
            self._runner.keep("probes")
        answered = self._ask("duplicates", "payments", self._explain)
        explained, summary = answered or (None, None)
        rows = explained.rows if explained else ()
        acts = rows
        again = self._ask(
            "second_checkouts", "payments", lambda: measure_second_checkouts(self._runner, acts), rests_on="duplicates"
        )
        if again and summary and self._decided:
            rows, again, self._decided = decisions.decide_checkouts(acts, again, self._decided, self._options.today)
            summary = duplicates.summarise(self._runner, rows, self._options.refund_confidence)
        reconciled = self._ask("settlement", "settlements", lambda: self._settlement(rows), rests_on="duplicates")
        if reconciled and summary:
            rows = duplicates.hold_back_refused(rows, reconciled.refused)
            summary = duplicates.summarise(self._runner, rows, self._options.refund_confidence)
        self._note_policies(explained)
        flow = self._ask("traffic", "requests", self._traffic)
        looked_at = flow.looked_at if flow else None
        layered = self._ask("layers", "requests", lambda: layers.measure_layers(self._runner, looked_at))
        waves = self._ask("herd", "requests", lambda: self._herd(looked_at))
        keyed = self._ask("keys", "payments", lambda: keys.measure_keys(self._runner, rows), rests_on="duplicates")
        findings: list[Finding] = []
        if summary and explained and self._key:
            findings += duplicates.find_duplicates(summary, rows, self._key)
            findings += find_made_twice(self._runner, rows, self._key)
            findings += decisions.find_decisions(self._decided, (*rows, *(again.members if again else ())))
            findings += policies.find_policies(explained.policies, explained.match)
        findings += find_second_checkouts(again) if again else ()
        findings += [find_traffic(flow)] if flow else []
        findings += [layers.find_layers(layered)] if layered else []
        findings += [herd.find_herd(waves)] if waves else []
        if keyed:
            ages = self._runner.run("keys/resend_ages").records()[0]
            findings += key_findings.find_keys(keyed, ages)
            findings += key_findings.find_conflicts(self._runner)
        findings += [find_settlement(reconciled)] if reconciled else []
        scan = Scan(
            case_name=name,
            sources=self._sources,
            refused=refused,
            examined=tuple(self._examined),
            payments=summary,
            rows=rows,
            causes=duplicates.sum_causes(rows),
            policies=explained.policies if explained else (),
            gap_picture=explained.picture if explained else None,
            traffic=flow.traffic if flow else None,
            timeline=flow.timeline if flow else (),
            timeline_step_s=flow.step_s if flow else None,
            keys=keyed,
            findings=tuple(findings),
            refund_confidence=self._options.refund_confidence,
            business_key=self._key,
            decisions=self._decided,
            settings=self._options.settings,
            layers=layered,
            herd=waves,
            settlement=reconciled.settlement if reconciled else None,
            second_checkouts=again,
            what_if=traffic.measure_what_if(flow, layered, waves) if flow else None,
        )
        return self._with_conduct(scan)

    def _with_conduct(self, scan: Scan) -> Scan:
        """The scan with retry conduct, dead letters and deliveries."""
        audited = self._ask("policy_violations", "requests", lambda: self._conduct(scan))
        audit, violations = audited or (None, ())
        swallowed = self._ask("swallowed_orders", "payments", lambda: key_findings.find_swallowed(self._runner)) or ()
        letters = self._ask("dead_letters", "dead_letters", lambda: dead_letters.measure_letters(self._runner))
        delivered = self._ask("deliveries", "deliveries", lambda: deliveries.measure_deliveries(self._runner))
        found = find_letters(letters) if letters else ()
        found += deliveries.find_deliveries(delivered) if delivered else ()
        return replace(
            scan,
            conduct=audit,
            dead_letters=letters,
            deliveries=delivered,
            findings=(*scan.findings, *swallowed, *violations, *found),
            examined=tuple(self._examined),
        )

    def _ask(self, question: str, table: str, ask: Callable[[], T | str | None], rests_on: str = "") -> T | None:
        """Ask one question; a failure is kept as a failure, and no evidence, or a text that says why, as such."""
        if not any(s.kind == table for s in self._sources):
            self._examined.append(Examined(question, "not_examined", _missing(table)))
            return None
        if self._has_failed(rests_on):
            self._examined.append(Examined(question, "not_examined", f"it rests on {rests_on}, which failed"))
            return None
        try:
            answer = ask()
        except UsageError:
            raise
        except ForensicsError as exc:
            self._examined.append(Examined(question, "failed", exc.message))
            return None
        if answer is None:
            answer = "the evidence holds no rows that the question is about"
        if isinstance(answer, str):
            self._examined.append(Examined(question, "not_examined", answer))
            return None
        self._examined.append(Examined(question, "ran", None))
        return answer

    def _has_failed(self, question: str) -> bool:
        return any(e.question == question and e.status == "failed" for e in self._examined)

    def _explain(self) -> tuple[Explained, PaymentsSummary]:
        self._key = business_key.settle_key(self._runner, self._sources, self._options.key, self._options.zone)
        judged = judge_rows(self._runner, self._key.named)
        setting = Setting(
            self._resolution("payments"),
            self._resolution("requests"),
            self._options.timeout_s,
            measure_attempts(self._runner),
            self._options.policies,
        )
        found = explain(self._runner, judged, setting)
        rows, self._decided = decisions.apply_decisions(
            decisions.with_states(found.rows), self._options.decisions, self._options.today
        )
        explained = replace(found, rows=rows)
        return explained, duplicates.summarise(self._runner, explained.rows, self._options.refund_confidence)

    def _resolution(self, kind: str) -> int:
        """The coarsest clock among the sources of a kind, microseconds."""
        return max((s.resolution_us or 1 for s in self._sources if s.kind == kind), default=1)

    def _traffic(self) -> traffic.TrafficAnswer | None:
        options = self._options
        return traffic.measure_traffic(self._runner, options.incident, options.baseline, self._calendar())

    def _calendar(self) -> Calendar:
        """Days as they are cut where the evidence was read, at the offset of the logs' first line."""
        logs = [s for s in self._sources if s.kind == "requests"]
        zone = self._options.zone or next((s.zone for s in (*logs, *self._sources) if s.zone), "UTC")
        first = min((s.first_at for s in logs if s.first_at), default=None)
        offset = first.astimezone(ZoneInfo(zone)).utcoffset() if first else None
        return Calendar(offset.total_seconds() if offset else 0.0, frozenset(self._options.holidays))

    def _herd(self, looked_at: tuple[datetime, datetime] | None) -> Herd | str:
        return herd.measure_herd(self._runner, self._resolution("requests"), looked_at)

    def _conduct(self, scan: Scan) -> tuple[Conduct, tuple[Finding, ...]] | str:
        audit = conduct.measure_conduct(self._runner)
        if isinstance(audit, str):
            return audit
        clock_us = self._resolution("requests")
        more = judge_design(self._runner, scan.rows, scan.policies, scan.layers, scan.herd, clock_us)
        audit = replace(audit, rules=(*audit.rules, *more))
        return audit, find_violations(self._runner, audit)

    def _settlement(self, rows: Sequence[RepeatRow]) -> Reconciled | str | None:
        if not any(s.kind == "payments" for s in self._sources):
            return _missing("payments")
        zones = [s.zone for kind in ("settlements", "payments") for s in self._sources if s.kind == kind and s.zone]
        return measure_settlement(self._runner, rows, tuple(dict.fromkeys([*zones, "UTC"])))

    def _note_policies(self, explained: Explained | None) -> None:
        if explained is None:
            failed = self._has_failed("duplicates")
            why = "it rests on duplicates, which failed" if failed else _missing("payments")
            self._examined.append(Examined("policies", "not_examined", why))
        elif explained.match is None and not explained.policies:
            why = "no gap between duplicates can be a retry's: there are none, or the evidence names another cause"
            self._examined.append(Examined("policies", "not_examined", why))
        else:
            self._examined.append(Examined("policies", "ran", None))


def _missing(table: str) -> str:
    return {
        "payments": "no payment table was given",
        "requests": "no access log was given",
        "dead_letters": "no dead letters were given",
        "deliveries": "no broker deliveries were given",
        "settlements": "no settlement was given",
    }[table]
