"""Where the gaps and the fitted schedule part: what was seen less what was fitted, bin by bin, below the histogram."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from forensics.model import GapPicture
from forensics.render import words
from forensics.render.figures import Frame, Sketch, base_layout, round_ticks

HEIGHT = 170
CHANCE = 2.0
"""Deviations that one bin in twenty passes by chance."""
_TOP = 10
_LEAST_REACH = 3.0


def _reach(picture: GapPicture) -> float:
    """How far the axis goes up and down: a little past the farthest bar, and past the lines of chance."""
    return 1.08 * max(_LEAST_REACH, *(abs(r) for r in picture.residuals))


def figure_residuals(picture: GapPicture) -> Any:
    """Residuals as bars up and down, with a line on either side for what is chance."""
    import plotly.graph_objects as go  # slow to import, and only a report needs it

    bins = list(pairwise(picture.edges_s))
    rows = zip(bins, picture.counts, picture.fitted, strict=True)
    bars = go.Bar(
        x=[a for a, _ in bins],
        y=list(picture.residuals),
        width=[b - a for a, b in bins],
        offset=0,
        name="residual",
        customdata=[
            f"{seen} seen, {fit:.1f} fitted, {words.seconds(a)} to {words.seconds(b)}" for (a, b), seen, fit in rows
        ],
        hovertemplate="%{customdata}<extra></extra>",
        marker={"color": "var(--first)", "line": {"width": 0}},
    )
    layout = base_layout("gap, seconds", "deviations", _TOP)
    reach = _reach(picture)
    layout["xaxis"] |= {"range": [picture.edges_s[0], picture.edges_s[-1]]}
    layout["yaxis"] |= {"rangemode": "normal", "range": [-reach, reach], "nticks": 5}
    layout["shapes"] = [_level(0.0, "solid"), _level(CHANCE, "dot"), _level(-CHANCE, "dot")]
    return go.Figure(data=[bars], layout=layout)


def _level(y: float, dash: str) -> dict[str, Any]:
    line = {"color": "var(--soft)", "width": 1, "dash": dash}
    return {"type": "line", "x0": 0, "x1": 1, "xref": "paper", "y0": y, "y1": y, "line": line}


def sketch_residuals(picture: GapPicture) -> Sketch:
    """The same without scripts."""
    low, high, reach = picture.edges_s[0], picture.edges_s[-1], _reach(picture)
    frame = Frame(low, high, reach, _TOP, least=-reach, height=HEIGHT)
    spans = list(pairwise(picture.edges_s))
    left, right = frame.x(low), frame.x(high)
    levels = "".join(f"M{left} {frame.y(y)}H{right}" for y in (CHANCE, -CHANCE))
    paths = [
        ("seen", frame.bars(spans, [0.0] * len(spans), picture.residuals)),
        ("axis", f"M{left} {frame.y(0.0)}H{right}"),
        ("chance", levels),
    ]
    return frame.sketch(paths, [(v, f"{v:g}") for v in round_ticks(low, high, 10)])
