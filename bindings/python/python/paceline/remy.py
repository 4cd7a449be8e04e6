"""RemyCC: tables of rules, their performance, and their training (``docs/remy.md``)."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Callable, Sequence

from . import _native, _units
from ._text import html_table
from .frame import Frame

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["RuleTable", "Training", "eval", "load", "show", "tables", "train"]

_Path = str | os.PathLike[str]


class RuleTable:
    """A table of rules: see :func:`load`."""

    def __init__(self, native: _native.RuleTable, name: str) -> None:
        self._native = native
        self.name = name
        """The name of the built-in table, or the file."""

    @property
    def about(self) -> str:
        """Description in its file."""
        return self._native.about

    @property
    def scheme(self) -> str:
        """The scheme that uses it, for :func:`paceline.compare` and scenarios."""
        kind = "table" if self.name in tables() else "file"
        return f"remy[{kind}={self.name}]"

    def __len__(self) -> int:
        return len(self._native)

    def to_toml(self) -> str:
        """The table in its readable form."""
        return self._native.to_toml()

    def rules(
        self,
        *,
        link: str = "15Mbps",
        rtt: _units.Time = "150ms",
        senders: int = 2,
        duration: _units.Time = "100s",
    ) -> Frame:
        """Its rules: ``rule``, how often each is used in a test run (``uses``, ``uses_share``), the
        ``memory`` to which it applies, and its ``action``, in words."""
        table = self._native.rules(
            link=link,
            rtt=_units.time("rtt", rtt),
            senders=_units.whole("senders", senders, 2**32 - 1),
            duration=_units.time("duration", duration),
        )
        return Frame(table)

    def __repr__(self) -> str:
        return f"<RuleTable {self.name!r}: {len(self)} rules>"


def tables() -> list[str]:
    """Returns the names of the built-in tables.

    >>> from paceline import remy
    >>> len(remy.load(remy.tables()[0])) > 0
    True
    """
    return _native.rule_tables()


def load(name: _Path) -> RuleTable:
    """Loads a built-in table by its name, or one from a file: readable TOML or JSON, or a published
    ``.dna``.

    Raises:
        ValueError: If it does not exist or is invalid; the message says why.
    """
    text = os.fspath(name)
    return RuleTable(_native.RuleTable.load(text), text)


def show(table: RuleTable | _Path, *, rules: int = 10, **trial: Any) -> str:
    """Describes a table in words: the begin of a connection, and the rules that are used most in a
    test run (arguments as for :meth:`RuleTable.rules`)."""
    table = table if isinstance(table, RuleTable) else load(table)
    rows = sorted(table.rules(**trial).to_dicts(), key=lambda row: -row["uses"])
    lines = [f"{table.name}: {len(table)} rules", table._native.beginning(), ""]
    for row in rows[:rules]:
        share = 100 * row["uses_share"]
        lines.append(f"rule {row['rule']} ({share:.1f} %): {row['memory']}: {row['action']}")
    return "\n".join(lines)


def _table_names(argument: str, tables: Any) -> list[str]:
    names = [table.name if isinstance(table, RuleTable) else table for table in _units.several(tables)]
    return [_units.link(argument, name) for name in names]


def _read_specification(argument: str, given: _Path) -> tuple[str, str, str | None]:
    """Returns the text of a specification, its name in messages, and the folder of its traces. A text
    has a line break in it; a file's name has none."""
    if not isinstance(given, (str, os.PathLike)):
        raise TypeError(f"{argument}: expected a file or its text, not {type(given).__name__}")
    text = os.fspath(given)
    if "\n" in text:
        return text, argument, None
    with open(text, encoding="utf-8") as file:
        return file.read(), text, os.path.dirname(os.path.abspath(text))


