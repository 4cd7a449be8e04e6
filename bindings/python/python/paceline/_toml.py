"""Converts scenarios of Python objects to the text of scenario files, and lines back to objects."""

from __future__ import annotations

import datetime
import json
import os
import re
from typing import Any, Mapping

from . import _units

_TIMES = {
    "duration", "warmup", "bin", "rtt", "delay", "start", "stop", "stagger", "stagger_stop", "on",
    "off", "jitter", "jitter_sd", "reorder_by", "slot", "period", "at",
}  # fmt: skip
_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")
_PLURALS = {"links": "link", "flows": "flow", "media": "medium"}


class Text:
    """A scenario's text under construction."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.places: list[str] = []

    def add(self, line: str, place: str) -> None:
        self.lines.append(line)
        self.places.append(place)

    def place(self, line: int | None) -> str | None:
        """Returns the object from which a line (from 1) was made."""
        if line is None or not 1 <= line <= len(self.places):
            return None
        return self.places[line - 1]

    def __str__(self) -> str:
        return "\n".join(self.lines) + "\n"


def write(fields: Mapping[str, Any]) -> Text:
    """Returns the text of a scenario.

    >>> print(write({"duration": 2, "flows": [{"scheme": "cubic"}]}), end="")
    duration = "2s"
    [[flow]]
    scheme = "cubic"
    """
    text = Text()
    fields = {_PLURALS.get(key, key): value for key, value in fields.items()}
    tables = []
    for key, value in fields.items():
        if key in ("link", "flow", "medium") and not isinstance(value, str):
            tables.append((key, [value] if isinstance(value, Mapping) else list(value)))
        elif value is not None:
            text.add(f"{_key(key)} = {_value(key, value, key)}", key)
    for key, several in tables:
        for index, table in enumerate(several):
            place = f"{key}[{index}]"
            if not isinstance(table, Mapping):
                raise TypeError(f"{place}: expected a dictionary, not {type(table).__name__}")
            text.add(f"[[{key}]]", place)
            for name, value in table.items():
                if value is not None:
                    inner = f"{place}.{name}"
                    text.add(f"{_key(name)} = {_value(name, value, inner)}", inner)
    return text


def _key(key: str) -> str:
    return key if _BARE.match(key) else quoted(key)


def quoted(text: str) -> str:
    """Returns a text in quotes. JSON writes U+007F as it is, which TOML forbids."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(key: str, value: Any, place: str) -> str:
    value = _units.plain(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.timedelta) or (
        key in _TIMES and isinstance(value, (int, float))
    ):
        return json.dumps(_units.time(place, value))
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ValueError(f"{place}: expected a whole number from {-(2**63)} to {2**63 - 1}, not {value}")
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, Mapping):
        parts = (
            f"{_key(name)} = {_value(name, part, f'{place}.{name}')}"
            for name, part in value.items()
            if part is not None
        )
        return "{ " + ", ".join(parts) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_value("", part, f"{place}[{i}]") for i, part in enumerate(value)) + "]"
    raise TypeError(f"{place}: a scenario file has nothing for {type(value).__name__}")
