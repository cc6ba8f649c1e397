"""The two charts of the report, twice: as plotly figures, and as sketches that an SVG is drawn from without scripts.

Colours are CSS variables: the page resolves them, so that charts follow the light and the dark scheme.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from forensics.model import GapPicture, Traffic, TrafficBin
from forensics.render import words

WIDTH, HEIGHT = 1120, 300
_LEFT, _RIGHT, _TOP, _BOTTOM, _LEVEL = 56, 12, 30, 34, 17
_STEPS_S = (1, 2, 5, 10, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800)
_SERIES = (
    ("first_attempts", "first attempts", "var(--first)", ""),
    ("retries", "retries", "var(--retries)", "/"),
    ("unnumbered", "requests that do not say", "var(--unnumbered)", "."),
)
_DATES = [
    {"dtickrange": [None, 60_000], "value": "%H:%M:%S\n%Y-%m-%d"},
    {"dtickrange": [60_000, 86_400_000], "value": "%H:%M\n%Y-%m-%d"},
    {"dtickrange": [86_400_000, None], "value": "%m-%d\n%Y"},
]


@dataclass(frozen=True, slots=True)
class Sketch:
    """A chart as shapes in the units of an SVG of WIDTH x height."""

    height: float
    plot: tuple[float, float, float, float]
    """Left, top, right, bottom of the plot area."""
    paths: tuple[tuple[str, str], ...]
    """(class, d) for bars and lines."""
    bands: tuple[tuple[str, float, float], ...]
    """(name, x, width) of shaded windows."""
    marks: tuple[tuple[str, float, float], ...]
    """(label, x, y of the label) of upright lines."""
    ticks_x: tuple[tuple[float, str], ...]
    ticks_y: tuple[tuple[float, str], ...]


def coarsen(bins: Sequence[TrafficBin], most: int) -> tuple[int, tuple[TrafficBin, ...]]:
    """Neighbouring bins drawn together so that no more than `most` are left; and how many make one."""
    size = max(1, -(-len(bins) // most))
    runs = [bins[i : i + size] for i in range(0, len(bins), size)]
    return size, tuple(
        TrafficBin(
            run[0].at, sum(b.first_attempts for b in run), sum(b.retries for b in run), sum(b.unnumbered for b in run)
        )
        for run in runs
    )


def coarsen_gaps(picture: GapPicture, most: int) -> GapPicture:
    """The same for the bins of a gap histogram; the curve, which is per bin, grows with them."""
    size = max(1, -(-len(picture.counts) // most))
    if size == 1:
        return picture
    edges = (*picture.edges_s[:-1:size], picture.edges_s[-1])
    counts = tuple(sum(picture.counts[i : i + size]) for i in range(0, len(picture.counts), size))
    step = max(1, len(picture.curve_s) // (4 * most))
    curve = tuple(size * value for value in picture.curve[::step])
    fitted = tuple(sum(picture.fitted[i : i + size]) for i in range(0, len(picture.fitted), size))
    return GapPicture(edges, counts, picture.curve_s[::step], curve, picture.expected_s, picture.beyond, fitted)


def windows(traffic: Traffic | None) -> tuple[tuple[str, datetime, datetime], ...]:
    """The shaded windows of the timeline."""
    if traffic is None:
        return ()
    return (
        ("baseline", traffic.baseline_start, traffic.baseline_end),
        ("incident", traffic.incident_start, traffic.incident_end),
        *((("recovery", traffic.incident_end, traffic.recovered_at),) if traffic.recovered_at else ()),
    )


def _levels(places: Sequence[tuple[str, float]], low: float, high: float) -> list[tuple[str, float, int]]:
    """Marks inside the axis with the row of their label, so that no two labels overlap; -1 where no row is free."""
    room = (high - low) * 0.08
    ends = [float("-inf")] * 3
    placed: list[tuple[str, float, int]] = []
    for text, x in sorted(places, key=lambda p: (p[1], p[0])):
        if low <= x <= high:
            level = next((i for i, end in enumerate(ends) if x >= end), -1)
            if level >= 0:
                ends[level] = x + room
            placed.append((text, x, level))
    return placed


def mark_text(name: str, place_s: float) -> str:
    """The label of an expected gap: '1→2 4 s'."""
    return f"{words.clean(name, 24)} {words.seconds(place_s)}"


def base_layout(title_x: str, title_y: str, top: int) -> dict[str, Any]:
    title = {"font": {"size": 12}, "standoff": 8}
    axis: dict[str, Any] = {
        "gridcolor": "var(--rule)",
        "linecolor": "var(--soft)",
        "zeroline": False,
        "tickfont": {"size": 12},
    }
    return {
        "template": "none",
        "paper_bgcolor": "var(--paper)",
        "plot_bgcolor": "var(--paper)",
        "font": {"family": "system-ui, sans-serif", "size": 13, "color": "var(--ink)"},
        "margin": {"l": 56, "r": 12, "t": top, "b": 44},
        "bargap": 0,
        "hovermode": "x unified",
        "hoverlabel": {"bgcolor": "var(--paper)", "bordercolor": "var(--rule)", "font": {"color": "var(--ink)"}},
        "showlegend": False,
        "xaxis": {**axis, "showgrid": False, "title": {**title, "text": title_x}},
        "yaxis": {**axis, "rangemode": "tozero", "tickformat": ",", "title": {**title, "text": title_y}},
    }


def _mark(x: object, color: str) -> dict[str, Any]:
    line = {"color": color, "width": 1, "dash": "dot"}
    return {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "paper", "line": line}


def _label(x: object, text: str, level: int, anchor: str = "left") -> dict[str, Any]:
    return {
        "x": x,
        "y": 1,
        "yref": "paper",
        "yshift": 2 + level * _LEVEL,
        "xanchor": anchor,
        "yanchor": "bottom",
        "text": html.escape(text),
        "showarrow": False,
        "font": {"size": 12, "color": "var(--soft)"},
    }


def figure_timeline(bins: Sequence[TrafficBin], step_s: float, traffic: Traffic | None) -> Any:
    """Requests by time, first attempts below retries below those that do not say, windows shaded."""
    import plotly.graph_objects as go  # slow to import, and only a report needs it

    at = [words.clock(b.at) for b in bins]
    traces = []
    for field, name, color, pattern in _SERIES:
        values = [getattr(b, field) for b in bins]
        if any(values):
            marker = {"color": color, "line": {"width": 0}, "pattern": _pattern(pattern)}
            traces.append(go.Bar(x=at, y=values, name=name, marker=marker, offset=0, width=step_s * 1000))
    layout = base_layout("", f"requests per {words.seconds(step_s)}", _TOP)
    layout |= {"barmode": "stack", "shapes": [], "annotations": []}
    start, end = _extent(bins, step_s)
    layout["xaxis"] |= {"hoverformat": "%Y-%m-%d %H:%M:%S", "tickformatstops": _DATES}
    layout["xaxis"] |= {"type": "date", "range": [words.clock(_at(start)), words.clock(_at(end))]}
    for name, low, high in windows(traffic):
        if low.timestamp() < end and high.timestamp() > start:
            x0, x1 = words.clock(_at(max(start, low.timestamp()))), words.clock(_at(min(end, high.timestamp())))
            band = {"type": "rect", "x0": x0, "x1": x1, "y0": 0, "y1": 1, "yref": "paper", "layer": "below"}
            layout["shapes"].append({**band, "fillcolor": f"var(--{name})", "line": {"width": 0}})
            layout["annotations"].append(_label(x0, name, 0))
    return go.Figure(data=traces, layout=layout)


def _pattern(shape: str) -> dict[str, Any]:
    look = {"fgcolor": "var(--paper)", "fgopacity": 0.4, "size": 6, "solidity": 0.18, "fillmode": "overlay"}
    return {"shape": shape, **look} if shape else {}


def figure_gaps(picture: GapPicture) -> Any:
    """Gaps between effects of one act as bars, the fitted schedule as a line, expected gaps marked."""
    import plotly.graph_objects as go  # slow to import, and only a report needs it

    low, high = picture.edges_s[0], picture.edges_s[-1]
    bins = list(pairwise(picture.edges_s))
    marks = _levels(picture.expected_s, low, high)
    spans = [f"{words.seconds(a)} to {words.seconds(b)}" for a, b in bins]
    bars = go.Bar(
        x=[a for a, _ in bins],
        y=list(picture.counts),
        width=[b - a for a, b in bins],
        offset=0,
        name="gaps seen",
        customdata=spans,
        hovertemplate="%{y} gaps of %{customdata}<extra></extra>",
        marker={"color": "var(--first)", "line": {"width": 0}},
    )
    traces: list[Any] = [bars]
    if picture.curve:
        line = {"color": "var(--retries)", "width": 2}
        curve = go.Scatter(x=list(picture.curve_s), y=list(picture.curve), mode="lines", name="fitted schedule")
        traces.append(curve.update(line=line, hovertemplate="%{y:.1f} expected<extra></extra>"))
    layout = base_layout("gap, seconds", "gaps", _TOP + _LEVEL * max((m[2] for m in marks), default=0))
    layout["xaxis"] |= {"range": [low, high]}
    layout["shapes"] = [_mark(x, "var(--soft)") for _, x, _ in marks]
    layout["annotations"] = [_label(x, mark_text(t, x), level, "center") for t, x, level in marks if level >= 0]
    return go.Figure(data=traces, layout=layout)


def figure_json(figure: Any) -> str:
    """A figure as JSON that cannot end the script element it stands in."""
    text: str = figure.to_json()
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _extent(bins: Sequence[TrafficBin], step_s: float) -> tuple[float, float]:
    return bins[0].at.timestamp(), bins[-1].at.timestamp() + step_s


def _at(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


@dataclass(frozen=True, slots=True)
class Frame:
    """The plot area of a sketch and its scales."""

    low: float
    high: float
    most: float
    top: float
    least: float = 0.0
    height: int = HEIGHT

    def x(self, value: float) -> float:
        return round(_LEFT + (value - self.low) / (self.high - self.low or 1) * (WIDTH - _LEFT - _RIGHT), 1)

    def y(self, value: float) -> float:
        share = (value - self.least) / (self.most - self.least or 1)
        return round(self.height - _BOTTOM - share * (self.height - _BOTTOM - self.top), 1)

    def bars(self, spans: Sequence[tuple[float, float]], floors: Sequence[float], values: Sequence[float]) -> str:
        boxes = zip(spans, floors, values, strict=True)
        return "".join(
            f"M{self.x(a)} {self.y(f)}V{self.y(f + v)}H{self.x(b)}V{self.y(f)}Z" for (a, b), f, v in boxes if v
        )

    def sketch(self, paths: Sequence[tuple[str, str]], ticks_x: Sequence[tuple[float, str]], **more: Any) -> Sketch:
        plot = (float(_LEFT), self.top, float(WIDTH - _RIGHT), float(self.height - _BOTTOM))
        ticks_y = tuple((self.y(v), f"{v:,.6g}") for v in round_ticks(self.least, self.most, self.height // 50))
        inside = tuple((self.x(v), text) for v, text in ticks_x)
        empty: dict[str, Any] = {"bands": (), "marks": ()}
        return Sketch(self.height, plot, tuple(paths), ticks_x=inside, ticks_y=ticks_y, **(empty | more))


def round_ticks(low: float, high: float, most: int) -> Iterator[float]:
    """Round values between low and high."""
    rough = (high - low) / most or 1.0
    power = 10.0 ** (len(f"{int(rough)}") - 1) if rough >= 1 else 10.0 ** -len(f"{1 / rough:.0f}")
    step = next(power * m for m in (1, 2, 5, 10, 20, 50, 100) if power * m >= rough)
    at = -(-low // step) + 0.0  # no -0
    while at * step <= high * 1.0001:
        yield round(at * step, 9)
        at += 1


def sketch_timeline(bins: Sequence[TrafficBin], step_s: float, traffic: Traffic | None) -> Sketch:
    """The timeline without scripts."""
    start, end = _extent(bins, step_s)
    spans = [(b.at.timestamp(), b.at.timestamp() + step_s) for b in bins]
    most = max((b.first_attempts + b.retries + b.unnumbered for b in bins), default=0)
    frame = Frame(start, end, most * 1.04, _TOP)
    floors, paths = [0.0] * len(bins), []
    for field, _, _, _ in _SERIES:
        values = [float(getattr(b, field)) for b in bins]
        paths.append((field, frame.bars(spans, floors, values)))
        floors = [f + v for f, v in zip(floors, values, strict=True)]
    step = next((s for s in _STEPS_S if (end - start) / s <= 9), max(604_800, (end - start) / 8))
    whole = [step * n for n in range(int(-(-start // step)), int(end // step) + 1)]
    shape = "%m-%d" if step >= 86_400 else "%H:%M" if step >= 60 else "%H:%M:%S"
    ticks = [(t, _at(t).strftime(shape if i or step >= 86_400 else f"%m-%d {shape}")) for i, t in enumerate(whole)]
    bands = []
    for name, low, high in windows(traffic):
        left, right = max(start, low.timestamp()), min(end, high.timestamp())
        if left < right:
            bands.append((name, frame.x(left), round(frame.x(right) - frame.x(left), 1)))
    return frame.sketch(paths, ticks, bands=tuple(bands))


def sketch_gaps(picture: GapPicture) -> Sketch:
    """The gap histogram without scripts."""
    low, high = picture.edges_s[0], picture.edges_s[-1]
    marks = _levels(picture.expected_s, low, high)
    top = _TOP + _LEVEL * max((m[2] for m in marks), default=0)
    frame = Frame(low, high, 1.04 * max((*picture.counts, *picture.curve), default=0), top)
    paths = [("seen", frame.bars(list(pairwise(picture.edges_s)), [0.0] * len(picture.counts), picture.counts))]
    if picture.curve:
        points = zip(picture.curve_s, picture.curve, strict=True)
        paths.append(("fitted", "M" + "L".join(f"{frame.x(x)} {frame.y(y)}" for x, y in points if low <= x <= high)))
    placed = tuple((mark_text(t, x) if n >= 0 else "", frame.x(x), top - 8.0 - n * _LEVEL) for t, x, n in marks)
    return frame.sketch(paths, [(v, f"{v:g}") for v in round_ticks(low, high, 10)], marks=placed)
