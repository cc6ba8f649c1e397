"""Charts hold the numbers they are given, as figures and as sketches."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

from forensics.model import GapPicture, Scan
from forensics.render import figures, residuals


def test_bins_drawn_together_keep_their_sums(incident: Scan) -> None:
    size, bins = figures.coarsen(incident.timeline, 50)
    assert size == 4
    assert len(bins) == 45
    for field in ("first_attempts", "retries", "unnumbered"):
        assert sum(getattr(b, field) for b in bins) == sum(getattr(b, field) for b in incident.timeline)
    assert bins[1].at == incident.timeline[4].at


def test_gap_bins_drawn_together_keep_their_sums_and_edges(incident: Scan) -> None:
    picture = incident.gap_picture
    assert picture is not None
    small = figures.coarsen_gaps(picture, 10)
    assert len(small.counts) <= 10
    assert len(small.edges_s) == len(small.counts) + 1
    assert sum(small.counts) == sum(picture.counts)
    assert (small.edges_s[0], small.edges_s[-1]) == (picture.edges_s[0], picture.edges_s[-1])
    assert figures.coarsen_gaps(picture, 500) is picture


def test_only_bars_and_lines_are_drawn(incident: Scan) -> None:
    assert incident.gap_picture is not None
    timeline = figures.figure_timeline(incident.timeline, 60.0, incident.traffic)
    gaps = figures.figure_gaps(incident.gap_picture)
    assert {trace.type for trace in (*timeline.data, *gaps.data)} == {"bar", "scatter"}
    assert timeline.layout.barmode == "stack"
    assert [shape.fillcolor for shape in timeline.layout.shapes] == ["var(--baseline)", "var(--incident)"]
    assert [a.text for a in gaps.layout.annotations] == ["1→2 4 s", "2→3 5 s", "3→4 7 s", "1→3 9 s", "2→4 12 s"]


def test_a_window_outside_the_timeline_is_not_drawn(incident: Scan) -> None:
    assert incident.traffic is not None
    early = timedelta(days=7)
    start, end = incident.traffic.baseline_start - early, incident.traffic.baseline_end - early
    traffic = replace(incident.traffic, baseline_start=start, baseline_end=end)
    assert len(figures.figure_timeline(incident.timeline, 60.0, traffic).layout.shapes) == 1
    assert [name for name, _, _ in figures.sketch_timeline(incident.timeline, 60.0, traffic).bands] == ["incident"]


def test_json_of_a_figure_cannot_leave_its_script_element() -> None:
    picture = GapPicture((0.0, 1.0, 2.0), (1, 2), (), (), (("</script><!--\u2028&", 1.0),), 0)
    text = figures.figure_json(figures.figure_gaps(picture))
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text)["data"][0]["y"] == [1, 2]


def test_labels_of_marks_never_overlap() -> None:
    places = tuple((f"{i}→{i + 1}", 4.0 + i / 10) for i in range(12))
    picture = GapPicture((0.0, 50.0, 100.0), (1, 2), (), (), (*places, ("9→10", 500.0)), 0)
    marks = figures.sketch_gaps(picture).marks
    assert len(marks) == 12
    labelled = [(x, y) for text, x, y in marks if text]
    assert len(labelled) == len({y for _, y in labelled}) == 3


def test_a_sketch_stays_inside_its_frame(incident: Scan) -> None:
    assert incident.gap_picture is not None
    for sketch in (
        figures.sketch_gaps(incident.gap_picture),
        figures.sketch_timeline(incident.timeline, 60.0, incident.traffic),
    ):
        left, top, right, bottom = sketch.plot
        assert all(left <= x <= right for x, _ in sketch.ticks_x)
        assert all(top <= y <= bottom for y, _ in sketch.ticks_y)
        assert sketch.ticks_y[0] == (bottom, "0")


# 16 fitted, 24 seen: 8 too many, and the deviation of such a count is 4. Of half a gap and none seen, less than one.
UNEVEN = GapPicture((0.0, 1.0, 2.0, 3.0), (24, 9, 0), (), (), (), 0, fitted=(16.0, 9.0, 0.5))


def test_residuals_are_deviations_of_a_count_and_an_expected_fraction_of_a_gap_is_none() -> None:
    assert UNEVEN.residuals == (2.0, 0.0, -0.5)
    assert replace(UNEVEN, fitted=()).residuals == ()


def test_residual_bars_go_up_and_down_from_a_line_between_two_of_chance() -> None:
    figure = residuals.figure_residuals(UNEVEN)
    assert list(figure.data[0].y) == [2.0, 0.0, -0.5]
    assert [shape.y0 for shape in figure.layout.shapes] == [0.0, 2.0, -2.0]
    assert figure.data[0].customdata[0] == "24 seen, 16.0 fitted, 0 s to 1 s"
    low, high = figure.layout.yaxis.range
    assert low == -high < -2


def test_the_sketch_of_residuals_stays_inside_its_frame() -> None:
    sketch = residuals.sketch_residuals(UNEVEN)
    _, top, _, bottom = sketch.plot
    assert sketch.height == residuals.HEIGHT
    assert all(top <= y <= bottom for y, _ in sketch.ticks_y)
    assert [name for name, _ in sketch.paths] == ["seen", "axis", "chance"]
    assert dict(sketch.paths)["seen"].count("Z") == 2


def test_residuals_of_bins_drawn_together_are_those_of_their_sums() -> None:
    small = figures.coarsen_gaps(UNEVEN, 2)
    assert (small.counts, small.fitted) == ((33, 0), (25.0, 0.5))
    assert small.residuals == (1.6, -0.5)


def test_empty_counts_make_an_empty_sketch(incident: Scan) -> None:
    zero = replace(incident.timeline[0], first_attempts=0, retries=0, unnumbered=0)
    sketch = figures.sketch_timeline((zero,), 60.0, None)
    assert all(not d for _, d in sketch.paths)
    assert figures.figure_timeline((zero,), 60.0, None).data == ()
