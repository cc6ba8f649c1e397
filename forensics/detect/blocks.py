"""Batches that ran twice: repeats that come in one block, in the order of the first time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise

from forensics.detect.rows import Judged

_FEWEST = 10
_SILENCE = timedelta(minutes=15)
_SHORTEST_US = 60_000_000


def rerun_blocks(repeats: Sequence[Judged]) -> set[tuple[int, int]]:
    """Repeats that are part of a rerun: many acts again, in the order of the first time, in one go.

    Retries do not keep that order for long over more than a minute; a person working down a list does: repeats by hand
    are not to be among the `repeats`.
    """
    far = [j for j in repeats if j.previous and (j.gap_us or 0) >= _SHORTEST_US]
    far.sort(key=lambda j: (j.row.created_at, j.row.source_id, j.row.line_no))
    found: set[tuple[int, int]] = set()
    block: list[Judged] = []
    for item in [*far, None]:
        if item is not None and (not block or item.row.created_at - block[-1].row.created_at <= _SILENCE):
            block.append(item)
            continue
        found |= _rerun(block)
        block = [item] if item is not None else []
    return found


def _rerun(block: Sequence[Judged]) -> set[tuple[int, int]]:
    """The members of a block whose offset is the common one, if the block keeps the order of the first time."""
    if len(block) < _FEWEST:
        return set()
    gaps = sorted(j.gap_us or 0 for j in block)
    middle = gaps[len(gaps) // 2]
    near = [j for j in block if abs((j.gap_us or 0) - middle) <= 0.35 * middle]
    firsts = [j.previous.created_at for j in near if j.previous]
    steps = list(pairwise(firsts))
    kept_order = sum(a <= b for a, b in steps)
    if len(near) < _FEWEST or kept_order < 0.8 * len(steps):
        return set()
    return {(j.row.source_id, j.row.line_no) for j in near}
