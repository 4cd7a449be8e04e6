"""Sweeps and training on Dask: equal results on any number of workers, after kills and stops."""

import os
import signal
import threading
import time

import distributed
import pyarrow.parquet
import pytest

import paceline
from paceline import cluster

SPECIFICATION = """
duration = "4s"
[networks]
link = { from = "5Mbps", to = "10Mbps", steps = 2 }
rtt = "100ms"
senders = { from = 1, to = 2, steps = 2 }
on = "2s"
off = "2s"
buffer = "inf"
[training]
procedure = "racing"
"""


def scenarios(count, duration="3s"):
    base = paceline.Scenario(
        links=[{"name": "link", "rate": "10Mbps"}],
        flows=[{"scheme": "vivace", "rtt": "40ms"}, {"scheme": "cubic", "rtt": "40ms"}],
        duration=duration,
        warmup="1s",
    )
    return [base.replace(seed=seed) for seed in range(1, count + 1)]


@pytest.fixture
def workers(request):
    with distributed.LocalCluster(
        n_workers=request.param, threads_per_worker=1, dashboard_address=None
    ) as local, distributed.Client(local) as client:
        yield client


@pytest.fixture(scope="module")
def expected():
    return [scenario.run().digest for scenario in scenarios(12)]


@pytest.mark.parametrize("workers", [1, 2, 4], indirect=True)
def test_any_number_of_workers(workers, expected):
    result = cluster.sweep(scenarios(12), workers)
    assert result.digests == expected
    assert result["scheme"][:2] == ["vivace", "cubic"] and len(result) == 24


@pytest.mark.parametrize("workers", [2], indirect=True)
def test_a_killed_worker_loses_only_its_task(workers, expected, tmp_path):
    pids = list(workers.run(os.getpid).values())
    killed = threading.Event()

    def kill(number, outcome):
        if not killed.is_set():
            killed.set()
            os.kill(pids[0], signal.SIGKILL)

    result = cluster.sweep(scenarios(12), workers, output=tmp_path, on_run=kill)
    assert killed.is_set() and result.digests == expected
    assert len(list((tmp_path / "runs").glob("*.parquet"))) == 12


@pytest.mark.parametrize("workers", [2], indirect=True)
def test_a_worker_that_dies_after_its_result_has_come(workers, expected, monkeypatch):
    pids, as_completed = workers.run(os.getpid), distributed.as_completed
    states = []

    def with_a_death(futures, **options):
        for future, result in as_completed(futures, **options):
            if not states:
                os.kill(pids[workers.who_has([future])[future.key][0]], signal.SIGKILL)
                end = time.monotonic() + 300
                while future.status == "finished" and time.monotonic() < end:
                    time.sleep(0.0005)
                states.append(future.status)
            yield future, result

    monkeypatch.setattr(distributed, "as_completed", with_a_death)
    assert cluster.sweep(scenarios(12), workers).digests == expected
    assert states != ["finished"], "the first result was lost with its worker"


@pytest.mark.parametrize("workers", [1], indirect=True)
def test_a_sweep_that_was_stopped_goes_on(workers, expected, tmp_path):
    class Enough(Exception):
        pass

    def stop(number, outcome):
        raise Enough

    with pytest.raises(Enough):
        cluster.sweep(scenarios(12), workers, output=tmp_path, on_run=stop)
    kept = set((tmp_path / "runs").glob("*.parquet"))
    assert 1 <= len(kept) < 12
    times = {path: path.stat().st_mtime_ns for path in kept}
    # A run whose file was damaged by a crash is repeated.
    spoilt = kept.pop()
    spoilt.write_bytes(b"PAR1")
    again = []
    result = cluster.sweep(
        scenarios(12), workers, output=tmp_path, on_run=lambda number, _: again.append(number)
    )
    assert result.digests == expected and len(again) == 12 - len(kept)
    assert all(path.stat().st_mtime_ns == times[path] for path in kept)
    table = pyarrow.parquet.read_table(tmp_path / "sweep.parquet")
    assert table["run_digest"].to_pylist()[::2] == expected
    assert "rtt_ms.p95" in table.column_names


@pytest.mark.parametrize("workers", [1], indirect=True)
def test_controllers_that_workers_cannot_import_and_that_change(workers, tmp_path):
    def scenario(packets):
        class Mine(paceline.Controller):
            window = packets

            def start(self):
                return paceline.Plan(self.window * self.setup.mss_bytes)

        return paceline.Scenario(
            [{"name": "link", "rate": "10Mbps"}], [{"scheme": Mine, "rtt": "40ms"}], "2s"
        )

    def sweep(packets):
        again = []
        result = cluster.sweep(
            [scenario(packets)], workers, output=tmp_path, on_run=lambda *run: again.append(run)
        )
        return result.digests[0], len(again)

    small, large = (scenario(packets).run().digest for packets in (10, 20))
    assert small != large
    assert [sweep(10), sweep(10), sweep(20)] == [(small, 1), (small, 0), (large, 1)]


@pytest.mark.parametrize("workers", [1], indirect=True)
def test_failed_runs_are_told_and_others_kept(workers, tmp_path):
    bad = paceline.Scenario(
        links=[{"name": "link", "rate": "1Mbps", "buffer": "1bdp"}],
        flows=[{"scheme": "cubic", "rtt": 0.1}, {"scheme": "cubic", "rtt": 0.2}],
        duration="1s",
    )
    with pytest.raises(cluster.SweepError, match="run 1: .*bandwidth-delay") as caught:
        cluster.sweep([scenarios(1)[0], bad], workers, output=tmp_path, retries=0)
    assert [number for number, _ in caught.value.failures] == [1]
    assert len(list((tmp_path / "runs").glob("*.parquet"))) == 1


@pytest.mark.parametrize("workers", [2], indirect=True)
def test_training_gives_the_same_table(workers, tmp_path):
    here = paceline.remy.train(SPECIFICATION, generations=1, seed=3)
    pid = next(iter(workers.run(os.getpid).values()))
    steps = []

    def kill(entry):
        steps.append(entry["step"])
        if len(steps) == 2:
            os.kill(pid, signal.SIGKILL)

    there = paceline.remy.train(
        SPECIFICATION, tmp_path, workers, generations=1, seed=3, on_step=kill
    )
    assert len(steps) >= 2
    rules = lambda training: training.to_toml().partition("specification")[2]
    assert there.to_toml() == here.to_toml() and rules(there)
    assert there.log["score"] == here.log["score"]
    assert there.report["simulated_s"] == pytest.approx(here.report["simulated_s"])
