"""From a path to clean text: containers, encodings, bytes that no text has, and how a line is counted."""

from __future__ import annotations

import bz2
import codecs
import gzip
import hashlib
import io
import lzma
import sys
import zipfile
from pathlib import Path

import pytest
import zstandard

from forensics.errors import EvidenceError, UnrecognisedError
from forensics.sources.evidence import Evidence, prepare

KOREAN = "주문번호,결제일시,결제금액,상태\n" + "".join(
    f"주문-{n},2026-03-14 09:26:{n:02},39800,결제완료\n" for n in range(40)
)
JAPANESE = "注文番号,決済日時,金額,状態\n" + "".join(
    f"注文-{n},2026/03/14 09:26:{n:02},3980,支払済み\n" for n in range(40)
)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def _prepared(work: Path, content: bytes, name: str = "ledger.csv") -> Evidence:
    path = work.parent / name
    path.write_bytes(content)
    return prepare(path, work)


def _text(evidence: Evidence) -> str:
    return evidence.readable.read_bytes().decode("utf-8")


def _zip(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def test_the_hole_that_a_rotation_leaves_before_a_line_is_no_text(work: Path) -> None:
    evidence = _prepared(work, bytes(4096) + b"first\n" + bytes(512) + b"second\nwith \x00 inside\n")
    assert (_text(evidence), evidence.lines) == ("first\nsecond\nwith \ufffd inside\n", 3)


# What is no evidence --------------------------------------------------------------------------------------------


def test_a_missing_file_is_told_with_the_name_it_may_have_meant(work: Path) -> None:
    (work.parent / "payments.csv").write_text("a")
    with pytest.raises(EvidenceError) as caught:
        prepare(work.parent / "paymets.csv", work)
    assert "paymets.csv: there is no such file" in caught.value.message
    assert caught.value.hint == f"did you mean {work.parent / 'payments.csv'}?"


def test_a_missing_file_in_a_missing_folder_has_nothing_near(work: Path) -> None:
    with pytest.raises(EvidenceError, match="there is no such file") as caught:
        prepare(work / "nowhere" / "x.csv", work)
    assert caught.value.hint == "check the path"


def test_an_empty_file_is_evidence_of_nothing(work: Path) -> None:
    with pytest.raises(EvidenceError, match=r"ledger\.csv: the file is empty"):
        _prepared(work, b"")


def test_a_file_that_unpacks_to_nothing_is_empty_too(work: Path) -> None:
    with pytest.raises(EvidenceError, match=r"ledger\.csv\.gz: the file is empty once unpacked"):
        _prepared(work, gzip.compress(b""), "ledger.csv.gz")


@pytest.mark.parametrize(
    ("content", "seen", "todo"),
    [
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "a PDF document", "export the table behind it as CSV"),
        (b"\x89PNG\r\n\x1a\n" + bytes(20), "a PNG picture", "not a picture of it"),
        (b"\xff\xd8\xff\xe0" + bytes(20), "a JPEG picture", "not a picture of it"),
        (b"SQLite format 3\x00" + bytes(84), "a SQLite database", "--table payments"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(20), "an old Excel or Word file", "save it as .xlsx or CSV"),
        (b"\x7fELF" + bytes(20), "a program", "give a table or a log"),
        (bytes(range(8)) * 4 + bytes(400), "binary data", "export it in one of these forms"),
    ],
)
def test_what_is_neither_table_nor_log_is_named_and_refused(work: Path, content: bytes, seen: str, todo: str) -> None:
    with pytest.raises(UnrecognisedError) as caught:
        _prepared(work, content, "evidence.bin")
    assert "evidence.bin" in caught.value.message
    assert seen in caught.value.message
    assert "\n" not in caught.value.message
    assert todo in str(caught.value.hint)


# Containers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("packed", "container"),
    [
        (gzip.compress(b"a,b\n1,2\n"), "gzip"),
        (bz2.compress(b"a,b\n1,2\n"), "bzip2"),
        (lzma.compress(b"a,b\n1,2\n"), "xz"),
        (zstandard.compress(b"a,b\n1,2\n"), "zstd"),
        (zstandard.compress(b"a,b\n") + zstandard.compress(b"1,2\n"), "zstd"),
        (_zip({"ledger.csv": b"a,b\n1,2\n"}), "zip"),
        (_zip({"ledger.csv": b"a,b\n1,2\n", "__MACOSX/._ledger.csv": b"\x00\x05\x16\x07"}), "zip"),
    ],
)
def test_packed_text_is_unpacked_and_said_to_be(work: Path, packed: bytes, container: str) -> None:
    evidence = _prepared(work, packed, "ledger.packed")
    assert _text(evidence) == "a,b\n1,2\n"
    assert evidence.notes == (f"unpacked from {container}",)
    assert evidence.sha256 == hashlib.sha256(packed).hexdigest()


def test_a_zip_of_two_files_is_not_guessed_at(work: Path) -> None:
    with pytest.raises(EvidenceError, match=r"both\.zip: a zip archive with 2 files, expected one") as caught:
        _prepared(work, _zip({"a.csv": b"a", "b.csv": b"b"}), "both.zip")
    assert caught.value.hint == "unpack it and name the files"


def test_an_encrypted_zip_is_refused_in_one_sentence(work: Path) -> None:
    packed = bytearray(_zip({"a.csv": b"a,b\n1,2\n"}))
    packed[6] |= 1  # general purpose flag of the local header: encrypted
    directory = packed.index(b"PK\x01\x02")
    packed[directory + 8] |= 1
    with pytest.raises(EvidenceError, match=r"a\.zip: the archive cannot be opened: .*(encrypted|password)"):
        _prepared(work, bytes(packed), "a.zip")


