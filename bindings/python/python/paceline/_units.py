"""Times and sizes as the crates read them: text with a unit."""

from __future__ import annotations

import datetime
import os
from typing import Sequence, Union

Time = Union[str, int, float, datetime.timedelta]
"""A time: text such as ``"100ms"``, a number of seconds, or a ``timedelta``."""

Buffer = Union[str, int]
"""The limit of a queue: packets, or text such as ``"64kB"``, ``"50ms"``, ``"1bdp"``, ``"inf"``."""

Link = Union[str, "os.PathLike[str]"]
"""A link's capacity: a built-in trace, the path of a trace file, or a rate such as ``"12Mbps"``."""


def time(argument: str, value: Time) -> str:
    """The text of a time.

    >>> time("rtt", 0.1), time("rtt", "50ms"), time("rtt", datetime.timedelta(seconds=2))
    ('0.1s', '50ms', '2s')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, datetime.timedelta):
        value = value.total_seconds()
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(
            f"{argument}: expected a time such as '100ms', a number of seconds or a timedelta, "
            f"not {type(value).__name__}"
        )
    return f"{value:.9f}".rstrip("0").rstrip(".") + "s"


def buffer(argument: str, value: Buffer) -> str:
    """The text of a buffer size."""
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise TypeError(
            f"{argument}: expected packets or a size such as '64kB', not {type(value).__name__}"
        )
    return str(value)


def link(argument: str, value: Link) -> str:
    """The text of a link's capacity."""
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(
            f"{argument}: expected a trace, a file or a rate such as '12Mbps', "
            f"not {type(value).__name__}"
        )
    return os.fspath(value)


def several(value: object) -> Sequence[object]:
    """A list; text and paths are lists of one."""
    if isinstance(value, (str, os.PathLike, type)) or not isinstance(value, Sequence):
        return [value]
    return value
