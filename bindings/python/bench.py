"""Measures the package's speed: `python bench.py BINARY`, with release builds of both.

- Processor time of `paceline.compare` and of the program for equal runs (equal digests), with one
  thread each, in turn. The import of the package and the start of the program are left out and
  printed separately.
- Steps of `paceline.gym` per second of processor time, with 64 environments on one thread, for random
  actions and for actions that keep the rate near the link's.
- Efficiency of a sweep on Dask: the time with one worker, divided by twice the time with two.
- 500 runs of 10 s: a loop, `run_many` on two threads, and a sweep on two workers of Dask. The processor time of the
  loop is divided by that of workers, scheduler and caller.

It also prints the machine's load.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import time

import numpy as np

import paceline
from paceline.gym import CongestionVectorEnv


def children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def overhead(binary: str, repeats: int = 15, duration: str = "600s") -> None:
    """Compares the package with the program: medians over alternating runs."""
    arguments = {"traces": ["lte-driving"], "schemes": ["abc", "cubic", "bbr"], "duration": duration,
                 "runs": 1}  # fmt: skip
    command = [binary, "compare", "--trace", "lte-driving", "--schemes", "abc,cubic,bbr",
               "--duration", duration, "--runs", "1", "--threads", "1", "--json", "-q"]  # fmt: skip
    start = [binary, "schemes", "--json"]
    native, started, here, ratios = [], [], [], []
    for _ in range(repeats):
        before = children()
        document = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        native.append(children() - before)
        before = children()
        subprocess.run(start, capture_output=True, check=True)
        started.append(children() - before)
        before = time.process_time()
        result = paceline.compare(threads=1, **arguments)
        here.append(time.process_time() - before)
        assert result.digests == [run["digest"] for run in document["runs"]]
        ratios.append(here[-1] / (native[-1] - started[-1]))
    print(
        f"compare, CPU s: the program {statistics.median(native):.3f} (of which its start "
        f"{statistics.median(started):.3f}), the package {statistics.median(here):.3f}; ratio of "
        f"neighbours, median {statistics.median(ratios):.4f}, quartiles "
        f"{np.quantile(ratios, 0.25):.4f} and {np.quantile(ratios, 0.75):.4f}; least over least "
        f"{min(here) / (min(native) - min(started)):.4f}"
    )


def steps(repeats: int = 400) -> None:
    """Measures steps per second of processor time."""
    random = np.random.default_rng(1)
    for name in ("random actions", "near the link's rate"):
        env = CongestionVectorEnv(64)
        env.reset(seed=1)
        capacity = np.array([info["capacity_mbps"] for info in env.infos()])
        rates = capacity.copy()
        spent = 0.0
        for _ in range(repeats - 2):
            if name == "random actions":
                actions = random.uniform(-1, 1, (64, 1)).astype(np.float32)
            else:
                actions = np.clip(np.log2(0.9 * capacity / rates), -1, 1)[:, None]
            before = time.process_time()
            env.step(actions)
            spent += time.process_time() - before
            if name != "random actions":
                rates = np.array([info["rate_mbps"] or 1.0 for info in env.infos()])
        print(f"gym, {name}: {64 * (repeats - 2) / spent:.0f} steps per CPU s")


def efficiency(runs: int = 48, repeats: int = 3) -> None:
    """Measures wall-clock time and processor time of a sweep with one and with two workers."""
    from distributed import Client, LocalCluster

    from paceline.cluster import sweep

    base = paceline.Scenario(
        [{"name": "link", "rate": "50Mbps"}], [{"scheme": "cubic"}, {"scheme": "bbr"}], "60s"
    )
    scenarios = [base.replace(seed=seed) for seed in range(runs)]
    clock: dict[int, list[float]] = {1: [], 2: []}
    spent: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(repeats):
        for workers in (1, 2):
            with LocalCluster(
                n_workers=workers, threads_per_worker=1, dashboard_address=None
            ) as local, Client(local) as client:
                sweep(scenarios[:2], client)
                used = sum(client.run(time.process_time).values())
                before = time.monotonic()
                sweep(scenarios, client)
                clock[workers].append(time.monotonic() - before)
                spent[workers].append(sum(client.run(time.process_time).values()) - used)
    one, two = statistics.median(clock[1]), statistics.median(clock[2])
    print(
        f"Dask, {runs} runs: {one:.2f} s with one worker, {two:.2f} s with two: efficiency "
        f"{one / two / 2:.2f}; CPU s of the workers {statistics.median(spent[1]):.2f} and "
        f"{statistics.median(spent[2]):.2f}: {min(spent[1]) / min(spent[2]):.2f}"
    )


def short_runs(runs: int = 500, repeats: int = 3) -> None:
    """Compares ways to make many short runs."""
    from distributed import Client, LocalCluster

    from paceline.cluster import sweep

    base = paceline.Scenario([{"name": "link", "rate": "12Mbps"}], [{"scheme": "cubic"}], "10s")
    scenarios = [base.replace(seed=seed) for seed in range(runs)]
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as local, Client(local) as client:
        sweep(scenarios[:8], client)
        for _ in range(repeats):
            before, used = time.monotonic(), time.process_time()
            expected = [scenario.run(threads=1).digest for scenario in scenarios]
            loop, loop_used = time.monotonic() - before, time.process_time() - used
            before = time.monotonic()
            outcomes = paceline.run_many(scenarios, threads=2)
            many = time.monotonic() - before
            workers = sum(client.run(time.process_time).values())
            before, used = time.monotonic(), time.process_time()
            result = sweep(scenarios, client)
            swept, here = time.monotonic() - before, time.process_time() - used
            workers = sum(client.run(time.process_time).values()) - workers
            assert result.digests == expected == [outcome.digest for outcome in outcomes]
            print(
                f"{runs} runs of 10 s: loop {loop:.2f} s, run_many {many:.2f} s, Dask {swept:.2f} s; CPU s: loop "
                f"{loop_used:.2f}, workers {workers:.2f}, scheduler and caller {here:.2f}: "
                f"{loop_used / (workers + here):.2f}"
            )


if __name__ == "__main__":
    load = lambda: " ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"{os.cpu_count()} cores, load {load()}")
    if len(sys.argv) > 1:
        overhead(sys.argv[1])
    steps()
    print(f"load {load()}")
    efficiency()
    short_runs()
    print(f"load {load()}")
