"""Tables that data-frame libraries can use without copying."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Iterator

from . import _native
from ._text import cells, html_table, rows_left_out, text_table

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

__all__ = ["Frame", "Plot"]

#: Most rows that a frame shows as text, and in a notebook.
_ROWS = 20
_HTML_ROWS = 100


class Frame:
    """A table in Arrow's memory layout.

    It has Arrow's PyCapsule interface, so that ``polars.DataFrame(frame)``, ``pyarrow.table(frame)``
    and others use its memory without a copy. Columns are the fields of the JSON (``docs/json.md``)
    and have their units in their names. A field that is an object there, such as
    ``queue_delay_ms``, is a column of structures; with ``flat=True`` each of its fields is a column,
    ``queue_delay_ms.p95``.
    """

    def __init__(self, table: _native.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self._table.__arrow_c_schema__()

    def __len__(self) -> int:
        return len(self._table)

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return self._table.column_names

    def __iter__(self) -> Iterator[str]:
        """Iterates over the names of the columns; :meth:`to_dicts` returns the rows."""
        return iter(self.columns)

    def __contains__(self, name: object) -> bool:
        """True if there is a column of this name."""
        return name in self.columns

    def __getitem__(self, name: str) -> list[Any]:
        """Returns the values of a column as a list.

        Raises:
            KeyError: If there is no such column.
            TypeError: If the name is not a text, for example a row number.
        """
        if not isinstance(name, str):
            raise TypeError(f"a frame has columns by name, not {name!r}; to_dicts() has the rows")
        return self._table.column(name)

    def to_dict(self, *, flat: bool = False) -> dict[str, list[Any]]:
        """Returns the columns as lists of Python values, with ``None`` where nothing was measured."""
        table = self._maybe_flattened(flat)
        return {name: table.column(name) for name in table.column_names}

    def to_dicts(self, *, flat: bool = False) -> list[dict[str, Any]]:
        """Returns the rows as dictionaries."""
        columns = self.to_dict(flat=flat)
        return [dict(zip(columns, row)) for row in zip(*columns.values())]

    def to_arrow(self, *, flat: bool = False) -> pyarrow.Table:
        """Returns the table as a ``pyarrow.Table``, which shares its memory. Needs pyarrow."""
        return _import_extra("pyarrow", "to_arrow", "arrow").table(self._maybe_flattened(flat))

    def to_polars(self, *, flat: bool = False) -> polars.DataFrame:
        """Returns the table as a ``polars.DataFrame``, which shares its memory. Needs polars."""
        return _import_extra("polars", "to_polars", "polars").DataFrame(self._maybe_flattened(flat))

    def to_pandas(self, *, flat: bool = False) -> pandas.DataFrame:
        """Returns the table as a ``pandas.DataFrame``. Needs pandas.

        With pyarrow installed, columns of numbers share the table's memory where pandas supports
        that. Columns of structures become dictionaries, because pandas has no type for them.
        """
        pandas = _import_extra("pandas", "to_pandas", "pandas")
        try:
            import pyarrow
        except ImportError:
            return pandas.DataFrame(self.to_dict(flat=flat))
        return pyarrow.table(self._maybe_flattened(flat)).to_pandas(split_blocks=True)

    def __reduce__(self) -> Any:
        raise TypeError(f"a {type(self).__name__} cannot be pickled: pass on its to_dicts()")

    def _maybe_flattened(self, flat: bool) -> _native.Table:
        return self._table.flattened() if flat else self._table

    def __repr__(self) -> str:
        """Shows the first rows as a table."""
        shown, below = self._first_rows(_ROWS)
        table = text_table(shown, f"{type(self).__name__} of {len(self)} rows")
        return f"{table}\n{below}" if below else table

    def _repr_html_(self) -> str:
        """Shows the first rows as a table."""
        shown, below = self._first_rows(_HTML_ROWS)
        return html_table(shown) + (f"<p>{below}</p>" if below else "")

    def _first_rows(self, most: int) -> tuple[dict[str, list[str]], str]:
        """Returns the columns of the first rows as text, and a line about the others."""
        table = self._table.first(most)
        shown = cells({name: table.column(name) for name in table.column_names})
        return shown, rows_left_out(len(table), len(self))


class Plot:
    """A drawing as SVG, which notebooks display."""

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def save(self, path: Any) -> None:
        """Writes the drawing into a file, as SVG.

        Raises:
            ValueError: If the name is that of another format.
        """
        ending = os.path.splitext(os.fspath(path))[1].lower()
        if ending not in ("", ".svg"):
            raise ValueError(
                f"{os.fspath(path)}: this writes SVG, so that the name ends with .svg. For PDF and PNG write the result's "
                "to_json() into result.json: `paceline plot result.json -o figure.pdf`"
            )
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg)

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<Plot: {len(self.svg)} characters of SVG; save(path) writes them>"


def _import_extra(module: str, method: str, extra: str) -> Any:
    try:
        return __import__(module)
    except ImportError as error:
        raise ImportError(
            f"{method} needs {module}: pip install {module}, or pip install 'paceline[{extra}]'"
        ) from error
