"""Gaps as arrays: groups laid out in rows, thinned and binned alike on every run, ready for the likelihood."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain as joined

import numpy as np
from numpy.typing import NDArray

from forensics.analysis.chain import GapTable, gap_table

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
LONGEST = 10  # gaps per row; longer groups go on in another row


@dataclass(frozen=True, slots=True, eq=False)
class GapRows:
    """All gaps of a cohort, microseconds, -1 after the end of a row."""

    gaps_us: Ints
    """Shape (M, L)."""
    group: Ints
    """Shape (M,): number of the group each row belongs to."""
    lengths: Ints
    """Shape (number of groups,): gaps per group as given."""
    resolution_s: float


def gap_rows(groups: Sequence[Sequence[int]], resolution_us: int) -> GapRows:
    """Lay groups out in rows of at most LONGEST gaps; the sign of a gap is dropped (clocks may swap two rows)."""
    lengths = np.fromiter(map(len, groups), dtype=np.int64, count=len(groups))
    flat = np.abs(np.fromiter(joined.from_iterable(groups), dtype=np.int64, count=int(lengths.sum())))
    owner = np.repeat(np.arange(len(lengths)), lengths)
    place = np.arange(len(flat)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    rows_per_group = -(-lengths // LONGEST)
    row = (np.cumsum(rows_per_group) - rows_per_group)[owner] + place // LONGEST
    width = int(min(LONGEST, lengths.max(initial=1)))
    laid = np.full((int(rows_per_group.sum()), max(width, 1)), -1, dtype=np.int64)
    laid[row, place % LONGEST] = flat
    return GapRows(laid, np.repeat(np.arange(len(lengths)), rows_per_group), lengths, resolution_us / 1e6)


def grain_us(groups: Sequence[Sequence[int]]) -> int:
    """The power of ten, at most a tenth of a second, that divides every gap: numbers typed by hand are that coarse."""
    grain = 100_000
    for gap in joined.from_iterable(groups):
        while grain > 1 and gap % grain:
            grain //= 10
        if grain == 1:
            break
    return grain


def thinned(rows: GapRows, most: int) -> Ints:
    """At most `most` rows, the same ones on every run; drawn, not spaced, since evidence may have a period."""
    total = len(rows.gaps_us)
    if total <= most:
        return rows.gaps_us
    return rows.gaps_us[np.sort(np.random.default_rng(total).choice(total, most, replace=False))]


def table_of(gaps_us: Ints, resolution_s: float, relative: float = 0.0) -> GapTable:
    """Distinct gaps and distinct rows, each once; bins of 2 ms (or one stamp), or `relative` of a gap where wider."""
    inside = gaps_us >= 0
    binned = _binned(gaps_us[inside], resolution_s, relative)
    values, which = np.unique(binned, return_inverse=True)
    index = np.full(gaps_us.shape, -1, dtype=np.int64)
    index[inside] = which
    distinct, count = np.unique(index, axis=0, return_counts=True)
    return gap_table(values / 1e6, distinct, count.astype(np.float64), resolution_s)


def numbered(gaps_us: Ints, resolution_s: float, relative: float) -> tuple[Floats, Ints]:
    """Distinct binned gaps in seconds, and for each gap of the rows its number (-1 after the end)."""
    inside = gaps_us >= 0
    values, which = np.unique(_binned(gaps_us[inside], resolution_s, relative), return_inverse=True)
    index = np.full(gaps_us.shape, -1, dtype=np.int64)
    index[inside] = which
    return values / 1e6, index


def _binned(gaps_us: Ints, resolution_s: float, relative: float) -> Ints:
    width = max(2000, round(resolution_s * 1e6))
    if relative == 0:
        return gaps_us if resolution_s * 1e6 >= 2000 else (gaps_us + width // 2) // width * width
    widths = np.maximum(width, 2.0 ** np.floor(np.log2(np.maximum(gaps_us * relative, 1.0)))).astype(np.int64)
    return np.asarray((gaps_us + widths // 2) // widths * widths)
