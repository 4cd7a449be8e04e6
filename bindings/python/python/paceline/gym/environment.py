"""One environment."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from .. import _units
from . import _spaces

__all__ = ["CongestionEnv"]


class CongestionEnv(gymnasium.Env):  # type: ignore[type-arg]
    """An agent that sets the rate of a connection: see :mod:`paceline.gym`.

    Args:
        traces: Links to draw from: built-in traces, files, rates. Without any, constant rates.
        rate_mbps: Constant rates in Mbit/s, drawn so that their logarithms are uniform: two
            numbers, or one for a fixed rate. The next three arguments have this form, too.
        rtt_ms: Round-trip times without a queue in milliseconds, drawn the same way.
        buffer_bdp: Buffers in bandwidth-delay products, drawn the same way.
        loss: Shares of packets lost behind the link, drawn uniformly.
        rivals: Schemes of further flows over the link.
        step_ms: Length of a step in milliseconds.
        steps: Number of steps in an episode.
        history: Number of steps in an observation.
        weights: The weights of throughput, delay and loss in the reward.
        digest: Adds the run's digest to ``info``.
        render_mode: Only ``None``: nothing is drawn.

    Raises:
        ValueError: If an argument is invalid.

    >>> from paceline.gym import CongestionEnv
    >>> env = CongestionEnv(rate_mbps=(12, 12))
    >>> observation, info = env.reset(seed=1)
    >>> observation.shape, info["capacity_mbps"]
    ((24,), 12.0)
    >>> observation, reward, terminated, truncated, info = env.step([0.5])
    >>> terminated, truncated
    (False, False)
    """

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(self, *, render_mode: str | None = None, **arguments: Any) -> None:
        if render_mode is not None:
            raise ValueError(f"render_mode: nothing is drawn; expected None, not {render_mode!r}")
        self._native, self.observation_space, self.action_space = _spaces.environments(
            1, **arguments
        )
        self.render_mode = render_mode
        self._seeded = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begins an episode: with a seed, the first one of this seed; otherwise the next one."""
        super().reset(seed=seed)
        if seed is None and not self._seeded:
            seed = int(self.np_random.integers(2**63))
        if seed is not None:
            self._native.seed(0, _units.whole("seed", seed))
            self._seeded = True
        data = self._native.reset(b"\x01")
        return _spaces.observations(data, 1)[0], self._native.info(0)

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Multiplies the rate by 2 to the power of the action, and simulates one step. After the
        end of an episode, it begins the next one instead, with reward 0.

        Raises:
            ValueError: If the action is not one finite number.
        """
        if not self._seeded:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        data, rewards, over = self._native.step(_spaces.actions(action, 1))
        reward = float(np.frombuffer(rewards, np.float64)[0])
        return _spaces.observations(data, 1)[0], reward, False, bool(over[0]), self._native.info(0)