@pytest.mark.parametrize("cut", [gzip.compress, bz2.compress, lzma.compress, zstandard.compress])
def test_a_packed_file_that_is_cut_off_is_refused(work: Path, cut: object) -> None:
    assert callable(cut)
    packed = cut(hashlib.sha256(b"noise").hexdigest().encode() * 400)
    with pytest.raises(EvidenceError, match=r"cut\.gz: the file cannot be read to its end") as caught:
        _prepared(work, packed[: len(packed) * 2 // 3], "cut.gz")
    assert "cut off" in str(caught.value.hint)


def test_zstandard_that_is_damaged_is_refused(work: Path) -> None:
    packed = zstandard.compress(hashlib.sha256(b"noise").hexdigest().encode() * 400)
    with pytest.raises(EvidenceError, match=r"a\.zst: the file cannot be read to its end"):
        _prepared(work, packed[:6] + b"\xff" * 20 + packed[26:], "a.zst")


def test_zstandard_without_its_package_is_refused_in_one_sentence(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 13))
    monkeypatch.setattr("forensics.sources.zstandard.find_spec", lambda _: None)
    with pytest.raises(EvidenceError) as caught:
        _prepared(work, zstandard.compress(b"a,b\n1,2\n"), "a.zst")
    assert caught.value.message.endswith("a.zst: packed with Zstandard, which needs the package zstandard")
    assert caught.value.hint == "pip install zstandard; or unpack it with 'zstd -d' first"


# Encodings ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "encoding", "told"),
    [
        (KOREAN, "utf-8", "utf-8"),
        (KOREAN, "utf-8-sig", "utf-8-sig"),
        (KOREAN, "utf-16", "utf-16"),
        (KOREAN, "cp949", "cp949"),
        (JAPANESE, "cp932", "cp932"),
        ("Café;Größe;naïve;€\n" * 20, "cp1252", "cp1252"),
        ("Bestellnr;Währung\n1;EUR\n", "latin-1", "cp1252"),
        (JAPANESE, "euc_jp", "euc_jp"),
        ("注文番号,金額,状態\n" + "A-1,3980,済\n" * 20, "cp932", "cp932"),
        ("订单号,金额,支付时间,状态\n" + "订单,39.80,2026-03-14 09:26:53,支付成功\n" * 20, "gb18030", "gb18030"),
        ("Číslo objednávky;Částka;Měna;Stav\n" + "1;500,00;Kč;zaplaceno včera, děkujeme\n" * 20, "cp1250", "cp1250"),
        ("Заказ;Сумма;Валюта;Статус\n" + "1;500,00;рубли;оплачено вчера\n" * 20, "cp1251", "cp1251"),
    ],
)
def test_text_in_any_usual_encoding_reads_the_same(work: Path, text: str, encoding: str, told: str) -> None:
    evidence = _prepared(work, text.encode(encoding))
    assert _text(evidence) == text
    assert evidence.encoding == told
    assert evidence.notes == ()


def test_utf_16_of_the_other_byte_order_is_read_by_its_mark(work: Path) -> None:
    evidence = _prepared(work, codecs.BOM_UTF16_BE + KOREAN.encode("utf-16-be"))
    assert _text(evidence) == KOREAN


def test_clean_utf_8_is_read_where_it_lies(work: Path) -> None:
    evidence = _prepared(work, KOREAN.encode())
    assert evidence.readable == evidence.path


def test_one_hostile_byte_does_not_turn_a_utf_8_log_into_mojibake(work: Path) -> None:
    evidence = _prepared(work, "GET /검색?q=커피 200\n".encode() * 20 + b"GET /\xff\xfe 400\n")
    assert "/검색?q=커피" in _text(evidence)
    assert evidence.encoding == "utf-8"
    assert evidence.notes == ("2 characters that no utf-8 text has are shown as U+FFFD",)


def test_an_encoding_that_shows_late_is_still_found(work: Path) -> None:
    plain = "ORD-1,2026-03-14 09:26:53,39800,ok\n" * 9000  # more than a quarter of a megabyte of ASCII
    evidence = _prepared(work, plain.encode() + KOREAN.encode("cp949") * 20)
    assert _text(evidence) == plain + KOREAN * 20
    assert evidence.encoding == "cp949"


@pytest.mark.parametrize("odd", ["\x00", "\x1f"])
def test_bytes_that_no_text_has_are_replaced_and_counted(work: Path, odd: str) -> None:
    evidence = _prepared(work, f"a,b\n1,x{odd}{odd}y\n".encode())
    assert _text(evidence) == "a,b\n1,x\ufffd\ufffdy\n"
    assert evidence.notes == ("2 characters that no utf-8 text has are shown as U+FFFD",)


# Lines ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a,b\n1,2\n", 2),
        ("a,b\n1,2", 2),
        ("a,b\r\n1,2\r\n", 2),
        ("a,b\r\n1,2", 2),
        ("a,b\n\n\n", 3),
        ("\n", 1),
        ("a", 1),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_the_last_line_counts_whether_or_not_it_is_ended(work: Path, text: str, lines: int, encoding: str) -> None:
    assert _prepared(work, text.encode(encoding)).lines == lines


def test_lines_that_end_in_a_carriage_return_alone_are_lines(work: Path) -> None:
    evidence = _prepared(work, b"a,b\r1,2\r3,4\r")
    assert _text(evidence) == "a,b\n1,2\n3,4\n"
    assert evidence.lines == 3


@pytest.mark.parametrize(("text", "quotes"), [('a,"b"\n', True), ("a,'b'\n", False)])
def test_whether_there_are_quotes_is_known(work: Path, text: str, quotes: bool) -> None:
    assert _prepared(work, text.encode()).has_quotes is quotes
