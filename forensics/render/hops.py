"""Retries through hops and in waves, as findings.json holds them and as the chart of a herd draws them."""

from __future__ import annotations

from typing import Any

from forensics.model import GapPicture, Herd, Layers
from forensics.render import figures, words


def plain_layers(found: Layers | None) -> dict[str, Any] | None:
    """`layers` of findings.json; None when not examined."""
    if found is None:
        return None
    return {
        "hops": [
            {
                "hop": h.hop,
                "attempts_per_request": h.attempts_per_request,
                "at_least": h.at_least,
                "told_by": h.told_by,
                "requests": h.requests,
                "product_without": h.product_without,
            }
            for h in found.hops
        ],
        "product": found.product,
        "seen_product": found.seen_product,
        "tied_by": found.tied_by,
        "switch_off_first": found.switch_off_first,
        "notes": list(found.notes),
        "confidence": found.confidence,
        **_window(found),
    }


def plain_herd(found: Herd | None) -> dict[str, Any] | None:
    """`herd` of findings.json; None when not examined."""
    if found is None:
        return None
    return {
        "synchronised": found.synchronised,
        "wave_offsets_s": list(found.wave_offsets_s),
        "confidence": found.confidence,
        "ended_from": words.stamp(found.ended[0]) if found.ended else None,
        "ended_until": words.stamp(found.ended[1]) if found.ended else None,
        "clients": found.clients,
        "share_in_step": found.share_in_step,
        "peak": found.peak,
        "mean": found.mean,
        "step_s": found.step_s,
        "waves": [
            {
                "attempt": w.attempt,
                "offset_s": w.offset_s,
                "retries": w.retries,
                "peak": w.peak,
                "peak_full_jitter": w.peak_full_jitter,
            }
            for w in found.waves
        ],
        **_window(found),
    }


def _window(found: Layers | Herd) -> dict[str, Any]:
    """Which time was looked at: that of traffic, or the whole log."""
    start, end = found.window or (None, None)
    return {
        "window_start": words.stamp(start) if start else None,
        "window_end": words.stamp(end) if end else None,
        "window_why": found.window_why,
    }


def picture_herd(herd: Herd) -> GapPicture | None:
    """Retries after the calls ended as bars, what full jitter would have made of them as a line; None without a herd.

    It has the form of a gap picture, whose x are seconds too.
    """
    if not herd.bins:
        return None
    edges = (*(b.offset_s for b in herd.bins), herd.bins[-1].offset_s + herd.step_s)
    return GapPicture(
        edges_s=edges,
        counts=tuple(b.retries for b in herd.bins),
        curve_s=tuple(b.offset_s + herd.step_s / 2 for b in herd.bins),
        curve=tuple(b.full_jitter for b in herd.bins),
        expected_s=tuple((f"wave {n}", offset) for n, offset in enumerate(herd.wave_offsets_s, 1)),
        beyond=0,
    )


def figure_herd(picture: GapPicture) -> Any:
    """The picture as a plotly figure."""
    figure = figures.figure_gaps(picture)
    figure.data[0].update(name="retries seen", hovertemplate="%{y} retries after %{customdata}<extra></extra>")
    figure.data[1].update(name="with full jitter", hovertemplate="%{y:.1f} with full jitter<extra></extra>")
    return figure.update_layout(xaxis_title_text="seconds after the calls ended", yaxis_title_text="retries")
