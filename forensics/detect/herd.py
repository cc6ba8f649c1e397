"""Do retries come back together? Calls that ended at once, followed through the waves of their retries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from forensics.analysis.herd import Burst, Moves, Waves, find_burst, full_jitter, measure_waves
from forensics.detect.attempts import tie_of
from forensics.detect.hops import read_hops
from forensics.detect.timeline import Seen, Window, span_us
from forensics.model import Finding, Herd, HerdBin, HerdWave
from forensics.runner import Runner

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WAVE_US = 1_000_000
_COARSE_US = 250_000
_FINE_US = 50_000
_BINS = 120
_MOST_SURE = 0.97
_MANY_CALLS = 50
_LISTED = 8


@dataclass(frozen=True, slots=True)
class _Place:
    """Where is looked, and by what."""

    hop: str
    tied_by: str
    resolution_us: int

    @property
    def grid_us(self) -> int:
        return _COARSE_US if self.resolution_us >= 4 * _FINE_US else _FINE_US


def measure_herd(runner: Runner, resolution_us: int, incident: Window | None = None) -> Herd | str:
    """Whether calls that ended together come back together; the reason, where the log cannot show it.

    Args:
        resolution_us: how coarse the time stamps of the log are.
        incident: calls that ended together are looked for in it; in the whole log where it is None, or shows none.
    """
    hops = read_hops(runner)
    if not hops:
        return "no request in the logs can make an effect"
    places = [_Place(hop["hop"], tie, max(1, resolution_us)) for hop in hops if (tie := tie_of(hop))]
    if not places:
        return "no id ties the attempts of a call together, or too few calls were tried again"
    if incident is not None:
        seen = Seen.of(incident, incident)
        herd = max((_at(runner, place, seen) for place in places), key=_strength)
        if herd.clients:
            return herd
    seen = Seen.of(None, incident)
    return max((_at(runner, place, seen) for place in places), key=_strength)


def _strength(herd: Herd) -> tuple[bool, int, float, str]:
    return herd.synchronised, herd.clients, herd.confidence, herd.hop


def _at(runner: Runner, place: _Place, seen: Seen) -> Herd:
    """What one hop shows."""
    asked: dict[str, Any] = {"tied_by": place.tied_by, "at_hop": place.hop, **span_us(seen.window)}
    result = runner.run("traffic/first_tries_ended", wave_us=_WAVE_US, **asked)
    ended = dict(result.rows)
    burst = find_burst(ended)
    moves = _moves(runner, place, burst) if burst else None
    waves = measure_waves(moves) if moves else None
    if burst is None or moves is None or waves is None:
        return _none(place, sum(ended.values()), seen)
    return _herd(place, burst, (moves, waves), seen)


def _moves(runner: Runner, place: _Place, burst: Burst) -> Moves | None:
    rows = runner.run(
        "traffic/waves_after",
        tied_by=place.tied_by,
        at_hop=place.hop,
        from_us=burst.start * _WAVE_US,
        to_us=burst.end * _WAVE_US,
        grid_us=place.grid_us,
    ).rows
    if not rows:
        return None
    attempt, before, started, retries = np.array(rows, dtype=np.int64).T
    return Moves(attempt, before, started, retries, place.grid_us / 1e6, place.resolution_us / 1e6)


def _none(place: _Place, calls: int, seen: Seen) -> Herd:
    """No calls ended together: what retries there are, are spread like the calls themselves."""
    return Herd(
        synchronised=False,
        wave_offsets_s=(),
        confidence=0.95 if calls >= _MANY_CALLS else 0.7,
        why=f"the first attempts of the {calls:,} calls that were tried again ended one by one, never many at once",
        ended=None,
        clients=0,
        share_in_step=None,
        peak=0,
        mean=0.0,
        step_s=_WAVE_US / 1e6,
        waves=(),
        bins=(),
        tied_by=place.tied_by,
        hop=place.hop,
        window=seen.window,
        window_why=seen.why,
    )


def _herd(place: _Place, burst: Burst, measured: tuple[Moves, Waves], seen: Seen) -> Herd:
    moves, waves = measured
    in_step = waves.probability > 0.5
    shown, bins, step_s = _drawn(moves, waves)
    clients = int(moves.retries[moves.attempt == 2].sum())
    counts = [b.retries for b in bins]
    return Herd(
        synchronised=in_step,
        wave_offsets_s=tuple(round(offset, 2) for offset in waves.offsets_s) if in_step else (),
        confidence=round(min(_MOST_SURE, max(waves.probability, 1 - waves.probability)), 2),
        why=_why(clients, waves, in_step),
        ended=(_moment(burst.start * _WAVE_US), _moment(burst.end * _WAVE_US)),
        clients=clients,
        share_in_step=None if waves.share_in_step is None else round(waves.share_in_step, 2),
        peak=max(counts),
        mean=round(sum(counts) / len(counts), 2),
        step_s=step_s,
        waves=shown,
        bins=bins,
        tied_by=place.tied_by,
        hop=place.hop,
        window=seen.window,
        window_why=seen.why,
    )


def _why(clients: int, waves: Waves, in_step: bool) -> str:
    widths = "; ".join(
        f"wave {n}: {width:.2g} s wide after waits of {wait:.2g} s"
        for n, (width, wait) in enumerate(zip(waves.widths_s, waves.waits_s, strict=True), 1)
    )
    told = waves.share_in_step is not None
    said = "came back in narrow waves" if in_step else "were spread over their waits" if told else "came back"
    return f"{clients:,} calls ended together and {said} ({widths})"


def _drawn(moves: Moves, waves: Waves) -> tuple[tuple[HerdWave, ...], tuple[HerdBin, ...], float]:
    """Retries from the burst on, by wave and by step of a second (longer where they go on for long)."""
    started = np.maximum(0, moves.started)
    steps = int(started.max()) + 1
    per_second = round(_WAVE_US / 1e6 / moves.step_s)
    size = per_second * max(1, -(-steps // (per_second * _BINS)))
    length = -(-steps // size) * size
    expected = full_jitter(moves, waves, length).reshape(-1, length // size, size).sum(axis=2)
    seen = np.zeros(expected.shape, dtype=np.int64)
    numbers = np.unique(moves.attempt)
    np.add.at(seen, (np.searchsorted(numbers, moves.attempt), started // size), moves.retries)
    step_s = size * moves.step_s
    shown = tuple(
        HerdWave(int(n), round(offset, 2), int(row.sum()), int(row.max()), round(float(other.max()), 2))
        for n, offset, row, other in zip(numbers, waves.offsets_s, seen, expected, strict=False)
    )
    totals = zip(seen.sum(axis=0), expected.sum(axis=0), strict=True)
    bins = tuple(HerdBin(k * step_s, int(n), round(float(e), 2)) for k, (n, e) in enumerate(totals))
    return shown, bins, step_s


def find_herd(herd: Herd) -> Finding:
    """The finding that answers: do retries come back together?"""
    return Finding(
        id="herd",
        rule="herd/waves",
        title=_title(herd),
        severity="medium" if herd.synchronised else "note",
        confidence=herd.confidence,
        statement=_statement(herd),
        why=(
            herd.why,
            f"attempts of a call are known by: {herd.tied_by.replace('_', ' ')}",
            f"looked at: {herd.window_why}",
            *_limits(herd),
        ),
        alternatives=(),
        numbers=_numbers(herd),
        money={},
        query="traffic/waves_after" if herd.bins else "traffic/first_tries_ended",
        parameters=_parameters(herd),
        evidence=(),
        evidence_total=0,
        next_steps=(
            "draw every wait at random between zero and its length (full jitter), in all clients",
            "let the server answer Retry-After with times that differ from caller to caller",
        )
        if herd.synchronised
        else (),
    )


def _title(herd: Herd) -> str:
    if herd.ended is not None and herd.share_in_step is None:
        return "Whether retries come back together cannot be told"
    return "Retries come back together" if herd.synchronised else "Retries do not come back together"


def _statement(herd: Herd) -> str:
    if herd.ended is None:
        return f"No waves: {herd.why}."
    if herd.share_in_step is None:
        return (
            f"{herd.clients:,} calls ended together at {herd.ended[0]:%Y-%m-%d %H:%M:%S} UTC; whether they came back "
            "together cannot be told, because every wait is shorter than the clock can tell."
        )
    if not herd.synchronised:
        return (
            f"{herd.clients:,} calls ended together at {herd.ended[0]:%Y-%m-%d %H:%M:%S} UTC, and their retries came "
            f"spread: at most {herd.peak:,} in {herd.step_s:g} s."
        )
    offsets = ", ".join(f"{offset:.3g}" for offset in herd.wave_offsets_s)
    worst = max(herd.waves, key=lambda wave: wave.peak - wave.peak_full_jitter)
    return (
        f"{herd.clients:,} calls ended together at {herd.ended[0]:%Y-%m-%d %H:%M:%S} UTC and came back in waves after "
        f"{offsets} s. Attempt {worst.attempt} brought {worst.peak:,} in {herd.step_s:g} s; with full jitter it would "
        f"have been about {worst.peak_full_jitter:,.0f}."
    )


def _limits(herd: Herd) -> tuple[str, ...]:
    if herd.ended is None or herd.confidence >= 0.9:
        return ()
    if herd.share_in_step is None:
        return ("every wait is shorter than the clock can tell: waves and jitter look alike",)
    return ("the waves are about as wide as the clock is coarse, or lie between fixed waits and full jitter",)


def _numbers(herd: Herd) -> Mapping[str, float | int | str | None]:
    return {
        "clients": herd.clients,
        "share_in_step": herd.share_in_step,
        "peak": herd.peak,
        "mean": herd.mean,
        "peak_to_mean": round(herd.peak / herd.mean, 2) if herd.mean else None,
        **{f"peak_of_attempt_{wave.attempt}": wave.peak for wave in herd.waves[:_LISTED]},
        **{f"full_jitter_peak_of_attempt_{wave.attempt}": wave.peak_full_jitter for wave in herd.waves[:_LISTED]},
    }


def _parameters(herd: Herd) -> dict[str, Any]:
    common: dict[str, Any] = {"tied_by": herd.tied_by, "at_hop": herd.hop}
    if herd.ended is None:
        return {**common, **span_us(herd.window)}
    start, end = ((moment - _EPOCH) // timedelta(microseconds=1) for moment in herd.ended)
    return {**common, "from_us": start, "to_us": end}


def _moment(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)
