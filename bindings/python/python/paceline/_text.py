"""Tables as text and as HTML, for people: what ``print(result)`` and notebooks show."""

from __future__ import annotations

import html
import shutil
from typing import Any, Callable, Mapping, Sequence

__all__ = ["cells", "format_cell", "html_table", "percent", "range_cell", "rows_left_out", "text_table"]

#: Most characters of a cell of a text table.
_WIDEST_CELL = 60
#: Width of tables that are not printed on a terminal.
_WIDTH = 110

Columns = Mapping[str, Sequence[str]]


def format_cell(value: Any) -> str:
    """Formats a value for readers, with four digits."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"
    if isinstance(value, list):
        return ", ".join(format_cell(part) for part in value[:8]) + (" …" if len(value) > 8 else "")
    if _is_range(value):
        return range_cell(value)
    if isinstance(value, dict):
        return ", ".join(f"{name} {format_cell(part)}" for name, part in value.items())
    return str(value)


def percent(share: float) -> str:
    """Formats a share as a percentage, without its sign."""
    return f"{100 * share:.1f}"


def range_cell(figure: Mapping[str, float] | None, write: Callable[[float], str] = format_cell) -> str:
    """Returns a median with the range of 90 % of the runs; the median alone if all runs have it.

    >>> range_cell({"median": 0.875, "p5": 0.86, "p95": 0.9}, percent)
    '87.5 (86.0–90.0)'
    >>> range_cell({"median": 12.0, "p5": 12.0, "p95": 12.0}), range_cell(None)
    ('12', '')
    """
    if figure is None or figure["median"] is None:
        return ""
    median, low, high = (write(figure[name]) for name in ("median", "p5", "p95"))
    return median if low == median == high else f"{median} ({low}–{high})"


def _is_range(value: Any) -> bool:
    return isinstance(value, dict) and {"median", "p5", "p95"} <= value.keys()


def cells(columns: Mapping[str, Sequence[Any]]) -> dict[str, list[str]]:
    """Returns columns of values as text. A median and its range are one cell; each field of another structure is a
    column, ``queue_delay_ms.p95``.

    >>> cells({"x": [{"median": 2.0, "p5": 1.0, "p95": 3.0}], "rtt_ms": [{"mean": 5.0, "p95": None}]})
    {'x': ['2 (1–3)'], 'rtt_ms.mean': ['5'], 'rtt_ms.p95': ['']}
    """
    text: dict[str, list[str]] = {}
    for name, values in columns.items():
        parts = {part: None for value in values if isinstance(value, dict) for part in value}
        if parts and not any(_is_range(value) for value in values):
            inner = {part: [None if value is None else value.get(part) for value in values] for part in parts}
            text.update({f"{name}.{part}": column for part, column in cells(inner).items()})
        else:
            text[name] = [format_cell(value) for value in values]
    return text


def text_table(columns: Columns, caption: str = "") -> str:
    """Returns a table of text. Columns that do not fit into the terminal's width are named below it.

    >>> print(text_table({"scheme": ["abc", "cubic"], "Mbit/s": ["3.5", "12"]}, "a link"))
    a link
    scheme  Mbit/s
    abc        3.5
    cubic       12
    """
    width = shutil.get_terminal_size((_WIDTH, 24)).columns
    lines: list[str] | None = None
    left_out: list[str] = []
    for name, values in columns.items():
        shown = [_shortened(value) for value in (name, *values)]
        size = max(map(len, shown))
        if lines is not None and len(lines[0]) + 2 + size > width:
            left_out.append(name)
            continue
        numbers = all(value[0].isdigit() or value[0] in "-+" for value in values if value)
        aligned = [value.rjust(size) if numbers else value.ljust(size) for value in shown]
        lines = aligned if lines is None else [f"{line}  {cell}" for line, cell in zip(lines, aligned)]
    text = [caption] if caption else []
    text += [line.rstrip() for line in lines or []]
    if left_out:
        text.append(_shortened(f"more columns: {', '.join(left_out)}", width))
    return "\n".join(text)


def rows_left_out(shown: int, rows: int) -> str:
    """Returns a line that says how many rows of a table are not shown; empty if all are."""
    return f"… {rows - shown} more rows" if shown < rows else ""


def _shortened(text: str, width: int = _WIDEST_CELL) -> str:
    text = text.replace("\n", " ")
    return text if len(text) <= width else text[: width - 2] + " …"


def html_table(columns: Mapping[str, Sequence[Any]], caption: str = "") -> str:
    """Returns an HTML table for notebooks."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    text = [f"<table><caption>{html.escape(caption)}</caption>" if caption else "<table>"]
    text.append(f"<thead><tr>{head}</tr></thead><tbody>")
    for row in zip(*columns.values()):
        row_cells = "".join(f"<td>{html.escape(format_cell(value))}</td>" for value in row)
        text.append(f"<tr>{row_cells}</tr>")
    text.append("</tbody></table>")
    return "".join(text)
