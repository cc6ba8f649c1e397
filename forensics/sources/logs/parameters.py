"""Values bound to a statement that is put together in pieces."""

from __future__ import annotations


class Parameters:
    """Values to bind. Text is written with marks; `finish` puts the values in the order the marks stand in."""

    def __init__(self) -> None:
        self._values: list[object] = []

    def bind(self, value: object) -> str:
        """A mark for the value."""
        self._values.append(value)
        return f"\x02{len(self._values) - 1}\x03"

    def finish(self, sql: str) -> tuple[str, list[object]]:
        """The text with ? for every mark, and the values in that order."""
        pieces = sql.split("\x02")
        text, values = [pieces[0]], []
        for piece in pieces[1:]:
            number, _, rest = piece.partition("\x03")
            values.append(self._values[int(number)])
            text.append("?" + rest)
        return "".join(text), values
