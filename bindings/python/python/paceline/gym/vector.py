"""Several environments that one call steps."""

from __future__ import annotations

from typing import Any, Sequence

import gymnasium
import numpy as np
from gymnasium.vector.utils import batch_space

from .. import _units
from . import _spaces

__all__ = ["CongestionVectorEnv"]


class CongestionVectorEnv(gymnasium.vector.VectorEnv):  # type: ignore[type-arg]
    """Several environments, stepped by one call in Rust without Python's lock.

    Environment *i* is :class:`CongestionEnv` with the seed ``seed + i``: equal actions give equal
    episodes. After the end of an episode, the next step begins the next one, ignores the action, and has
    the reward 0 (Gymnasium's ``AutoresetMode.NEXT_STEP``).

    Args:
        num_envs: Number of environments.
        threads: Number of threads that step them; 1 uses the caller's, 0 all cores. A process that
            was forked with the environments starts its own threads.
        **arguments: As for :class:`CongestionEnv`.
    """

    metadata: dict[str, Any] = {
        "render_modes": [],
        "autoreset_mode": gymnasium.vector.AutoresetMode.NEXT_STEP,
    }

    def __init__(self, num_envs: int = 1, *, threads: int = 1, **arguments: Any) -> None:
        arguments.pop("render_mode", None)
        self.num_envs = num_envs
        self._native, self.single_observation_space, self.single_action_space = (
            _spaces.environments(num_envs, threads=threads, **arguments)
        )
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._seeded = False

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begins an episode in each environment, or in those of ``options["reset_mask"]``.

        Raises:
            ValueError: If there is not one seed, or one value of the mask, for each environment.
        """
        if isinstance(seed, (int, np.integer)):
            seed = [int(seed) + index for index in range(self.num_envs)]
        elif seed is None:
            seed = [None] * self.num_envs
        if len(seed) != self.num_envs:
            raise ValueError(f"expected {self.num_envs} seeds, not {len(seed)}")
        first = int(np.random.default_rng().integers(2**62))
        for index, one in enumerate(seed):
            if one is None and not self._seeded:
                one = first + index
            if one is not None:
                self._native.seed(index, _units.whole("seed", one))
        self._seeded = True
        mask = (options or {}).get("reset_mask")
        chosen = np.ones(self.num_envs, np.uint8) if mask is None else np.asarray(mask, np.uint8)
        if chosen.shape != (self.num_envs,):
            raise ValueError(f"reset_mask: expected {self.num_envs} values, not {chosen.size}")
        data = self._native.reset(chosen.tobytes())
        return _spaces.observations(data, self.num_envs), {}

    def step(
        self, actions: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Steps each environment.

        Raises:
            ValueError: If there is not one finite action for each environment.
        """
        if not self._seeded:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        data, rewards, over = self._native.step(_spaces.actions(actions, self.num_envs))
        return (
            _spaces.observations(data, self.num_envs),
            np.frombuffer(rewards, np.float64),
            np.zeros(self.num_envs, np.bool_),
            np.frombuffer(over, np.bool_),
            {},
        )

    def infos(self) -> list[dict[str, Any]]:
        """Returns the ``info`` of each environment's last step: see :mod:`paceline.gym`. Not part of
        :meth:`step`, because building it would take longer than the step itself."""
        return [self._native.info(index) for index in range(self.num_envs)]
