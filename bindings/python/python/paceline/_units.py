"""Converts times and sizes to the form that the crates read: text with a unit."""

from __future__ import annotations

import datetime
import numbers
import operator
import os
from typing import Any, Iterable, Sequence, Union

Time = Union[str, int, float, datetime.timedelta]
"""A time: text such as ``"100ms"``, a number of seconds, or a ``timedelta``."""

Buffer = Union[str, int]
"""The limit of a queue: packets, or text such as ``"64kB"``, ``"50ms"``, ``"1bdp"``, ``"inf"``."""

Link = Union[str, "os.PathLike[str]"]
"""A link's capacity: a built-in trace, the path of a trace file, or a rate such as ``"12Mbps"``."""


def plain(value: Any) -> Any:
    """Converts a number of NumPy or another library to Python's own; returns other values unchanged.

    >>> from fractions import Fraction
    >>> plain(Fraction(1, 4)), plain(True), plain("12Mbps")
    (0.25, True, '12Mbps')
    """
    # NumPy's timedelta64 is registered as an integer, whose unit only NumPy knows.
    if isinstance(value, bool) or type(value).__name__ == "timedelta64":
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    return float(value) if isinstance(value, numbers.Real) else value


def whole(argument: str, value: Any, most: int = 2**63 - 1) -> int:
    """Returns a whole number from 0 to ``most``, which is the largest one of a scenario file by default.

    Raises:
        TypeError: If it is not a whole number; the message names the argument.
        ValueError: If it is below 0 or above ``most``; the message names the argument.

    >>> whole("seed", -1)
    Traceback (most recent call last):
    ...
    ValueError: seed: expected a whole number from 0 to 9223372036854775807, not -1
    """
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(
            f"{argument}: expected a whole number, not {type(value).__name__}"
        ) from None
    if not 0 <= number <= most:
        raise ValueError(f"{argument}: expected a whole number from 0 to {most}, not {number}")
    return number


def threads(value: Any) -> int:
    """Returns a number of threads, 0 for one per core. More than a thousand is an error: a typo."""
    return whole("threads", value, 1024)


def time(argument: str, value: Time) -> str:
    """Returns the text of a time.

    >>> time("rtt", 0.1), time("rtt", "50ms"), time("rtt", datetime.timedelta(seconds=2))
    ('0.1s', '50ms', '2s')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, datetime.timedelta):
        value = value.total_seconds()
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(
            f"{argument}: expected a time such as '100ms', a number of seconds or a timedelta, "
            f"not {type(value).__name__}"
        )
    return f"{value:.9f}".rstrip("0").rstrip(".") + "s"


def buffer(argument: str, value: Buffer) -> str:
    """Returns the text of a buffer size."""
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise TypeError(
            f"{argument}: expected packets or a size such as '64kB', not {type(value).__name__}"
        )
    return str(value)


def link(argument: str, value: Link) -> str:
    """Returns the text of a link's capacity."""
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(
            f"{argument}: expected a trace, a file or a rate such as '12Mbps', "
            f"not {type(value).__name__}"
        )
    return os.fspath(value)


def several(value: object) -> Sequence[object]:
    """Returns the elements of an iterable as a list; a text, path or class counts as one element."""
    if isinstance(value, (str, os.PathLike, type)) or not isinstance(value, Iterable):
        return [value]
    return list(value)
