"""The facade: a case on disk, what goes into it, and every question that can be asked of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from forensics import store
from forensics.detect import business_key, duplicates
from forensics.detect.options import ScanOptions
from forensics.errors import UsageError
from forensics.model import Refused, Scan, Source
from forensics.runner import Result, Runner
from forensics.sources.load import Loaded, load_files
from forensics.sources.options import Options
from forensics.sources.urls import Url

if TYPE_CHECKING:
    from forensics.render.html import ReportMeta


class Case:
    """One case: a DuckDB file that holds evidence, and is read through a locked connection."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._runner: Runner | None = None
        self._close: Callable[[], None] | None = None

    @classmethod
    def open(cls, path: Path | str) -> Case:
        """An existing case, to be read.

        Raises:
            CaseError: there is none, or it cannot be opened.
        """
        case = cls(path)
        case._reader()
        return case

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        if self._close:
            self._close()
        self._runner = self._close = None

    def load(
        self,
        paths: Sequence[Path | str | Url],
        options: Options | None = None,
        progress: Callable[[str], None] = lambda _: None,
    ) -> Loaded:
        """Load evidence; the case is made when there is none. What cannot be used is in `refused`, with its reason.

        A case that would hold nothing is not made.

        Raises:
            CaseError: the case cannot be opened.
            UsageError: options that mean nothing.
        """
        self.close()
        is_new = not self.path.exists()
        connection = store.open_for_loading(self.path)
        loaded = None
        try:
            loaded = load_files(connection, paths, options or Options(), progress)
        finally:
            connection.close()
            if is_new and not (loaded and loaded.sources):
                self.path.unlink(missing_ok=True)
        return loaded

    def query(self, name: str, /, **parameters: Any) -> Result:
        """Run one query of the packs; parameters not given take their defaults."""
        return self._reader().run(name, **parameters)

    def name_acts(self, columns: tuple[str, ...]) -> None:
        """Let the queries that follow name business acts by these columns of the ledger, as a scan does by its key.

        Raises:
            UsageError: no row of the ledger has all of them.
        """
        business_key.settle_key(self._reader(), self.sources(), columns, None)

    def order(self, order_id: str) -> Result:
        """One order's life: every row of any table that names it, in time order.

        Raises:
            UsageError: nothing in the case names the order.
        """
        life = self._reader().run("case/order_life", order_id=order_id)
        if not len(life):
            raise UsageError(
                f"nothing in the case names the order {order_id!r}", "order ids are matched whole and exactly"
            )
        return life

    def sources(self) -> tuple[Source, ...]:
        """The evidence files of the case, in order of loading."""
        return tuple(_source(record) for record in self._reader().run("case/sources").records())

    def scan(self, options: ScanOptions | None = None, refused: Sequence[Refused] = ()) -> Scan:
        """Ask every question that has evidence."""
        from forensics.scan import Scanner  # with its arrays slow to import, and only this needs it

        return Scanner(self._reader(), self.sources(), options or ScanOptions()).scan(self.path.stem, tuple(refused))

    def _reader(self) -> Runner:
        if self._runner is None:
            connection = store.open_for_reading(self.path)
            self._close = connection.close
            self._runner = Runner(connection)
        return self._runner


def _source(record: dict[str, Any]) -> Source:
    cells = dict(record)
    cells["mapping"] = json.loads(cells["mapping"] or "{}")
    cells["notes"] = tuple(cells["notes"].split("\n")) if cells["notes"] else ()
    return Source(**cells)


def write_reports(scan: Scan, folder: Path, meta: ReportMeta) -> Path:
    """Write the report, findings.json and the CSV files (replay.csv where there are dead letters).

    Raises:
        UsageError: the folder cannot be written.
    """
    from forensics.render import export, finance, html, replay  # with their templates slow to import

    refundable = [r for r in scan.rows if duplicates.is_refundable(r, scan.refund_confidence)]
    doubtful = [r for r in scan.rows if duplicates.needs_review(r, scan.refund_confidence)]
    doubtful += scan.second_checkouts.suspects if scan.second_checkouts else ()
    texts = {
        "findings.json": export.render_findings(scan, meta.tool_version),
        "duplicates.csv": export.render_duplicates(scan),
        "refunds.csv": finance.render_refunds(scan, refundable),
        "review.csv": finance.render_review(scan, doubtful),
        "report.html": html.render_report(scan, meta),
    }
    if scan.dead_letters:
        texts["replay.csv"] = replay.render_replay(scan.dead_letters, scan.sources)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8", newline="\n", errors="replace")
    except OSError as exc:
        raise UsageError(f"--out {folder}: cannot be written: {exc.strerror}", "name another folder") from exc
    return folder / "report.html"
