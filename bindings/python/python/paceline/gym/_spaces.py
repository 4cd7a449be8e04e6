"""What both kinds of environment have in common: arguments, spaces, arrays."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np
from gymnasium import spaces

from .. import _native, _units


def environments(
    count: int,
    *,
    traces: str | Sequence[str] = (),
    rate_mbps: tuple[float, float] = (1.0, 20.0),
    rtt_ms: tuple[float, float] = (20.0, 100.0),
    buffer_bdp: tuple[float, float] = (0.5, 4.0),
    loss: tuple[float, float] = (0.0, 0.0),
    rivals: str | Sequence[str] = (),
    step_ms: float = 20.0,
    steps: int = 400,
    history: int = 4,
    weights: tuple[float, float, float] = (1.0, 0.5, 2.0),
    digest: bool = False,
    threads: int = 1,
) -> tuple[_native.Environments, spaces.Box, spaces.Box]:
    """The environments, the space of one's observations, and that of its actions."""
    native = _native.Environments(
        count=_units.whole("num_envs", count),
        traces=[traces] if isinstance(traces, str) else list(traces),
        rate_mbps=rate_mbps,
        rtt_ms=rtt_ms,
        buffer_bdp=buffer_bdp,
        loss=loss,
        rivals=[rivals] if isinstance(rivals, str) else list(rivals),
        step_ms=step_ms,
        steps=_units.whole("steps", steps, 2**32 - 1),
        history=_units.whole("history", history),
        weights=list(weights),
        digest=digest,
        threads=_units.threads(threads),
    )
    bound = native.BOUND
    observation = spaces.Box(-bound, bound, (native.FEATURES * history,), np.float32)
    return native, observation, spaces.Box(-1.0, 1.0, (1,), np.float32)


def actions(values: Any, count: int) -> bytes:
    """Actions as the crate reads them."""
    array = np.ascontiguousarray(values, np.float32)
    if array.size != count:
        raise ValueError(f"expected {count} action{'s' if count > 1 else ''}, not {array.size}")
    return array.tobytes()


def observations(data: bytearray, count: int) -> np.ndarray:
    """Observations, a row for each environment."""
    return np.frombuffer(data, np.float32).reshape(count, -1)
