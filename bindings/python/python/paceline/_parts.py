"""Rows of a sweep in Parquet files of a thousand runs each, in a folder or at another address of fsspec."""

from __future__ import annotations

import io
import json
import os
import re
import time
import uuid
from typing import TYPE_CHECKING, Any, Iterable, Iterator, Mapping, NamedTuple

from . import _native
from .scenario import Label, Scenario, _Parsed

if TYPE_CHECKING:
    import pyarrow

__all__ = ["RUNS_OF_A_PART", "ArrowTable", "Job", "Labels", "Part", "Store", "jobs_of"]

#: Runs of a file.
RUNS_OF_A_PART = 1000

#: Name of a part's file.
_PART_NAME = re.compile(r"part-[0-9]{5,}\.parquet\Z")
#: Fact in a part's file: pairs of the number of a run and its key.
_KEYS = b"paceline.keys"
_VERSION = b"paceline.version"
#: File systems without folders, where `makedirs` could make a bucket.
_OBJECT_STORES = {"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oci", "oss", "r2"}
#: Least time between two writings of the rows of unfinished parts, in seconds, and as a multiple of the
#: time that the last one took.
_WRITE_INTERVAL_S = 1.0
_WRITE_SHARE = 20


class Job(NamedTuple):
    """A run of a sweep."""

    number: int
    #: Number of the run in its scenario, from 1 on.
    run: int
    scenario: _Parsed
    labels: dict[str, Label]


def jobs_of(scenarios: Iterable[Scenario]) -> Iterator[Job]:
    """Returns the runs of scenarios, one after the other."""
    number = 0
    for place, scenario in enumerate(scenarios):
        if not isinstance(scenario, Scenario):
            raise TypeError(f"scenarios[{place}]: expected a Scenario, not {type(scenario).__name__}")
        for run in range(1, scenario.runs + 1):
            yield Job(number, run, scenario._parsed, scenario._labels)
            number += 1


class Labels:
    """Columns of the labels of a sweep's scenarios. The first scenario decides on names and types."""

    def __init__(self) -> None:
        self._types: dict[str, type] | None = None

    def check(self, job: Job) -> None:
        """Checks the labels of a run.

        Raises:
            TypeError: If the first scenario has no label of this name, or one of another type.
        """
        if self._types is None:
            self._types = {name: type(value) for name, value in job.labels.items()}
            return
        for name, value in job.labels.items():
            expected = self._types.get(name)
            if expected is None:
                raise TypeError(f"run {job.number}: label {name!r}: the sweep's first scenario has none of this name")
            if type(value) is not expected and not (expected is float and type(value) is int):
                raise TypeError(
                    f"run {job.number}: label {name!r}: {value!r} is of the type {type(value).__name__}, and in "
                    f"the sweep's first scenario {expected.__name__}: a column has one type"
                )

    def add_to(self, table: pyarrow.Table, labels: Mapping[int, dict[str, Label]]) -> pyarrow.Table:
        """Returns a table of runs with the columns of their labels, after the name of the scenario."""
        import pyarrow

        arrow = {str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64(), bool: pyarrow.bool_()}
        jobs = table["job"].to_pylist()
        before = set(table.column_names)
        for place, (name, kind) in enumerate((self._types or {}).items(), start=2):
            values = pyarrow.array((labels[job].get(name) for job in jobs), arrow[kind], size=len(jobs))
            # As in the tables of `paceline sweep`.
            table = table.add_column(place, f"grid.{name}" if name in before else name, values)
        return table


class Part:
    """Rows of up to a thousand runs that follow each other."""

    def __init__(self, number: int) -> None:
        self.number = number
        #: Keys of all its runs that were read.
        self.keys: dict[int, str] = {}
        self.labels: dict[int, dict[str, Label]] = {}
        #: Runs without a result.
        self.missing: set[int] = set()
        #: Keys of the runs in its file, as the sweep found it.
        self.kept: dict[int, str] = {}
        #: Rows of its file as the sweep found it; ``None`` before they are needed.
        self.kept_rows: pyarrow.Table | None = None
        self.failed: set[int] = set()
        #: Rows that have come, without the columns of labels.
        self.tables: list[pyarrow.Table] = []
        #: True if its file lacks rows of it.
        self.is_changed = False
        #: True if all its runs were read.
        self.is_closed = False

    @property
    def name(self) -> str:
        """Name of its file."""
        return f"part-{self.number:05}.parquet"

    def expect(self, job: Job, key: str) -> bool:
        """Adds a run. Returns true if its file has the rows.

        Raises:
            ValueError: If the file has the rows of another run in its place.
        """
        kept = self.kept.get(job.number)
        if kept is not None and kept != key:
            raise ValueError(
                f"output: run {job.number} in {self.name} is of another sweep, of one whose controllers or files have "
                "changed, or of another version of Paceline: "
                "choose another folder, or add scenarios only at the end"
            )
        self.keys[job.number] = key
        self.labels[job.number] = job.labels
        if kept is None:
            self.missing.add(job.number)
        return kept is not None

    def add(self, table: pyarrow.Table) -> None:
        """Adds the rows of runs."""
        self.tables.append(table)
        self.is_changed = True

    @property
    def is_done(self) -> bool:
        """True if no further rows will come."""
        return self.is_closed and not self.missing

    def table(self, labels: Labels) -> pyarrow.Table:
        """Returns its rows, in the order of the runs."""
        import pyarrow

        rows = labels.add_to(pyarrow.concat_tables(self.tables), self.labels)
        if self.kept_rows is not None:
            rows = pyarrow.concat_tables([self.kept_rows.select(rows.column_names), rows])
        return rows.sort_by("job")


