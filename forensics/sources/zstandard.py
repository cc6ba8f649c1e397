"""Zstandard as a stream of bytes: by Python itself from 3.14 on, else by the package zstandard, where installed."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from forensics.errors import EvidenceError

MAGIC = b"\x28\xb5\x2f\xfd"
_BLOCK = 1 << 12
"""Small, because a few bytes may unpack to many."""


@contextmanager
def open_zstd(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of a file that zstd packed.

    Raises:
        EvidenceError: nothing here can unpack it.
        OSError: the file is damaged.
        EOFError: it is cut off.
    """
    if sys.version_info >= (3, 14):
        zstd: Any = import_module("compression.zstd")
        error = zstd.ZstdError
        with _told(error), zstd.open(path) as file:
            yield file
        return
    if find_spec("zstandard") is None:
        raise EvidenceError(
            f"{path}: packed with Zstandard, which needs the package zstandard",
            "pip install zstandard; or unpack it with 'zstd -d' first",
        )
    zstandard: Any = import_module("zstandard")
    with _told(zstandard.ZstdError), path.open("rb") as packed:
        yield io.BufferedReader(_Frames(packed, zstandard.ZstdDecompressor()), 1 << 17)


@contextmanager
def _told(error: type[Exception]) -> Iterator[None]:
    try:
        yield
    except error as exc:
        raise OSError(str(exc)) from exc


class _Frames(io.RawIOBase):
    """The frames of a file one after another; the package's own reader takes a cut file for a whole one."""

    def __init__(self, packed: IO[bytes], decompressor: Any) -> None:
        self._packed = packed
        self._decompressor = decompressor
        self._frame: Any = None
        self._ready = b""

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """The next bytes, 0 at the end of the last frame."""
        while not self._ready:
            if self._frame is not None and self._frame.eof:
                rest, self._frame = self._frame.unused_data, None
            else:
                rest = b""
            block = rest or self._packed.read(_BLOCK)
            if not block:
                if self._frame is not None:
                    raise EOFError("the last frame is not complete")
                return 0
            self._frame = self._frame or self._decompressor.decompressobj()
            self._ready = self._frame.decompress(block)
        size = min(len(buffer), len(self._ready))
        buffer[:size], self._ready = self._ready[:size], self._ready[size:]
        return size
