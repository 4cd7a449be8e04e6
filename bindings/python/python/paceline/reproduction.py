"""The papers' claims, measured with Paceline."""

from __future__ import annotations

import json
import os
from typing import Any, Sequence

from . import _native, _units
from ._text import html_table, text_table
from .frame import Frame

__all__ = ["Reproduction", "claims", "reproduce"]

_Path = str | os.PathLike[str]


class Reproduction(Frame):
    """A row for each claim; the columns are the fields of ``claims`` in ``paceline reproduce --json``
    (``docs/json.md``): ``id``, ``title``, ``expected``, ``measured``, ``verdict``, ``checks``, ..."""

    def __init__(self, native: _native.Reproduction) -> None:
        super().__init__(native.table())
        self._native = native

    @property
    def summary(self) -> str:
        """Number of reproduced claims, in a line."""
        return self._native.summary()

    @property
    def failures(self) -> list[tuple[str, str]]:
        """Runs that failed: name and reason."""
        return self._native.failures()

    @property
    def measures(self) -> dict[str, dict[str, float]]:
        """All figures of each experiment, by name."""
        return json.loads(self._native.json())["measures"]

    def to_json(self) -> str:
        """The JSON that ``paceline reproduce --json`` prints."""
        return self._native.json()

    def page(self) -> str:
        """The page of ``paceline reproduce -o``, as HTML."""
        return self._native.page()

    def to_markdown(self) -> str:
        """The page as Markdown."""
        return self._native.markdown()

    def __repr__(self) -> str:
        """Shows the number of reproduced claims, and each claim's verdict."""
        return text_table(self._shown(), self.summary)

    def _repr_html_(self) -> str:
        """Shows the table of ``print`` in a notebook."""
        return html_table(self._shown(), self.summary)

    def _shown(self) -> dict[str, list[str]]:
        return {name: [str(value or "") for value in self[name]] for name in ("id", "verdict", "title", "measured")}


def claims() -> Frame:
    """The claims: ``id``, ``paper``, ``place``, ``title``, ``setup``, ``experiment``, ``checks``.

    >>> import paceline
    >>> "A01" in paceline.claims()["id"]
    True
    """
    return Frame(_native.list_claims())


def reproduce(
    ids: str | Sequence[str] = (),
    *,
    quick: bool = False,
    traces: _Path | None = None,
    tables: _Path | None = None,
    trained: _Path | None = None,
    runs: int | None = None,
    causes: bool = False,
    seed: int = 1,
    output: _Path | None = None,
    threads: int = 0,
) -> Reproduction:
    """Measures claims, as ``paceline reproduce``.

    Args:
        ids: The claims, such as ``"A01"``; without any, all of them.
        quick: Shorter and fewer runs, which reproduce nothing.
        traces: The folder of recorded traces; without it synthetic ones are used, and no claim about
            recorded ones counts as reproduced.
        tables: The folder of published tables of rules for claims about Remy.
        trained: The folder of ``paceline remy studies``. Its tables are those trained here, and replace
            missing published ones. Built-in tables replace those that it lacks; ``"built-in"`` in place of a
            folder takes these only. With ``tables``, claims about Remy are measured a second time with
            these; the figures count in no verdict.
        runs: How often to run what the checks read, each time with other seeds and starts; without
            it 8, and 1 with ``quick``.
        causes: Also make the runs that only show why a claim fails. With ``ids`` they are made in any case.
        seed: The seed of all random numbers.
        output: A folder for finished runs, from which a reproduction that was stopped
            continues.
        threads: Number of runs in parallel; 0 for one per core.

    Raises:
        ValueError: If there is no such claim or folder.
        RunError: If a trace cannot be read.
    """
    path = lambda value: None if value is None else os.fspath(value)
    native = _native.measure_claims(
        ids=[str(one) for one in _units.several(ids)],
        quick=quick,
        traces=path(traces),
        tables=path(tables),
        trained=path(trained),
        runs=None if runs is None else _units.whole("runs", runs),
        causes=causes,
        seed=_units.whole("seed", seed),
        output=path(output),
        threads=_units.threads(threads),
    )
    return Reproduction(native)
