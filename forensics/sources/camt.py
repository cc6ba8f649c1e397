"""Bank statements as ISO 20022 XML (camt.052, camt.053, camt.054): entries as flat rows, named as the standard does.

A document type declaration is refused: statements have none, and every attack on an XML parser (entities that
multiply, entities that read files) begins with one. Fields as in ISO 20022, Bank-to-Customer Cash Management.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from pathlib import Path
from xml.parsers import expat

_BLOCK = 1 << 16
_DEEPEST = 200
_NO_REFERENCE = ("NOTPROVIDED", "NONREF", "NOREF")
_AROUND = {
    "GrpHdr/MsgId": "MsgId",
    "GrpHdr/CreDtTm": "CreDtTm",
    "Stmt/Id": "StmtId",
    "Rpt/Id": "StmtId",
    "Ntfctn/Id": "StmtId",
}
"""Of what stands around entries, what is kept."""

Row = dict[str, str | None]


def form_of(head: str) -> str | None:
    """camt.052 | camt.053 | camt.054, by the beginning of a text; None when it is no such statement."""
    if not head.lstrip().startswith("<"):
        return None
    named = re.search(r"camt\.05([234])|<(?:\w+:)?BkToCstmr(AcctRpt|Stmt|DbtCdtNtfctn)\b", head)
    if not named:
        return None
    return f"camt.05{named[1] or {'AcctRpt': '2', 'Stmt': '3'}.get(named[2], '4')}"


def read_entries(path: Path) -> Iterator[Row]:
    """One row an entry, or one a transaction where those of an entry add up to it.

    Raises:
        ValueError: the XML is broken or has a document type declaration; the message says which.
    """
    builder = _Builder()
    parser = expat.ParserCreate("utf-8")  # whatever the declaration says: the text was decoded before
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = builder.refuse
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    with path.open("rb") as file:
        try:
            while block := file.read(_BLOCK):
                parser.Parse(block, False)
                yield from builder.drain()
            parser.Parse(b"", True)
        except expat.ExpatError as exc:
            raise ValueError(str(exc)) from exc
    yield from builder.drain()


class _Element:
    """One element: its text, and its children in order."""

    __slots__ = ("children", "currency", "name", "text")

    def __init__(self, name: str, currency: str | None) -> None:
        self.name = name
        self.currency = currency
        self.text = ""
        self.children: list[_Element] = []

    def find(self, *path: str) -> _Element | None:
        """The first descendant on that path."""
        if not path:
            return self
        for child in self.children:
            if child.name == path[0] and (found := child.find(*path[1:])):
                return found
        return None

    def word(self, *path: str) -> str | None:
        """The text of the first descendant on that path; None when it is blank or says that there is none."""
        found = self.find(*path)
        text = " ".join(found.text.split()) if found else ""
        return text if text and text not in _NO_REFERENCE else None

    def all(self, name: str) -> Iterator[_Element]:
        """Every descendant of that name."""
        for child in self.children:
            if child.name == name:
                yield child
            yield from child.all(name)


class _Builder:
    """Builds one entry at a time; of what stands around it only the names of message and statement are kept."""

    def __init__(self) -> None:
        self._open: list[_Element] = []
        self._path: list[str] = []
        self._around: dict[str, str] = {}
        self._rows: list[Row] = []

    def refuse(self, *_: object) -> None:
        """A document type declaration."""
        raise ValueError("it has a DOCTYPE, which no bank statement has")

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """An element begins."""
        local = name.rsplit(":", 1)[-1]
        if len(self._path) > _DEEPEST:
            raise ValueError(f"its elements lie more than {_DEEPEST} deep")
        self._path.append(local)
        if local in ("Stmt", "Rpt", "Ntfctn") and not self._open:
            self._around.pop("StmtId", None)
        if self._open or local == "Ntry":
            element = _Element(local, attributes.get("Ccy"))
            if self._open:
                self._open[-1].children.append(element)
            self._open.append(element)

    def data(self, text: str) -> None:
        """Text goes on."""
        if self._open:
            self._open[-1].text += text
            return
        if key := _AROUND.get("/".join(self._path[-2:])):
            self._around[key] = self._around.get(key, "") + text.strip()

    def end(self, _: str) -> None:
        """An element ends."""
        self._path.pop()
        if self._open:
            element = self._open.pop()
            if not self._open:
                self._rows += _rows(element, self._around)

    def drain(self) -> Iterator[Row]:
        """The rows since the last call."""
        rows, self._rows = self._rows, []
        yield from rows


def _rows(entry: _Element, around: dict[str, str]) -> list[Row]:
    details = list(entry.all("TxDtls"))
    amounts = [detail.find("Amt") or detail.find("AmtDtls", "TxAmt", "Amt") for detail in details]
    total = entry.find("Amt")
    if len(details) > 1 and total and _add_up(amounts, total):
        return [_row(entry, detail, amount, around) for detail, amount in zip(details, amounts, strict=True) if amount]
    return [_row(entry, details[0] if len(details) == 1 else None, total, around)]


def _add_up(amounts: list[_Element | None], total: _Element) -> bool:
    try:
        parts = [Decimal(part.text.strip()) for part in amounts if part and part.currency == total.currency]
        return len(parts) == len(amounts) and sum(parts) == Decimal(total.text.strip())
    except InvalidOperation:
        return False


def _row(entry: _Element, detail: _Element | None, amount: _Element | None, around: dict[str, str]) -> Row:
    one = detail or _Element("TxDtls", None)
    mark = (one.word("CdtDbtInd") if amount is not entry.find("Amt") else None) or entry.word("CdtDbtInd")
    references = {name: one.word("Refs", name) for name in ("EndToEndId", "TxId", "InstrId", "UETR", "PmtInfId")}
    return {
        "Amt": amount.text.strip() if amount else None,
        "Ccy": amount.currency if amount else None,
        "CdtDbtInd": mark,
        "Sts": entry.word("Sts", "Cd") or entry.word("Sts"),
        "RvslInd": entry.word("RvslInd"),
        "BookgDt": _moment(entry, "BookgDt"),
        "ValDt": _moment(entry, "ValDt"),
        "CreDtTm": around.get("CreDtTm"),
        **references,
        "PmtInfId": references["PmtInfId"] or entry.word("NtryDtls", "Btch", "PmtInfId"),
        "BtchMsgId": entry.word("NtryDtls", "Btch", "MsgId"),
        "AcctSvcrRef": one.word("Refs", "AcctSvcrRef") or entry.word("AcctSvcrRef"),
        "NtryRef": entry.word("NtryRef"),
        "Ustrd": " ".join(part.text.strip() for part in one.all("Ustrd"))
        or one.word("RmtInf", "Strd", "CdtrRefInf", "Ref"),
        "StmtId": around.get("StmtId"),
        "MsgId": around.get("MsgId"),
    }


def _remittance(detail: _Element) -> str | None:
    """What the payer wrote: the creditor's reference, else free text."""
    text = " ".join(part.text.strip() for part in detail.all("Ustrd"))
    return detail.word("RmtInf", "Strd", "CdtrRefInf", "Ref") or text or None


def _moment(entry: _Element, name: str) -> str | None:
    """A date or a time; of a fraction of a second no more than microseconds."""
    text = entry.word(name, "DtTm") or entry.word(name, "Dt")
    return re.sub(r"(\.\d{6})\d+", r"\1", text) if text else None
