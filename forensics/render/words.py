"""Numbers into words: money, durations, shares, times; and evidence into text that cannot do harm.

Nothing here looks anything up or computes a finding. Every function is pure and gives plain text.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal

from forensics.amounts import MINOR_DIGITS

_NO_CURRENCY = "XXX"
"""ISO 4217's own code for no currency: what `payments.currency` holds where the source names none."""
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
_SURE = (
    (0.99, "as good as certain"),
    (0.95, "very likely"),
    (0.8, "likely"),
    (0.6, "more likely than not"),
    (0.4, "a toss-up"),
    (0.0, "a guess"),
)


def count(value: int) -> str:
    """A whole number with thousands separators: '12,345'."""
    return f"{value:,}"


def amount(value: Decimal, currency: str) -> str:
    """Money without its currency: thousands separators, the currency's minor digits, and more where there are more."""
    digits = 0 if currency == _NO_CURRENCY else MINOR_DIGITS.get(currency, 2)
    plain = f"{abs(value):f}"
    whole, _, rest = plain.partition(".")
    rest = rest.rstrip("0").ljust(digits, "0")
    sign = "−" if value < 0 else ""
    return f"{sign}{int(whole):,}" + (f".{rest}" if rest else "")


def currency(code: str) -> str:
    """A currency as a reader should see it."""
    return "no currency" if code == _NO_CURRENCY else code


def money(amounts: Mapping[str, Decimal]) -> str:
    """Exact sums in a sentence, one for each currency: 'KRW 1,200 and USD 3.50'."""
    parts = [f"{currency(code)} {amount(amounts[code], code)}" for code in sorted(amounts)]
    if len(parts) < 2:
        return parts[0] if parts else "nothing"
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def ratio(value: float | None) -> str:
    """A factor: '×2.86'."""
    return "unknown" if value is None else f"×{value:,.2f}"


def share(value: float | None) -> str:
    """A share of a whole in percent; never rounded up to all or down to none."""
    if value is None:
        return "unknown"
    if value in (0, 1):
        return f"{value:.0%}"
    if 0 < value < 0.0005:
        return "<0.1%"
    if 0.9995 <= value < 1:
        return ">99.9%"
    return f"{100 * value:.1f}%"


def probability(value: float) -> str:
    """A probability as a number; never rounded up to 1 or down to 0."""
    if 0 < value < 0.005:
        return "<0.01"
    if 0.995 <= value < 1:
        return ">0.99"
    return f"{value:.2f}"


def sure(value: float) -> str:
    """A probability in words."""
    return next(word for least, word in _SURE if value >= least or least == 0.0)


def seconds(value: float) -> str:
    """A duration with two units at most: '0.25 s', '4 s', '2 min 5 s', '1 h 36 min'."""
    if value < 0:
        return f"−{seconds(-value)}"
    if value < 60:
        return f"{_short(value)} s"
    rest = round(value)
    at = next(i for i, (size, _) in enumerate(_UNITS) if rest >= size)
    (size, unit), (next_size, next_unit) = _UNITS[at], _UNITS[min(at + 1, len(_UNITS) - 1)]
    big, small = rest // size, rest % size // next_size
    return f"{big} {unit}" + (f" {small} {next_unit}" if small else "")


def _short(value: float) -> str:
    text = f"{value:.3f}".rstrip("0").rstrip(".")
    return text if text != "0" or value == 0 else f"{value:.2g}"


def waits(values: tuple[float, ...], most: int = 6) -> str:
    """Waits as a list with one unit: '1, 2, 4 s'."""
    shown = ", ".join(f"{v:.6g}" for v in values[:most])
    return f"{shown}{', …' if len(values) > most else ''} s"


def gap(value_us: int, resolution_us: int | None) -> str:
    """A gap, as fine as the clock of its source; in seconds below two minutes, so that gaps can be compared."""
    size = abs(value_us)
    if size >= 120_000_000:
        return seconds(value_us / 1e6)
    digits = 0 if (resolution_us or 1) >= 1_000_000 and size % 1_000_000 == 0 else 3
    if digits == 3 and (resolution_us or 1000) < 1000 and size < 1_000_000:
        digits = 6
    return f"{'−' if value_us < 0 else ''}{size / 1e6:.{digits}f} s"


