"""Users or retries: ratios that can be worked out on paper, and no verdict where nothing can be told."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from forensics.detect.traffic import TrafficAnswer, measure_traffic, measure_what_if
from forensics.detect.traffic_finding import find_traffic, growth_words

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
MINUTE = 60
Log = list[dict[str, Any]]


def at(minutes: float) -> Any:
    return NOON + timedelta(minutes=minutes)


WINDOWS = {"incident": (at(10), at(20)), "baseline": (at(0), at(10))}


def log(users: Callable[[bool], int], tries: Callable[[bool], int], minutes: int = 30) -> Log:
    """`users` callers a second, each trying `tries` times within it; both told whether it is minute 10 to 20."""
    lines: Log = []
    for second in range(minutes * MINUTE):
        incident = 600 <= second < 1200
        for user in range(users(incident)):
            call = f"{second}.{user}"
            for n in range(1, tries(incident) + 1):
                failed = n < tries(incident)
                when = second + user / 100 + n / 5 - 0.2
                lines.append({"at": when, "attempt": n, "request_id": call, "status": 503 if failed else 201})
    return lines


def tripled() -> Log:
    """60 requests a minute; in minutes 10 to 20 the same 60 users try three times each: 180, of which 120 retries."""
    return log(lambda _: 1, lambda incident: 3 if incident else 1)


def without(lines: Log, *columns: str, where: Callable[[int], bool] = lambda _: True) -> Log:
    return [{k: v for k, v in line.items() if k not in columns or not where(n)} for n, line in enumerate(lines)]


def measured(given: Any, lines: Log, **windows: Any) -> TrafficAnswer:
    answer = measure_traffic(given(requests=lines), **windows)
    assert answer is not None
    return answer


def test_ratios_are_exact(given: Any) -> None:
    traffic = measured(given, tripled()).traffic
    assert (traffic.incident_start, traffic.incident_end) == WINDOWS["incident"]
    assert (traffic.baseline_start, traffic.baseline_end) == WINDOWS["baseline"]
    assert traffic.requests_ratio == 3.0  # 180 / 60
    assert traffic.users_ratio == 1.0  # 60 / 60
    assert (traffic.amplification_baseline, traffic.amplification_incident) == (1.0, 3.0)  # 60 / 60, 180 / 60
    assert traffic.retry_share_incident == traffic.retry_share_low == traffic.retry_share_high == 0.6667  # 120 / 180
    assert (traffic.header_coverage, traffic.basis, traffic.verdict) == (1.0, "attempt header", "retries")
    assert growth_words(traffic) == "requests x3.00 = users x1.00 x retries x3.00"


def test_windows_may_be_given_and_are_then_used_as_they_are(given: Any) -> None:
    # Minutes 12-14 against 22-24, after the incident: 180 a minute against 60.
    asked = {"incident": (at(12), at(14)), "baseline": (at(22), at(24))}
    traffic = measured(given, tripled(), **asked).traffic
    assert (traffic.incident_start, traffic.baseline_end) == (at(12), at(24))
    assert (traffic.requests_ratio, traffic.users_ratio) == (3.0, 1.0)
    assert traffic.windows_why == "incident as given; baseline as given"


def test_a_given_incident_alone_is_compared_with_as_much_time_before_it(given: Any) -> None:
    traffic = measured(given, tripled(), incident=(at(10), at(14))).traffic
    assert (traffic.baseline_start, traffic.baseline_end) == (at(6), at(10))
    assert traffic.requests_ratio == 3.0


def test_a_given_baseline_is_compared_with_the_incident_that_was_found(given: Any) -> None:
    traffic = measured(given, tripled(), baseline=(at(21), at(29))).traffic
    assert (traffic.incident_start, traffic.incident_end) == WINDOWS["incident"]
    assert (traffic.baseline_start, traffic.requests_ratio) == (at(21), 3.0)


def test_windows_outside_the_log_give_no_ratio_and_no_verdict(given: Any) -> None:
    traffic = measured(given, tripled(), incident=(at(900), at(910))).traffic
    assert (traffic.requests_ratio, traffic.users_ratio, traffic.verdict) == (None, None, "cannot_tell")


@pytest.mark.parametrize(
    ("users", "tries", "requests_ratio", "users_ratio", "verdict"),
    [
        (3, 1, 3.0, 3.0, "users"),
        (1, 3, 3.0, 1.0, "retries"),
        (2, 2, 4.0, 2.0, "both"),
        (1, 1, 1.0, 1.0, "neither"),
    ],
)
def test_the_verdict_names_the_factor_that_carries_the_growth(
    given: Any, users: int, tries: int, requests_ratio: float, users_ratio: float, verdict: str
) -> None:
    lines = log(lambda incident: users if incident else 1, lambda incident: tries if incident else 1)
    traffic = measured(given, lines, **WINDOWS).traffic
    assert (traffic.requests_ratio, traffic.users_ratio, traffic.verdict) == (requests_ratio, users_ratio, verdict)


def test_fewer_users_that_retry_more_are_still_retries(given: Any) -> None:
    # 2 users a second before; in the incident half of them, four tries each: x2 = x0.5 times x4.
    lines = log(lambda incident: 1 if incident else 2, lambda incident: 4 if incident else 1)
    traffic = measured(given, lines, **WINDOWS).traffic
    assert (traffic.requests_ratio, traffic.users_ratio, traffic.verdict) == (2.0, 0.5, "retries")


@pytest.mark.parametrize(
    ("column", "basis"),
    [("request_id", "request id"), ("trace_id", "trace id"), ("idempotency_key", "idempotency key")],
)
def test_without_a_header_attempts_are_told_by_an_id_they_share(given: Any, column: str, basis: str) -> None:
    lines = [{**without([line], "attempt", "request_id")[0], column: line["request_id"]} for line in tripled()]
    traffic = measured(given, lines).traffic
    assert (traffic.basis, traffic.header_coverage) == (basis, 0.0)
    assert (traffic.requests_ratio, traffic.users_ratio, traffic.verdict) == (3.0, 1.0, "retries")


@pytest.mark.parametrize("silent", [4, 5, 10])
def test_with_a_header_on_some_requests_only_the_bounds_contain_the_truth(given: Any, silent: int) -> None:
    # Every n-th line says nothing: of a share of 2/3, (n-1)/n is known to be retries, and 1/n may be.
    lines = without(tripled(), "attempt", "request_id", where=lambda n: n % silent == 0)
    traffic = measured(given, without(lines, "request_id"), **WINDOWS).traffic
    low, high = traffic.retry_share_low, traffic.retry_share_high
    assert low is not None
    assert high is not None
    assert traffic.header_coverage == pytest.approx(1 - 1 / silent, abs=0.001)
    assert low < 2 / 3 < high
    assert high - low == pytest.approx(1 / silent, abs=0.001)
    assert traffic.verdict == "retries"


def test_a_header_that_is_sent_on_retries_only_leaves_first_attempts_unmarked(given: Any) -> None:
    lines = [line if line["attempt"] > 1 else without([line], "attempt")[0] for line in tripled()]
    traffic = measured(given, without(lines, "request_id")).traffic
    assert traffic.basis == "attempt header, which callers send on retries only"
    assert (traffic.requests_ratio, traffic.users_ratio, traffic.verdict) == (3.0, 1.0, "retries")


def test_without_header_and_ids_users_and_retries_cannot_be_told_apart(given: Any) -> None:
    traffic = measured(given, without(tripled(), "attempt", "request_id")).traffic
    assert (traffic.verdict, traffic.users_ratio, traffic.header_coverage) == ("cannot_tell", None, 0.0)
    assert traffic.requests_ratio == 3.0
    assert (traffic.retry_share_low, traffic.retry_share_high) == (0.0, 1.0)
    assert growth_words(traffic) == "the growth cannot be taken apart"


def test_nothing_is_said_of_a_handful_of_requests(given: Any) -> None:
    lines = [{"at": n * 10.0, "attempt": 1} for n in range(10)]
    lines += [{"at": 100 + n, "attempt": 1 + n % 3} for n in range(19)]
    traffic = measured(given, lines, incident=(at(100 / 60), at(2)), baseline=(at(0), at(100 / 60))).traffic
    assert traffic.verdict == "cannot_tell"


def test_one_request_is_enough_to_answer_and_not_to_judge(given: Any) -> None:
    assert measured(given, [{"at": 0, "attempt": 1}]).traffic.verdict == "cannot_tell"


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
def test_requests_that_change_nothing_are_not_counted(given: Any, method: str) -> None:
    noise = [{"at": n / 10, "method": method, "attempt": 1} for n in range(900)]
    assert measured(given, [*tripled(), *noise]).traffic.requests_ratio == 3.0


def test_a_log_of_reads_only_has_no_answer(given: Any) -> None:
    assert measure_traffic(given(requests=[{"at": 0, "method": "GET"}])) is None


def test_with_several_hops_the_one_with_most_requests_is_counted(given: Any) -> None:
    edge = [{**line, "hop": "edge"} for line in tripled() if line["attempt"] == 1]
    inner = [{**line, "hop": "inner", "source_id": 4} for line in tripled()]
    traffic = measured(given, [*edge, *inner]).traffic
    assert traffic.scope.endswith("at hop inner")
    assert traffic.requests_ratio == 3.0


def test_the_timeline_counts_every_request_once(given: Any) -> None:
    answer = measured(given, tripled())
    assert sum(b.first_attempts for b in answer.timeline) == 30 * MINUTE
    assert sum(b.retries for b in answer.timeline) == 2 * 10 * MINUTE
    assert sum(b.unnumbered for b in answer.timeline) == 0
    assert [b.at for b in answer.timeline] == sorted({b.at for b in answer.timeline})


def test_the_finding_says_the_bounds_and_how_attempts_were_told(given: Any) -> None:
    finding = find_traffic(measured(given, tripled()))
    assert (finding.severity, finding.title) == ("high", "The growth is retries, not users")
    assert finding.statement.startswith("requests x3.00 = users x1.00 x retries x3.00; 67% of the incident's")
    # The shortest step of the ladder that cuts the log into at most 720 is 5 s.
    assert finding.parameters == {"bin_us": 5_000_000, "basis": "attempt", "at_hop": ""}
    assert "100% of the requests carry an attempt number" in finding.why
    assert finding.confidence == 0.95


# Without a header that covers all ---------------------------------------------------------------------------------


def from_clients(lines: Log, *columns: str) -> Log:
    """The same lines without the columns, each caller with an address of its own."""
    return [{**without([line], *columns)[0], "client": f"c-{line['request_id']}"} for line in lines]


def test_what_follows_failures_bounds_the_retries_where_nothing_else_tells(given: Any) -> None:
    traffic = measured(given, from_clients(tripled(), "attempt", "request_id")).traffic
    assert traffic.basis.startswith("nothing but what follows failures")
    assert (traffic.incident_start, traffic.incident_end) == WINDOWS["incident"]
    # Of 1800 requests 1200 fail and each is followed by its retry: 2/3, of which half might be people.
    assert traffic.retry_share_incident == 0.6667
    assert traffic.retry_share_low is not None
    assert traffic.retry_share_high is not None
    assert traffic.retry_share_low == pytest.approx(1 / 3, abs=0.01)
    assert 2 / 3 < traffic.retry_share_high < 0.7
    assert "a person who presses again after a failure" in traffic.cannot_tell_from


def test_users_who_come_are_not_called_retries_where_nothing_else_tells(given: Any) -> None:
    lines = from_clients(log(lambda incident: 3 if incident else 1, lambda _: 1), "attempt", "request_id")
    traffic = measured(given, lines).traffic
    assert (traffic.verdict, traffic.users_ratio) == ("users", 3.0)


def test_the_headed_part_says_how_many_of_the_others_are_retries(given: Any) -> None:
    # Every other caller says nothing; the trace of those who do is certain, so that of the others is, too.
    lines = [
        line if int(line["client"].partition(".")[0].removeprefix("c-")) % 2 else without([line], "attempt")[0]
        for line in [{**line, "client": f"c-{line['request_id']}"} for line in tripled()]
    ]
    traffic = measured(given, without(lines, "request_id")).traffic
    assert traffic.retry_share_incident == pytest.approx(2 / 3, abs=0.001)
    assert traffic.retry_share_low is not None
    assert traffic.retry_share_high is not None
    assert 0.64 < traffic.retry_share_low < 2 / 3 < traffic.retry_share_high < 0.69
    assert traffic.verdict == "retries"


def test_an_order_named_again_after_a_good_answer_is_a_person_not_a_retry(given: Any) -> None:
    # Every second somebody pays an order in two parts, ten seconds apart; nobody fails, so nobody retries.
    lines = [{"at": float(s + part * 10), "order_id": f"O-{s}"} for s in range(900) for part in (0, 1)]
    traffic = measured(given, lines).traffic
    assert (traffic.basis, traffic.retry_share_incident) == ("order in the path", 0.0)
    assert traffic.verdict == "neither"


# Headers that lie -------------------------------------------------------------------------------------------------


def test_a_header_that_is_always_1_is_noticed_by_the_ids(given: Any) -> None:
    traffic = measured(given, [{**line, "attempt": 1} for line in tripled()]).traffic
    assert (traffic.basis, traffic.users_ratio, traffic.verdict) == ("request id", 1.0, "retries")
    assert any("the attempt header is always 1: 1200 of 1200 requests" in why for why in traffic.verdict_why)


def test_a_header_that_is_always_1_is_noticed_by_what_follows_failures(given: Any) -> None:
    lines = [{**line, "attempt": 1} for line in from_clients(tripled(), "request_id")]
    traffic = measured(given, lines).traffic
    assert traffic.retry_share_incident == 0.6667
    assert any(why.startswith("the attempt header is always 1, yet at least") for why in traffic.verdict_why)


def test_a_header_that_is_always_1_is_believed_where_nothing_is_tried_again(given: Any) -> None:
    lines = [{**line, "client": f"c-{n}"} for n, line in enumerate(log(lambda i: 3 if i else 1, lambda _: 1))]
    traffic = measured(given, lines).traffic
    assert (traffic.basis, traffic.verdict) == ("attempt header", "users")


def test_a_proxys_own_count_is_not_taken_for_the_callers(given: Any) -> None:
    # The proxy in front of the hop tries each failed request twice and counts 1, 2; the caller's second try is 1 again.
    lines = [{**line, "attempt": 2 if line["attempt"] == 2 else 1} for line in tripled()]
    traffic = measured(given, lines).traffic
    assert traffic.basis == "request id"
    assert any("counts the tries of another hop" in why for why in traffic.verdict_why)


# Neither ----------------------------------------------------------------------------------------------------------


def crowd(seconds: range, each: int = 1) -> Log:
    """One call a second and times `each`, each by a client of its own."""
    return [{"at": s + n / 100, "attempt": 1, "client": f"c-{s}-{n}"} for s in seconds for n in range(each)]


def test_one_clients_flood_is_no_growth_of_users(given: Any) -> None:
    flood = [{**line, "client": "scraper", "status": 404} for line in crowd(range(600, 1200), 3)]
    traffic = measured(given, [*crowd(range(1800)), *flood]).traffic
    assert (traffic.requests_ratio, traffic.verdict) == (4.0, "neither")
    # 600 clients of the crowd and the one.
    assert traffic.verdict_why[0] == (
        "one client of 601 started 1800 of the incident's calls, of which 0% were answered well; "
        "without them users x1.00"
    )


def test_a_campaign_is_growth_of_users(given: Any) -> None:
    traffic = measured(
        given, [*crowd(range(1800)), *[{**c, "client": f"n-{c['client']}"} for c in crowd(range(600, 1200), 3)]]
    )
    assert traffic.traffic.verdict == "users"


# Numbers and queries ----------------------------------------------------------------------------------------------


def test_every_bar_of_the_chart_is_what_the_query_of_the_finding_counts(given: Any) -> None:
    runner = given(requests=[{**line, "client": "c"} for line in tripled()])
    answer = measure_traffic(runner)
    assert answer is not None
    parameters = {**find_traffic(answer).parameters, "bin_us": int(answer.step_s * 1e6)}
    rows = runner.run("traffic/requests_by_bin", **parameters).rows
    assert [(b.first_attempts, b.retries, b.unnumbered) for b in answer.timeline] == [row[1:4] for row in rows]
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    assert [b.at for b in answer.timeline] == [epoch + timedelta(seconds=row[0] * answer.step_s) for row in rows]


def test_the_windows_numbers_are_what_the_query_of_the_finding_counts(given: Any) -> None:
    runner = given(requests=tripled())
    answer = measure_traffic(runner)
    assert answer is not None
    finding = find_traffic(answer)
    step_s = int(str(finding.parameters["bin_us"])) / 1e6
    low, high = (t.timestamp() / step_s for t in (answer.traffic.incident_start, answer.traffic.incident_end))
    inside = [row for row in runner.run(str(finding.query), **finding.parameters).rows if low <= row[0] < high]
    first, retries = sum(row[1] for row in inside), sum(row[2] for row in inside)
    assert answer.traffic.retry_share_incident == round(retries / (first + retries), 4)
    assert answer.traffic.amplification_incident == round((first + retries) / first, 4)


def test_the_model_starts_from_the_incident_as_it_was(given: Any) -> None:
    # 1800 requests in the incident, of which 600 first attempts; a budget of 10 % allows 60 retries.
    model = measure_what_if(measured(given, tripled()), None, None)
    assert model is not None
    requests = {s.name: s.requests for s in model.scenarios}
    assert (requests["as_seen"], requests["no_retries"], requests["budget_10"]) == (1800, 600, 660)
