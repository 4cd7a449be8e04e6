"""Shared by both kinds of environment: arguments, spaces, arrays."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np
from gymnasium import spaces

from .. import _native, _units


Range = float | Sequence[float]
"""Two numbers, the smaller one first, or one number for both."""


def pair(argument: str, value: Any) -> tuple[float, float]:
    """Returns the two ends of a range.

    Raises:
        TypeError: If the value is no number and no sequence of numbers.
        ValueError: If it does not have two numbers.

    >>> pair("rate_mbps", 12), pair("rate_mbps", [1, 20])
    ((12.0, 12.0), (1.0, 20.0))
    """
    numbers = floats(argument, value)
    if len(numbers) == 1:
        return numbers[0], numbers[0]
    if len(numbers) != 2:
        raise ValueError(f"{argument}: expected two numbers, not {len(numbers)}")
    return numbers[0], numbers[1]


def floats(argument: str, value: Any) -> list[float]:
    """Returns a number, or a sequence of numbers, as a list."""
    try:
        return [float(number) for number in np.atleast_1d(np.asarray(value, np.float64))]
    except (TypeError, ValueError):
        raise TypeError(f"{argument}: expected numbers, not {value!r}") from None


def environments(
    count: int,
    *,
    traces: str | Sequence[str] = (),
    rate_mbps: Range = (1.0, 20.0),
    rtt_ms: Range = (20.0, 100.0),
    buffer_bdp: Range = (0.5, 4.0),
    loss: Range = (0.0, 0.0),
    rivals: str | Sequence[str] = (),
    step_ms: float = 20.0,
    steps: int = 400,
    history: int = 4,
    weights: Sequence[float] = (1.0, 0.5, 2.0),
    digest: bool = False,
    threads: int = 1,
) -> tuple[_native.Environments, spaces.Box, spaces.Box]:
    """Returns the environments, and the spaces of one environment's observations and actions."""
    three = floats("weights", weights)
    if len(three) != 3 or not np.isfinite(three).all():
        raise ValueError(f"weights: expected three finite numbers, not {weights!r}")
    native = _native.Environments(
        count=_units.whole("num_envs", count),
        traces=[traces] if isinstance(traces, str) else list(traces),
        rate_mbps=pair("rate_mbps", rate_mbps),
        rtt_ms=pair("rtt_ms", rtt_ms),
        buffer_bdp=pair("buffer_bdp", buffer_bdp),
        loss=pair("loss", loss),
        rivals=[rivals] if isinstance(rivals, str) else list(rivals),
        step_ms=step_ms,
        steps=_units.whole("steps", steps, 2**32 - 1),
        history=_units.whole("history", history),
        weights=three,
        digest=digest,
        threads=_units.threads(threads),
    )
    bound = native.BOUND
    observation = spaces.Box(-bound, bound, (native.FEATURES * history,), np.float32)
    return native, observation, spaces.Box(-1.0, 1.0, (1,), np.float32)


def actions(values: Any, count: int) -> bytes:
    """Returns actions in the form that the crate reads.

    Raises:
        ValueError: If there are more or fewer than ``count``, or one is not finite.
    """
    array = np.ascontiguousarray(values, np.float32)
    if array.size != count:
        raise ValueError(f"expected {count} action{'s' if count > 1 else ''}, not {array.size}")
    if not np.isfinite(array).all():
        raise ValueError("action: expected finite numbers; has the policy diverged?")
    return array.tobytes()


def observations(data: bytearray, count: int) -> np.ndarray:
    """Returns observations, a row for each environment."""
    return np.frombuffer(data, np.float32).reshape(count, -1)
