"""Which legacy encoding a text is in that is no UTF-8: told by the letters that each of them would make of it."""

from __future__ import annotations

from collections.abc import Callable

_LATIN = frozenset("äöüÄÖÜßéÉèàâêîôûçÇñÑáíóúãõåÅæÆøØëïœ€£§°«»“”’–·ÀÁ¿¡")
_SINGLE_BYTE = ["cp1252", "cp1250", "cp1251"]
_LEAST = 0.6


def legacy_encoding(sample: bytes) -> str | None:
    """The encoding that a reader of this text, which is not clean UTF-8, would choose; None when it cannot be told.

    A log in UTF-8 holds a few hostile bytes; a table in CP949 holds thousands of bytes that are no UTF-8. The former
    stays UTF-8 with the odd bytes marked.
    """
    foreign = sum(b >= 0x80 for b in sample)
    if sample.decode("utf-8", errors="replace").count("\ufffd") <= foreign // 4:
        return "utf-8"
    if foreign < max(4, len(sample) // 2000):
        return None
    scores = {name: _score(sample, name, worth) for name, worth in _EAST_ASIAN.items()}
    best = max(scores, key=lambda name: scores[name])
    return best if scores[best] >= _LEAST else _single_byte(sample)


def _score(sample: bytes, encoding: str, worth: Callable[[str], float]) -> float:
    """Mean worth of the characters that are not ASCII; 0 where hardly all of the bytes are of the encoding."""
    text = sample.decode(encoding, errors="replace")
    letters = [c for c in text if c > "\x7f"]
    if not letters or letters.count("\ufffd") > 1 + len(letters) // 100:
        return 0.0
    return sum(worth(c) for c in letters) / len(letters)


def _worth_in_korean(letter: str) -> float:
    """Only the syllables of KS X 1001 are in daily use, and hardly a Chinese sign; Chinese read as CP949 has both."""
    if "\u4e00" <= letter <= "\u9fff":
        return -1.0
    return float("가" <= letter <= "힣" and len(letter.encode("euc_kr")) == 2)  # rare ones are spelt out in eight


def _worth_in_japanese(letter: str) -> float:
    if "\u3040" <= letter <= "\u30ff" or "\uff01" <= letter <= "\uff5e":
        return 1.0
    return 0.65 if "\u4e00" <= letter <= "\u9fff" or "\u3000" <= letter <= "\u303f" else 0.0


def _worth_in_chinese(letter: str) -> float:
    """Only the signs of GB 2312 are in daily use; Shift JIS read as GB 18030 gives the rest."""
    return 0.7 if "\u3000" <= letter <= "\u9fff" and letter.encode("gb2312", errors="ignore") else 0.0


_EAST_ASIAN = {
    "cp949": _worth_in_korean,
    "cp932": _worth_in_japanese,
    "euc_jp": _worth_in_japanese,
    "gb18030": _worth_in_chinese,
}


def _single_byte(sample: bytes) -> str | None:
    text = sample.decode("cp1252", errors="replace")
    if all(c <= "\x7f" or c in _LATIN for c in text):
        return "cp1252"
    from charset_normalizer import from_bytes

    found = from_bytes(sample[: 1 << 16], cp_isolation=_SINGLE_BYTE).best()
    return str(found.encoding) if found else None