def eval(
    tables: RuleTable | _Path | Sequence[RuleTable | _Path] = (),
    *,
    schemes: str | Sequence[str] = (),
    on: _Path | None = None,
    link: _units.Link | None = None,
    rtt: _units.Time | None = None,
    senders: int | None = None,
    on_time: _units.Time | None = None,
    off_time: _units.Time | None = None,
    buffer: _units.Buffer | None = None,
    loss: float | None = None,
    jitter: _units.Time | None = None,
    resolution: _units.Time | None = None,
    spread: _units.Time | None = None,
    repairs: bool = False,
    duration: _units.Time | None = None,
    seeds: int = 3,
    seed: int = 1,
    threads: int = 0,
) -> Frame:
    """Evaluates tables and schemes over several seeds, as ``paceline remy eval``: a row for each.

    Args:
        tables: Tables: built-in names, files, or results of :func:`load`.
        schemes: Schemes for comparison.
        on: A specification, a file or its text (``docs/remy.md``), which gives the networks; then
            rows have ``score`` with a confidence interval, and none of the arguments from ``link`` to
            ``spread`` may be given. Without it there is one network:
        link: its capacity, by default 15 Mbit/s;
        rtt: its RTT without a queue, by default 150 ms;
        senders: number of senders, by default 2;
        on_time: mean time for which they are on, by default 5 s;
        off_time: mean time for which they are off, by default 5 s;
        buffer: limit of the link's queue, by default none;
        loss: share of packets lost behind the link, by default 0;
        jitter: mean of a random delay of each acknowledgement (exponential), by default 0;
        resolution: excess over the minimum RTT up to which an RTT counts as the minimum, for senders with
            tables; by default that of each table, which is 10 ns unless its file says otherwise;
        spread: offsets in the link's recording at which the runs start, by default 1 s apart.
        repairs: Senders with tables retransmit lost packets, and timeouts count.
        duration: Length of each run; 1000 s by default, or the specification's.
        seeds: Number of seeds.
        seed: The first seed.
        threads: Number of runs in parallel; 0 for one per core.

    Raises:
        ValueError: If an argument or the specification is invalid, or if an argument of the one network is
            given with ``on``.
    """
    network = {
        "link": link,
        "rtt": rtt,
        "senders": senders,
        "on_time": on_time,
        "off_time": off_time,
        "buffer": buffer,
        "loss": loss,
        "jitter": jitter,
        "resolution": resolution,
        "spread": spread,
    }
    if on is not None:
        for name, value in network.items():
            if value is not None:
                raise ValueError(f"{name}: the specification of `on` gives the networks: leave out one of both")
    common: dict[str, Any] = {
        "tables": _table_names("tables", tables),
        "schemes": [str(scheme) for scheme in _units.several(schemes)],
        "first_seed": _units.whole("seed", seed),
        "count": _units.whole("seeds", seeds, 2**32 - 1),
        "duration": None if duration is None else _units.time("duration", duration),
        "repairs": repairs,
        "threads": _units.threads(threads),
    }
    if on is not None:
        text, file, folder = _read_specification("on", on)
        return Frame(_native.evaluate_on(text=text, file=file, folder=folder, **common))
    return Frame(
        _native.evaluate_network(
            link=_units.link("link", "15Mbps" if link is None else link),
            rtt=_units.time("rtt", "150ms" if rtt is None else rtt),
            senders=_units.whole("senders", 2 if senders is None else senders, 2**32 - 1),
            on=_units.time("on_time", "5s" if on_time is None else on_time),
            off=_units.time("off_time", "5s" if off_time is None else off_time),
            buffer=_units.buffer("buffer", "inf" if buffer is None else buffer),
            loss=0.0 if loss is None else loss,
            jitter=_units.time("jitter", "0s" if jitter is None else jitter),
            resolution=None if resolution is None else _units.time("resolution", resolution),
            spread=_units.time("spread", "1s" if spread is None else spread),
            **common,
        )
    )


class Training:
    """Results of :func:`train`."""

    def __init__(self, table: str, log: list[str], report: str) -> None:
        self._table = table
        self._log = log
        self.report: dict[str, Any] = json.loads(report)
        """The fields of ``paceline remy train --json`` (``docs/json.md``)."""

    @property
    def score(self) -> float:
        """Score of the table on the networks drawn last."""
        return self.report["score"]

    @property
    def log(self) -> Frame:
        """A row for each step: ``step``, ``what``, ``generation``, ``rules``, ``score``, ``gain``,
        ``note``, ``spent``."""
        return Frame(_native.Table.from_json("[" + ",".join(self._log) + "]"))

    def to_toml(self) -> str:
        """The table in its readable form."""
        return self._table

    def save(self, path: _Path) -> RuleTable:
        """Writes the table into a file whose name ends in ``.toml``, and returns its path."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self._table)
        return load(path)

    def __repr__(self) -> str:
        report = self.report
        return (
            f"<Training: {report['rules']} rules after {report['generations']} generations, "
            f"score {report['score']:.3f}>"
        )

    def _repr_html_(self) -> str:
        return html_table({name: [value] for name, value in self.report.items()})


def train(
    specification: _Path,
    output: _Path | None = None,
    client: Client | None = None,
    *,
    generations: int | None = None,
    budget: _units.Time | None = None,
    cpu_hours: float | None = None,
    seed: int = 1,
    threads: int = 0,
    on_step: Callable[[dict[str, Any]], None] | None = None,
) -> Training:
    """Trains a table for a specification, as ``paceline remy train``. Equal specifications and seeds
    give equal tables, on any number of threads or workers, after any stop.

    Args:
        specification: Networks and objective of the training: a file, or its text (``docs/remy.md``).
        output: A folder that stores the training after each step. A training that has begun there
            continues; without a folder, nothing is stored.
        client: A Dask cluster whose workers try the tables: see :mod:`paceline.cluster`.
        generations: Stops after this number of generations, counted from the first.
        budget: Stops after this wall-clock time.
        cpu_hours: Stops after this many hours of processor time.
        seed: The seed.
        threads: Number of threads of this machine; 0 for all cores.
        on_step: Called after each step with its row of the log.

    Raises:
        ValueError: If the specification is invalid, or no limit is given.
        RunError: If the folder is that of another training, or cannot be used.
    """
    if generations is None and budget is None and cpu_hours is None:
        raise ValueError("the training has no end: give generations, budget or cpu_hours")
    if cpu_hours is not None and not cpu_hours >= 0:
        raise ValueError(f"cpu_hours: expected a number of hours, not {cpu_hours}")
    threads = _units.threads(threads)
    text, file, folder = _read_specification("specification", specification)
    report = None if on_step is None else (lambda line: on_step(json.loads(line)))
    ask = None
    if client is not None:
        from .cluster import remote_trials

        ask, threads = remote_trials(text, folder, client)
    done = _native.train(
        text=text,
        file=file,
        folder=folder,
        output=None if output is None else os.fspath(output),
        generations=None
        if generations is None
        else _units.whole("generations", generations, 2**32 - 1),
        budget=None if budget is None else _units.time("budget", budget),
        cpu_hours=cpu_hours,
        seed=_units.whole("seed", seed),
        threads=threads,
        ask=ask,
        report=report,
    )
    return Training(*done)
