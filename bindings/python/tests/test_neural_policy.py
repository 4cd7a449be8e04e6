"""The example of a neural policy: what its controller observes, and what it does with the actions."""

import importlib.util
import pathlib
import sys

import numpy as np
import pytest

import paceline

FOLDER = pathlib.Path(__file__).parents[1] / "examples"


@pytest.fixture
def example(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    spec = importlib.util.spec_from_file_location("neural_policy", FOLDER / "neural_policy.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.modules.pop("ppo", None)


class Steady:
    """A policy with one action, which notes what it is asked."""

    def __init__(self, action):
        self.action, self.asked = action, []

    def forward(self, x):
        self.asked.append(np.sinh(x[0]))
        return np.full(len(x), self.action), None


def test_it_observes_what_the_environment_defines(example):
    policy = Steady(0.0)
    scheme = example.controller(policy, "steady")
    result = paceline.compare(["12Mbps"], [scheme], rtt="100ms", duration="4s", runs=1, warmup="1s")
    row = result.summary.to_dicts()[0]
    assert row["throughput_mbps"]["median"] == pytest.approx(1.0, rel=0.03)
    asked = np.array(policy.asked)
    assert asked.shape == (200, 24)
    # Nothing has come back after 40 ms; at the end packets of 12 ms leave without a queue.
    assert not asked[0].any() and asked[2][19] == 0
    last = asked[-40:].reshape(-1, 6)
    assert last[:, 1] == pytest.approx(0, abs=0.02)  # RTT over the least one
    assert not last[:, 3].any() and last[:, 5] == pytest.approx(0)  # losses; log10 of 1 Mbit/s
    assert last[:, 0].mean() == pytest.approx(0, abs=0.1)  # as many sent as acknowledged


def test_its_action_doubles_the_rate(example):
    policy = Steady(1.0)
    scheme = example.controller(policy, "doubling")
    paceline.compare(["12Mbps"], [scheme], rtt="100ms", duration="1s", runs=1)
    rates = [seen[-1] for seen in policy.asked]
    assert rates[1:4] == pytest.approx(np.log10([2, 4, 8]), abs=1e-6)
    assert max(rates) == pytest.approx(3)  # at most 1000 Mbit/s