def clock(at: datetime, resolution_us: int | None = None) -> str:
    """A time in UTC, ISO 8601 with a space, as fine as its source can tell: '2026-10-31 14:02:07.120'."""
    utc = at.astimezone(UTC)
    if resolution_us is None:
        resolution_us = 1_000_000 if utc.microsecond == 0 else 1000 if utc.microsecond % 1000 == 0 else 1
    timespec = "seconds" if resolution_us >= 1_000_000 else "milliseconds" if resolution_us >= 1000 else "microseconds"
    return utc.replace(tzinfo=None).isoformat(" ", timespec)


def stamp(at: datetime) -> str:
    """A time for machines: ISO 8601 with Z."""
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def iso(moment: datetime | None) -> str | None:
    """A time as ISO 8601 in UTC with Z; fractions only where there are any.

    >>> from datetime import UTC
    >>> iso(datetime(2026, 11, 30, 13, 26, 32, 471000, tzinfo=UTC))
    '2026-11-30T13:26:32.471Z'
    """
    if moment is None:
        return None
    moment = moment.astimezone(UTC) if moment.tzinfo else moment
    text = moment.isoformat(timespec="seconds")[:19]
    fraction = f"{moment.microsecond:06d}".rstrip("0")
    return f"{text}.{fraction.ljust(3, '0')}Z" if fraction else f"{text}Z"


def until(start: datetime, end: datetime) -> str:
    """The second time of a span: without the date where that is the same."""
    first, last = clock(start, 1_000_000), clock(end, 1_000_000)
    return last.partition(" ")[2] if first[:10] == last[:10] else last


def resolution(value_us: int | None) -> str:
    """How fine a clock is: 'seconds', 'milliseconds'."""
    names = {1: "microseconds", 1000: "milliseconds", 1_000_000: "whole seconds", 60_000_000: "whole minutes"}
    if value_us is None:
        return "not known"
    return names.get(value_us) or seconds(value_us / 1e6)


def label(key: str) -> str:
    """The name of a number in words: 'retry_share' -> 'retry share', 'gap_median_s' -> 'gap median'."""
    text = re.sub(r"_(s|us|share|ratio)$", lambda m: f" {m[1]}" if m[1] in ("share", "ratio") else "", key)
    return text.replace("_", " ").strip()


def number(value: float | int | str | None, key: str) -> str:
    """The value of a number, in the unit that the ending of its name tells."""
    if value is None:
        return "not known"
    if isinstance(value, str):
        return value
    if key.endswith("_us"):
        return seconds(value / 1e6)
    if key.endswith("_s"):
        return seconds(float(value))
    if key.endswith("_share") or key == "share":
        return share(float(value))
    if isinstance(value, float) and key.endswith("_ratio"):
        return ratio(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"


def clean(text: str, most: int = 400) -> str:
    """Evidence as text: cut where long, and what cannot be seen or turns the text around is spelled out."""
    cut = text if len(text) <= most else f"{text[: most - 1]}…"
    if cut.isprintable():
        return cut
    return "".join(c if c.isprintable() else _visible(c) for c in cut)


def clean_lines(text: str, most: int = 20_000) -> str:
    """The same for text of several lines."""
    cut = text if len(text) <= most else f"{text[: most - 1]}…"
    return "\n".join(clean(line, most) for line in cut.expandtabs(4).split("\n"))


def _visible(character: str) -> str:
    return {"\n": "⏎", "\r": "␍", "\t": "⇥", "\0": "␀"}.get(character) or f"\\u{{{ord(character):x}}}"


def anchor(prefix: str, text: str) -> str:
    """A fragment id for a name: itself where it is plain, else with a digest, so that it is the same in every run."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", text[:80]).strip("-")
    if plain == text:
        return f"{prefix}-{plain}"
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{prefix}-{plain[:40]}-{digest}".replace("--", "-")
