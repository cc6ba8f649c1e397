"""replay.csv: the plan to send dead letters again, and the journal of who did it. Nothing is sent by this tool."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from forensics.model import DeadLetter, DeadLetters, Source
from forensics.render import words
from forensics.render.export import neutral

COLUMNS = (
    *("place", "batch", "batch_size", "verdict", "message_id", "business_key", "queue", "family", "reason", "attempts"),
    *("first_failed_at", "last_failed_at", "why", "source", "line_no"),
    *("replayed_by", "replayed_at", "replayed_count", "effects_seen", "decision"),
)


def render_replay(found: DeadLetters, sources: Sequence[Source]) -> str:
    """Letters in the order to replay, batch by batch; those that are not to be replayed after them, without a batch.

    The last columns are the journal: who sent the batch, when, how many, and what was seen before the next one.
    """
    names = {s.source_id: s.name for s in sources}
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for place, letter in enumerate(found.letters, 1):
        source = names.get(letter.source_id, str(letter.source_id))
        writer.writerow([neutral(cell) for cell in _row(place, letter, found.batches, source)])
    return out.getvalue()


def _row(place: int, letter: DeadLetter, batches: Sequence[int], source: str) -> tuple[object, ...]:
    return (
        place if letter.batch else None,
        letter.batch,
        batches[letter.batch - 1] if letter.batch else None,
        letter.verdict,
        letter.message_id,
        letter.business_key,
        letter.queue,
        letter.family,
        letter.reason[:200] if letter.reason else None,
        letter.attempts,
        words.stamp(letter.first_failed_at) if letter.first_failed_at else None,
        words.stamp(letter.last_failed_at) if letter.last_failed_at else None,
        letter.why,
        source,
        letter.line_no,
        *("", "", "", "", ""),
    )
