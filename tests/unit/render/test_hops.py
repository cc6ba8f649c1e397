"""Retries through hops and in waves: what findings.json, the page and the terminal say of them."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from forensics.detect.herd import find_herd
from forensics.detect.layers import find_layers
from forensics.model import Herd, HerdBin, HerdWave, LayerHop, Layers, Scan
from forensics.render import hops
from forensics.render.export import render_findings
from forensics.render.html import ReportMeta, render_report
from forensics.render.terminal import render_summary

from .conftest import START

EVIL = "<b>edge</b>"


@pytest.fixture
def layers() -> Layers:
    return Layers(
        hops=(
            LayerHop(EVIL, 4.0, False, "requests at api for each at edge", 172, 54, 1.0, 3.0),
            LayerHop("service", 3.0, True, "requests at api", 386, 54, 1.0, 4.0),
            LayerHop("api", None, False, "it is the last hop given", 4688, 0, None, None),
        ),
        product=12.0,
        seen_product=None,
        tied_by="trace id",
        switch_off_first="service",
        notes=("a hop whose log is missing multiplies unseen",),
        confidence=0.6,
    )


@pytest.fixture
def herd() -> Herd:
    return Herd(
        synchronised=True,
        wave_offsets_s=(1.0, 3.0),
        confidence=0.97,
        why="80 calls ended together",
        ended=(START, START + timedelta(seconds=1)),
        clients=80,
        share_in_step=0.98,
        peak=80,
        mean=40.0,
        step_s=1.0,
        waves=(HerdWave(2, 1.0, 80, 80, 60.0), HerdWave(3, 3.0, 80, 71, 25.5)),
        bins=(HerdBin(0.0, 0, 60.0), HerdBin(1.0, 80, 45.0), HerdBin(2.0, 9, 30.0), HerdBin(3.0, 71, 25.0)),
        tied_by="request_id",
        hop="",
    )


@pytest.fixture
def storm(incident: Scan, layers: Layers, herd: Herd) -> Scan:
    return replace(incident, layers=layers, herd=herd, findings=(find_layers(layers), find_herd(herd)))


def test_findings_json_holds_hops_and_waves(storm: Scan) -> None:
    document = json.loads(render_findings(storm, "0"))
    assert [(h["hop"], h["attempts_per_request"]) for h in document["layers"]["hops"]] == [
        (EVIL, 4.0),
        ("service", 3.0),
        ("api", None),
    ]
    assert document["layers"]["product"] == 12.0
    assert document["herd"]["synchronised"] is True
    assert document["herd"]["wave_offsets_s"] == [1.0, 3.0]
    assert document["herd"]["ended_from"] == "2026-10-31T14:02:07.118000Z"


def test_what_was_not_examined_is_null(incident: Scan) -> None:
    document = json.loads(render_findings(incident, "0"))
    assert (document["layers"], document["herd"]) == (None, None)


def test_the_terminal_gives_each_a_line(storm: Scan) -> None:
    lines = dict(line.split(maxsplit=1) for line in render_summary(storm, None).splitlines())
    assert "only: 12 -> 4" in lines["layers"]
    assert "came back in waves after 1, 3 s" in lines["herd"]


def test_the_terminal_says_nothing_where_there_is_nothing_to_say(storm: Scan, herd: Herd) -> None:
    quiet = replace(herd, synchronised=False, wave_offsets_s=())
    summary = render_summary(replace(storm, findings=(find_herd(quiet),)), None)
    assert not [line for line in summary.splitlines() if line.startswith(("layers", "herd"))]


def test_the_page_shows_hops_and_waves_and_escapes_their_names(storm: Scan, meta: ReportMeta) -> None:
    page = render_report(storm, meta)
    assert EVIL not in page
    assert "&lt;b&gt;edge&lt;/b&gt;" in page
    assert "switch off first" in page
    assert 'data-figure="figure-herd"' in page
    assert 'id="figure-herd"' in page
    assert "25.5" in page


def test_the_page_says_why_they_were_not_examined(incident: Scan, meta: ReportMeta) -> None:
    page = render_report(incident, meta)
    for section in ("layers", "herd"):
        text = page.split(f'<section id="{section}"')[1].split("</section>")[0]
        assert "Not examined: no access log was given" in text


def test_the_chart_of_a_herd_holds_the_retries_and_the_jittered_line(herd: Herd) -> None:
    picture = hops.picture_herd(herd)
    assert picture is not None
    figure = hops.figure_herd(picture)
    assert list(figure.data[0].y) == [0, 80, 9, 71]
    assert list(figure.data[1].y) == [60.0, 45.0, 30.0, 25.0]
    assert [a.text for a in figure.layout.annotations] == ["wave 1 1 s", "wave 2 3 s"]
    assert figure.layout.xaxis.title.text == "seconds after the calls ended"


def test_without_calls_that_ended_together_there_is_no_chart(herd: Herd) -> None:
    assert hops.picture_herd(replace(herd, ended=None, bins=(), waves=())) is None