class Store:
    """The folder of a sweep's parts: any address of fsspec.

    Raises:
        ImportError: If the address needs a package that is not installed.
        ValueError: If fsspec does not know such addresses.
    """

    def __init__(self, output: str | os.PathLike[str]) -> None:
        import fsspec
        from fsspec.implementations.local import LocalFileSystem

        self.address = os.fspath(output)
        try:
            self._files, self._folder = fsspec.core.url_to_fs(self.address)
        except ImportError as error:
            raise ImportError(
                f"output: {self.address}: {error} (pip install, on the machine that calls sweep; workers need nothing)"
            ) from error
        except ValueError as error:
            raise ValueError(
                f"output: {self.address}: {error}; expected a folder or an address of fsspec, such as "
                "s3://bucket/folder"
            ) from error
        self._folder = self._folder.rstrip("/")
        self._is_local = isinstance(self._files, LocalFileSystem)
        protocols = self._files.protocol
        protocols = {protocols} if isinstance(protocols, str) else set(protocols)
        if not protocols & _OBJECT_STORES:
            self._files.makedirs(self._folder, exist_ok=True)
        try:
            names = [path.rstrip("/").rpartition("/")[2] for path in self._files.ls(self._folder, detail=False)]
        except FileNotFoundError:
            names = []
        self._found = {name for name in names if _PART_NAME.match(name)}
        self._written_at = time.monotonic()
        self._write_took = 0.0

    def find(self, part: Part) -> None:
        """Reads which runs the file of a part has.

        Raises:
            ValueError: If the file is none of a sweep.
        """
        import pyarrow
        import pyarrow.parquet

        if part.name not in self._found:
            return
        try:
            with self._files.open(self._path(part.name), "rb") as file:
                facts = pyarrow.parquet.read_schema(file).metadata or {}
        except pyarrow.ArrowInvalid:
            # It was damaged by a crash: its runs are made again.
            return
        if _KEYS not in facts:
            raise ValueError(
                f"output: {self._address(part.name)} is not of a sweep of paceline.cluster: choose another folder"
            )
        part.kept = dict(json.loads(facts[_KEYS]))

    def is_time_to_write(self) -> bool:
        """True if the rows of unfinished parts are to be written."""
        interval = max(_WRITE_INTERVAL_S, _WRITE_SHARE * self._write_took)
        return time.monotonic() - self._written_at > interval

    def write(self, part: Part, labels: Labels) -> None:
        """Writes all rows of a part that have come, if there are new ones."""
        import pyarrow.parquet

        if not part.is_changed:
            return
        before = time.monotonic()
        if part.kept and part.kept_rows is None:
            part.kept_rows = self.read(self._address(part.name))
        table = part.table(labels)
        finished = part.keys.keys() - part.missing - part.failed
        keys = part.kept | {job: part.keys[job] for job in finished}
        keys = json.dumps(sorted(keys.items())).encode()
        table = table.replace_schema_metadata({_VERSION: _native.__version__, _KEYS: keys})
        written = io.BytesIO()
        pyarrow.parquet.write_table(table, written)
        self._write(self._path(part.name), written.getvalue())
        part.is_changed = False
        self._written_at = time.monotonic()
        self._write_took = self._written_at - before

    def _write(self, path: str, content: bytes) -> None:
        """Writes a file so that at any time either the old or the new one exists."""
        if not self._is_local:
            # Object stores show a file when it is whole.
            self._files.pipe_file(path, content)
            return
        folder, _, name = path.rpartition("/")
        temporary = f"{folder}/.{name}.{uuid.uuid4().hex[:8]}"
        try:
            with open(temporary, "wb") as file:
                file.write(content)
            os.replace(temporary, path)
        finally:
            if os.path.exists(temporary):
                os.unlink(temporary)

    def read(self, address: str, columns: list[str] | None = None) -> pyarrow.Table:
        """Reads columns of a part, by default all."""
        import pyarrow.parquet

        with self._files.open(self._files._strip_protocol(address), "rb") as file:
            return pyarrow.parquet.read_table(file, columns=columns)

    def finish(self, part: Part, labels: Labels) -> str:
        """Writes a part whose runs have ended. Returns the address of its file.

        Raises:
            ValueError: If its file has runs that this sweep does not have.
        """
        further = part.kept.keys() - part.keys.keys()
        if further:
            raise ValueError(
                f"output: {self._address(part.name)} has run {min(further)} of another sweep; this one ends before: "
                "choose another folder"
            )
        self.write(part, labels)
        return self._address(part.name)

    def expect_no_more(self, parts: int) -> None:
        """Checks that the folder has no parts beyond this number of parts.

        Raises:
            ValueError: If there are such parts.
        """
        further = sorted(name for name in self._found if int(name[5:-8]) >= parts)
        if further:
            raise ValueError(
                f"output: {self._address(further[0])} is of another sweep; this one ends before: choose another folder"
            )

    def _path(self, name: str) -> str:
        return f"{self._folder}/{name}"

    def _address(self, name: str) -> str:
        path = self._path(name)
        return path if self._is_local else self._files.unstrip_protocol(path)


class ArrowTable:
    """A table of pyarrow with the methods of ``_native.Table`` that :class:`paceline.Frame` calls."""

    def __init__(self, table: pyarrow.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._table.schema.__arrow_c_schema__()

    def __len__(self) -> int:
        return self._table.num_rows

    @property
    def column_names(self) -> list[str]:
        return self._table.column_names

    def column(self, name: str) -> list[Any]:
        if name not in self._table.column_names:
            raise KeyError(name)
        return self._table[name].to_pylist()

    def flattened(self) -> ArrowTable:
        return self

    def first(self, rows: int) -> ArrowTable:
        return ArrowTable(self._table.slice(0, rows))
