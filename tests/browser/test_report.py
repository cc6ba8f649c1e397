"""The report in a real browser, without a network: plots are drawn, the page keeps its own rules, the sum is there."""

from __future__ import annotations

import html
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from forensics.amounts import money_words

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--enable-logging=stderr",
    "--virtual-time-budget=20000",
    "--window-size=1280,900",
)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A page after its scripts have run, and what the browser had to say."""

    dom: str
    log: str

    @property
    def text(self) -> str:
        """What a reader sees, white space folded."""
        without = re.sub(r"<(script|style)\b.*?</\1>", " ", self.dom, flags=re.DOTALL)
        return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", without)).split())

    @property
    def complaints(self) -> list[str]:
        """What the page itself was told: errors of its scripts, and breaches of its content security policy."""
        return [line for line in self.log.splitlines() if "CONSOLE" in line or "Content Security Policy" in line]


def draw(page: Path, profile: Path) -> Drawn:
    """Open a page with the network off."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.fail("chromium is missing: install it as .ci/run does (apt-get install chromium)", pytrace=False)
    command = [chromium, *FLAGS, f"--user-data-dir={profile}", "--dump-dom", page.resolve().as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, encoding="utf-8", errors="replace")
    assert done.returncode == 0, done.stderr[-2000:]
    return Drawn(done.stdout, done.stderr)


@pytest.fixture(scope="module")
def drawn(demo: Any, tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    return draw(demo.folder / "report.html", tmp_path_factory.mktemp("profile"))


def test_the_plots_are_drawn(drawn: Drawn) -> None:
    plots = re.findall(r'<svg class="main-svg"', drawn.dom)
    assert len(plots) >= 2
    assert '<g class="trace' in drawn.dom or 'class="bars"' in drawn.dom or 'class="point"' in drawn.dom


def test_the_page_breaks_no_rule_of_its_own_and_no_script_fails(drawn: Drawn) -> None:
    assert drawn.complaints == []


def test_the_page_asks_the_network_for_nothing(drawn: Drawn) -> None:
    assert "ERR_NAME_NOT_RESOLVED" not in drawn.log
    assert not re.findall(r"""<(?:script|img|link|iframe)\b[^>]*(?:src|href)=["'](?:https?:)?//""", drawn.dom)


def test_the_money_is_on_the_page(drawn: Drawn, demo: Any) -> None:
    amounts = demo.findings["payments"]["excess_amount"]
    assert amounts
    for currency, amount in amounts.items():
        assert f"{int(amount):,}" in drawn.text, money_words(amounts)
        assert currency in drawn.text


def test_a_breach_would_be_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    policy = "default-src 'none'; script-src 'none'"
    page.write_text(
        f'<!doctype html><meta http-equiv="Content-Security-Policy" content="{policy}"><script>alert(1)</script>',
        encoding="utf-8",
    )
    assert draw(page, tmp_path / "profile").complaints
