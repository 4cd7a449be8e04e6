"""A small neural policy beside a table of rules, both trained on the same generated traces.

`python neural_policy.py RECORDING...` trains three policies with `ppo.py` on the traces of
`scenarios/remy/cellular.toml`, each in 29,000 simulated seconds, and compares them with
`remy[table=cellular]` and others on the recordings, on which none was trained. The score of a run is the
table's own objective: the logarithm of throughput over the link's mean rate, less that of the mean RTT
over the path's RTT without a queue. A policy sets the pacing rate every 20 ms, by what
`paceline.gym` defines as its observation; `controller` makes a scheme of it.

Stated before the first run: the policy is better if the median of its three scores, means over the
recordings, is above the table's at both RTTs. Only then is it worth a table of its own.
"""

from __future__ import annotations

import argparse
import math
import pathlib
import statistics

import numpy as np
from ppo import Net, features, train

import paceline

# The links of scenarios/remy/cellular.toml.
TRACES = ["lte-driving", "lte-driving.up", "lte-walking", "lte-stationary", "umts-driving", "evdo-driving.up"]
NETWORKS = dict(traces=TRACES, rtt_ms=(40.0, 160.0), buffer_bdp=(4.0, 40.0))
STEP_S, HISTORY, FEATURES, BOUND = 0.02, 4, 6, 10.0
SLOWEST_MBPS, FASTEST_MBPS = 0.05, 1000.0


def controller(policy: Net, scheme: str) -> type[paceline.Controller]:
    """Returns a scheme that does what the policy says, from 1 Mbit/s on."""

    class Neural(paceline.Controller):
        name = scheme
        records = ("rate_mbps",)

        def start(self):
            self.rate_mbps, self.srtt_s, self.min_rtt_ms, self.last_rtt_ms = 1.0, 0.1, 0.0, 0.0
            self.seen = np.zeros(FEATURES * HISTORY)
            self.clear()
            return self.plan(0.0, act=True)

        def clear(self):
            self.sent = self.acked = self.acked_bytes = self.lost = self.rtts = 0
            self.rtt_sum_ms = 0.0

        def plan(self, now_s, act=False):
            if act:
                action, _ = policy.forward(features(self.seen.astype(np.float32)[None]))
                factor = 2.0 ** min(max(float(action[0]), -1.0), 1.0)
                self.rate_mbps = min(max(self.rate_mbps * factor, SLOWEST_MBPS), FASTEST_MBPS)
                self.timer_s = now_s + STEP_S
            window = max(2e6 / 8 * self.rate_mbps * self.srtt_s, 4 * self.setup.mss_bytes)
            return paceline.Plan(int(window), pacing_mbps=self.rate_mbps, timer_s=self.timer_s)

        def on_send(self, now_s, number, size_bytes, repeated):
            self.sent += 1

        def on_feedback(self, feedback):
            self.acked += feedback.acked_packets
            self.acked_bytes += feedback.acked_bytes
            self.lost += feedback.lost_packets
            if feedback.rtt_ms is not None:
                self.rtt_sum_ms += feedback.rtt_ms
                self.rtts += 1
            self.min_rtt_ms = feedback.min_rtt_ms
            if feedback.srtt_ms > 0:
                self.srtt_s = feedback.srtt_ms / 1e3
            return self.plan(feedback.now_s)

        def on_timer(self, now_s):
            rtt_ms = self.rtt_sum_ms / self.rtts if self.rtts else self.last_rtt_ms
            known_ms = self.min_rtt_ms or rtt_ms or 1.0
            throughput_mbps = self.acked_bytes * 8e-6 / STEP_S
            step = [
                self.sent / max(self.acked, 1) - 1,
                (rtt_ms or known_ms) / known_ms - 1,
                (rtt_ms - self.last_rtt_ms) / (1e3 * STEP_S) if self.last_rtt_ms else 0.0,
                self.lost / max(self.lost + self.acked, 1),
                math.log2(max(throughput_mbps, 1e-3) / self.rate_mbps),
                math.log10(self.rate_mbps),
            ]
            self.seen = np.append(self.seen[FEATURES:], np.clip(step, -BOUND, BOUND))
            self.last_rtt_ms = rtt_ms
            self.clear()
            return self.plan(now_s, act=True)

    return Neural


def score(row: dict, rtt_ms: float) -> float:
    """The objective of cellular.toml for one flow alone."""
    delay_ms = row["queue_delay_ms"]["mean"]["median"]
    return math.log(row["utilization"]["median"]) - math.log(1 + delay_ms / rtt_ms)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recordings", nargs="+", type=pathlib.Path)
    parser.add_argument("--updates", type=int, default=180)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    schemes: list = ["remy[table=cellular]", "cubic+codel", "copa"]
    for seed in (1, 2, 3):
        policy, history = train(arguments.updates, envs=64, seed=seed, **NETWORKS)
        print(f"seed {seed}: mean reward of a step:", ", ".join(f"{reward:.3f}" for reward in history))
        schemes.append(controller(policy, f"neural_{seed}"))
    for rtt_ms in (40.0, 100.0):
        result = paceline.compare(
            [str(path) for path in arguments.recordings], schemes, rtt=f"{rtt_ms}ms", buffer="inf",
            duration="60s", runs=arguments.runs,
        )  # fmt: skip
        by_scheme: dict[str, list[float]] = {}
        for row in result.summary.to_dicts():
            by_scheme.setdefault(row["scheme"], []).append(score(row, rtt_ms))
        for scheme, scores in by_scheme.items():
            print(f"RTT {rtt_ms:.0f} ms: {scheme}: score {statistics.mean(scores):.3f}")
