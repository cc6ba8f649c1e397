"""What a heading says that no list has as a whole: its words, and the column that they name together."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_LATIN = "\u0250"
"""Letters before it lose their accents; a kana without its marks is another kana."""
_LONE = str.maketrans({"ł": "l", "ø": "o", "ı": "i", "đ": "d", "æ": "ae", "œ": "oe"})
_PIECES = re.compile(r"[a-z]+|[0-9]+|[^\W_a-z0-9]+")
_OF_AN_ID = -0.1
"""A heading that says that it holds an id is preferred: cod_cliente before usuario."""
_DOUBT = 0.5
_NAMING = 4
"""Letters of the word that names a column where Latin words are written together: shorter ones are found anywhere."""


@dataclass(frozen=True, slots=True)
class _Spec:
    """What the words of a column's heading are."""

    needed: tuple[frozenset[str], ...]
    beside: tuple[tuple[str, frozenset[str]], ...]
    """Groups by name, those that say more first."""
    perhaps: frozenset[str]
    """Words that name the column when another column has taken what they rather mean."""


@cache
def _specs() -> tuple[Mapping[str, Mapping[str, _Spec]], frozenset[str], frozenset[str]]:
    """The columns by canonical table, the fillers, and every word of the file."""
    data = tomllib.loads((files("forensics.sources") / "data" / "heading_words.toml").read_text(encoding="utf-8"))
    groups = {name: frozenset(map(plain, words)) for name, words in data.pop("groups").items()}
    fillers = frozenset(map(plain, data.pop("fillers")))
    specs = {
        kind: {
            name: _Spec(
                tuple(groups[g] for g in spec["all"]),
                tuple((g, groups[g]) for g in spec["beside"]),
                frozenset().union(*(groups[g] for g in spec.get("perhaps", ()))),
            )
            for name, spec in columns.items()
        }
        for kind, columns in data.items()
    }
    return specs, fillers, fillers.union(*groups.values())


def plain(word: str) -> str:
    """A word without case, width and Latin accents: Código -> codigo, Währung -> wahrung."""
    folded = unicodedata.normalize("NFKC", word).casefold().translate(_LONE)
    return "".join(unicodedata.normalize("NFD", c)[0] if c < _LATIN else c for c in folded)


def split_words(heading: str) -> tuple[str, ...]:
    """The words of a heading: numPedido -> num, pedido; 결제금액 -> 결제, 금액; Bestelldatum -> bestell, datum."""
    apart = re.sub(r"(?<=[a-zß-ÿ0-9])(?=[A-Z])", " ", heading)
    known = _specs()[2]
    return tuple(part for piece in _PIECES.findall(plain(apart)) for part in _cut(piece, known))


def says_nothing(heading: str) -> bool:
    """Whether no word of a heading is known to mean anything, but that it holds an id."""
    specs, fillers, known = _specs()
    ids = next(group for name, group in specs["payments"]["order_id"].beside if name == "id")
    return not any(word in known - fillers - ids for word in split_words(heading) if not word.isdigit())


def _cut(piece: str, known: frozenset[str]) -> Sequence[str]:
    """A piece as the fewest known words that make it up; as it stands where none do, or where it is one."""
    if piece in known or piece.isdigit():
        return (piece,)
    best: list[Sequence[str] | None] = [(), *[None] * len(piece)]
    for end in range(1, len(piece) + 1):
        for start in range(end):
            before, word = best[start], piece[start:end]
            if before is not None and word in known and (best[end] is None or len(before) + 1 < len(best[end] or ())):
                best[end] = (*before, word)
    words = best[-1] or (piece,)
    return words if not piece.isascii() or max(map(len, words)) >= _NAMING else (piece,)


def name_by_words(headings: Iterable[str], kind: str) -> Mapping[str, str]:
    """Canonical column -> heading, each once, where the words of one heading name it better than those of others.

    Two headings that name it equally well leave it open: a wrong amount or order is worse than none.
    """
    specs, fillers, _ = _specs()
    offers = []
    for heading in headings:
        words = [w for w in split_words(heading) if w not in fillers]
        costs = ((name, _cost(words, spec)) for name, spec in specs.get(kind, {}).items())
        offers += [(cost, name, heading) for name, cost in costs if cost is not None]
    named: dict[str, str] = {}
    for cost, name, heading in sorted(offers, key=lambda offer: offer[0]):
        if name in named or heading in named.values():
            continue
        rivals = {h for c, n, h in offers if n == name and c == cost and h not in named.values()}
        if len(rivals) == 1:
            named[name] = heading
    return named


def _cost(words: Sequence[str], spec: _Spec) -> float | None:
    """How much else a heading says, later groups counting a little more; None when it does not name the column."""
    named = all(any(word in group for word in words) for group in spec.needed)
    doubtful = not named and any(word in spec.perhaps for word in words)
    if not named and not doubtful:
        return None
    cost = _DOUBT if doubtful else 0.0
    for word in words:
        if any(word in group for group in spec.needed) or word in spec.perhaps:
            continue
        place = next((n for n, (_, group) in enumerate(spec.beside) if word in group), None)
        if place is None:
            return None
        cost += _OF_AN_ID if spec.beside[place][0] == "id" else 1 + 0.1 * place
    return cost
