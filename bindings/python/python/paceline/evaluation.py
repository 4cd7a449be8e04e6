"""The IETF's criteria and test cases, answered for schemes and classes."""

from __future__ import annotations

import hashlib
import inspect
import os
import secrets
from collections import Counter
from typing import Any, Callable, Sequence

from . import _native, _units
from ._text import html_table, range_cell, text_table
from .controller import Controller, names_and_classes
from .frame import Frame

__all__ = ["Evaluation", "evaluate"]

_Path = str | os.PathLike[str]


class Evaluation(Frame):
    """A row for each criterion and scheme; the columns are the fields of ``criteria`` in ``paceline
    evaluate --json`` (``docs/json.md``): ``id``, ``question``, ``median``, ``verdict``, ``answer``, ..."""

    def __init__(self, native: _native.Evaluation) -> None:
        super().__init__(native.table())
        self._native = native

    @property
    def failures(self) -> list[tuple[str, str]]:
        """Runs that failed: name and reason."""
        return self._native.failures()

    def to_json(self) -> str:
        """The JSON that ``paceline evaluate --json`` prints."""
        return self._native.json()

    def page(self, command: str = "") -> str:
        """The page of ``paceline evaluate -o``, as HTML; ``command`` stands at its end."""
        return self._native.page(command)

    def to_pdf(self, command: str = "") -> bytes:
        """The report on A4 paper, as a PDF file that can be attached to a draft."""
        return self._native.pdf(command)

    def to_markdown(self, command: str = "") -> str:
        """The report as Markdown; ``command`` stands at its beginning."""
        return self._native.markdown(command)

    def save(self, folder: _Path, command: str = "") -> None:
        """Writes ``index.html``, ``report.pdf``, ``report.md`` and ``report.json`` into a folder."""
        os.makedirs(folder, exist_ok=True)
        files = {
            "index.html": self.page(command).encode(),
            "report.pdf": self.to_pdf(command),
            "report.md": self.to_markdown(command).encode(),
            "report.json": self.to_json().encode() + b"\n",
        }
        for name, content in files.items():
            with open(os.path.join(folder, name), "wb") as file:
                file.write(content)

    def __repr__(self) -> str:
        """Shows each criterion's figure (median, 5th to 95th percentile over the runs) and verdict."""
        caption, columns = self._shown()
        return text_table(columns, caption)

    def _repr_html_(self) -> str:
        """Shows the table of ``print`` in a notebook."""
        caption, columns = self._shown()
        return html_table(columns, caption)

    def _shown(self) -> tuple[str, dict[str, list[str]]]:
        rows = self.to_dicts()
        verdicts = Counter(row["verdict"] for row in rows if row["verdict"])
        counted = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
        schemes = ", ".join(dict.fromkeys(row["scheme"] for row in rows))
        columns = {
            "criterion": [row["id"] for row in rows],
            "scheme": [row["scheme"] for row in rows],
            "figure": [range_cell(row) for row in rows],
            "unit": [row["unit"] for row in rows],
            "verdict": [row["verdict"] or "" for row in rows],
            "what": [row["figure"] or "" for row in rows],
        }
        return f"{schemes}: {counted or f'{len(rows)} answers'}", columns


def evaluate(
    schemes: str | type[Controller] | Sequence[str | type[Controller]],
    *,
    cases: str = "rfc9743",
    only: str | Sequence[str] = (),
    quick: bool = False,
    runs: int | None = None,
    seed: int = 1,
    output: _Path | None = None,
    threads: int = 0,
    progress: Callable[[float, str], Any] | None = None,
) -> Evaluation:
    """Answers the IETF's questions about congestion controls, as ``paceline evaluate``.

    Args:
        schemes: Schemes as on the command line, and subclasses of :class:`paceline.Controller`.
        cases: The documents that ask, separated by commas: ``"rfc9743"``, ``"rfc8867"``, ``"rfc8869"``,
            ``"bbr-draft"``.
        only: Names of criteria, or their first parts; without any, all are answered.
        quick: Makes 3 runs of each case in place of 15, and leaves out those that take long.
        runs: Number of runs of each case.
        seed: The seed of all random numbers.
        output: A folder for finished runs, from which an evaluation that was stopped continues, and for
            the page and the report. Runs of a class are used again while its source file is unchanged.
        threads: Number of runs in parallel; 0 for one per core.
        progress: Called with the share of the work that is done and the name of the last run.

    Raises:
        ValueError: If a scheme, a document or a criterion is unknown.

    >>> import paceline
    >>> answers = paceline.evaluate("vegas", only="bufferbloat.delay", runs=1)
    >>> answers["verdict"]
    ['good']
    """
    names, controllers = names_and_classes(_units.several(schemes), "schemes")
    native = _native.evaluate_schemes(
        schemes=names,
        cases=cases,
        only=[str(one) for one in _units.several(only)],
        quick=quick,
        runs=None if runs is None else _units.whole("runs", runs, 1000),
        seed=_units.whole("seed", seed),
        output=None if output is None else os.fspath(output),
        salt=source_digest(controllers.values()) if output is not None else "",
        threads=_units.threads(threads),
        controllers=controllers or None,
        progress=progress,
    )
    evaluation = Evaluation(native)
    if output is not None:
        evaluation.save(output)
    return evaluation


def source_digest(classes: Any) -> str:
    """Returns a digest of the program's extension module and of the classes' source files. Without a source
    file it is random, so that no run is used again."""
    digest = hashlib.sha256()
    with open(_native.__file__, "rb") as file:
        digest.update(file.read())
    for one in classes:
        try:
            source = inspect.getsourcefile(one)
            if source is None:
                raise OSError
            with open(source, "rb") as file:
                digest.update(file.read())
        except (OSError, TypeError):
            digest.update(secrets.token_bytes(16))
    return digest.hexdigest()
