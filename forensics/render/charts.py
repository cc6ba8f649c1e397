"""What the evidence allows to draw on the page: numbers for the tables, a sketch for paper, a figure for the screen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from markupsafe import Markup

from forensics.model import GapPicture, Scan
from forensics.render import figures, hops, residuals


def draw_charts(scan: Scan, most_bins: int) -> dict[str, Any]:
    """For each chart its bins or picture, its sketch, and its figure as JSON."""
    charts: dict[str, Any] = {}
    if scan.timeline and scan.timeline_step_s:
        size, bins = figures.coarsen(scan.timeline, most_bins)
        step_s = size * scan.timeline_step_s
        charts["timeline"] = {
            "bins": bins,
            "step_s": step_s,
            "sketch": figures.sketch_timeline(bins, step_s, scan.traffic),
            "json": _json(figures.figure_timeline(bins, step_s, scan.traffic)),
        }
    if scan.gap_picture and scan.gap_picture.counts:
        charts["gaps"] = _histogram(scan.gap_picture, most_bins, figures.figure_gaps)
        drawn = charts["gaps"]["picture"]
        if drawn.fitted:
            sketch, figure = residuals.sketch_residuals(drawn), residuals.figure_residuals(drawn)
            charts["residuals"] = {"picture": drawn, "sketch": sketch, "json": _json(figure)}
    herd = hops.picture_herd(scan.herd) if scan.herd else None
    if herd:
        charts["herd"] = _histogram(herd, most_bins, hops.figure_herd)
    return charts


def _histogram(picture: GapPicture, most_bins: int, figure: Callable[[GapPicture], Any]) -> dict[str, Any]:
    drawn = figures.coarsen_gaps(picture, most_bins)
    return {"picture": drawn, "sketch": figures.sketch_gaps(drawn), "json": _json(figure(drawn))}


def _json(figure: Any) -> Markup:
    """The figure as JSON, which `figure_json` has made safe inside a script element."""
    return Markup(figures.figure_json(figure))  # noqa: S704  (no <, > or & is left in it)
