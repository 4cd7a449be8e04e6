"""The example of reinforcement learning improves its policy."""

import importlib.util
import pathlib

PATH = pathlib.Path(__file__).parents[1] / "examples" / "ppo.py"

# Stated before the first run: after 30 updates the mean reward per step exceeds that of the initial
# policy by this.
LEARNT = 0.1


def test_ppo_learns():
    spec = importlib.util.spec_from_file_location("ppo", PATH)
    ppo = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(ppo)
    _, history = ppo.train(30, envs=32, length=64, seed=1)
    assert history[-1] > history[0] + LEARNT, history
