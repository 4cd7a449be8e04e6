"""Sweeps and training on Dask: equal results on any number of workers, after kills and stops."""

import os
import signal
import sys
import time

import dask
import distributed
import fsspec
import polars as pl
import pyarrow.parquet
import pytest

import paceline
from paceline import _parts, cluster

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
    assert result["row"][:3] == ["link", "flow", "flow"] and len(result) == 36
    assert result["scheme"][:3] == [None, "vivace", "cubic"]
    assert all(0.5 < used < 1.01 for used in result["utilization"][::3])


@pytest.mark.parametrize("workers", [2], indirect=True)
def test_a_killed_worker_loses_only_its_tasks(workers, expected, tmp_path):
    pids = list(workers.run(os.getpid).values())
    ended = []

    def kill(number, rows):
        if not ended:
            os.kill(pids[0], signal.SIGKILL)
        ended.append(number)
        assert {row["job"] for row in rows} == {number} and len(rows) == 3

    result = cluster.sweep(scenarios(12), workers, output=tmp_path, on_run=kill)
    assert sorted(ended) == list(range(12)) and result.digests == expected
    assert [path.name for path in tmp_path.iterdir()] == ["part-00000.parquet"]


@pytest.mark.parametrize("workers", [2], indirect=True)
def test_a_worker_that_dies_after_its_task_has_ended(workers, expected, monkeypatch):
    pids, ended = workers.run(os.getpid), cluster._Work._ended
    states = []

    def with_a_death(work):
        futures = ended(work)
        if futures and not states:
            future = futures[0]
            os.kill(pids[workers.who_has([future])[future.key][0]], signal.SIGKILL)
            end = time.monotonic() + 300
            while future.status == "finished" and time.monotonic() < end:
                time.sleep(0.0005)
            states.append(future.status)
        return futures

    monkeypatch.setattr(cluster._Work, "_ended", with_a_death)
    assert cluster.sweep(scenarios(12), workers).digests == expected
    assert states != ["finished"], "the first result was lost with its worker"


@pytest.mark.parametrize("workers", [1], indirect=True)
@pytest.mark.parametrize("address", ["folder", "file", "memory"])
def test_a_sweep_that_was_stopped_goes_on(workers, expected, tmp_path, address):
    class Enough(Exception):
        pass

    def stop(number, rows):
        raise Enough

    output = {"folder": tmp_path, "file": f"file://{tmp_path}", "memory": f"memory://{tmp_path}"}[address]
    with pytest.raises(Enough):
        cluster.sweep(scenarios(12), workers, output=output, on_run=stop)
    files, folder = fsspec.core.url_to_fs(str(output))
    (part,) = files.ls(folder, detail=False)
    with files.open(part) as file:
        kept = set(pyarrow.parquet.read_table(file)["job"].to_pylist())
    assert 1 <= len(kept) < 12
    again = []
    result = cluster.sweep(
        scenarios(12), workers, output=output, on_run=lambda number, _: again.append(number)
    )
    assert sorted(again) == sorted(set(range(12)) - kept)
    assert result.digests == expected
    (address,) = result.parts
    assert address.endswith("part-00000.parquet")
    with files.open(part) as file:
        table = pyarrow.parquet.read_table(file)
    assert table["digest"].to_pylist()[::3] == expected and "rtt_ms_p95" in table.column_names
    assert result.to_polars()["job"].to_list() == table["job"].to_pylist()
    # A part that is whole is not made again; one that a crash damaged is.
    assert cluster.sweep(scenarios(12), workers, output=output, on_run=stop).digests == expected
    files.pipe_file(part, b"PAR1")
    assert cluster.sweep(scenarios(12), workers, output=output).digests == expected


@pytest.mark.parametrize("workers", [2], indirect=True)
def test_results_are_in_parts_with_columns_of_what_was_swept(workers, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "RUNS_OF_A_PART", 10)
    monkeypatch.setattr(_parts, "RUNS_OF_A_PART", 10)
    values = {"link.rate": ["4Mbps", "8Mbps"], "seed": list(range(13)), "flow.*.rtt": ["10ms"]}
    grid = paceline.grid(scenarios(1, "1100ms")[0], values)
    result = cluster.sweep((scenario for scenario in grid), workers, output=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"part-0000{part}.parquet" for part in range(3)]
    table = pl.read_parquet(tmp_path / "*.parquet")
    # `seed` is a column of every table, and so the swept one has another name.
    assert table.columns[:8] == ["job", "scenario", "link.rate", "grid.seed", "flow.*.rtt", "run", "start_ms", "seed"]
    assert table["job"].to_list() == [job for job in range(26) for _ in range(3)]
    assert table["grid.seed"].to_list() == table["seed"].to_list()
    links = table.filter(pl.col("row") == "link")
    assert links.group_by("link.rate").agg(pl.col("capacity_mbps").mean()).sort("link.rate").rows() == [
        ("4Mbps", 4.0), ("8Mbps", 8.0)
    ]  # fmt: skip
    alone = cluster.sweep(grid, workers)
    assert alone.parts == [] and alone.to_polars().equals(result.to_polars())
    alone.to_parquet(tmp_path / "all.parquet")
    assert pl.read_parquet(tmp_path / "all.parquet").equals(table)
    # Scenarios may be added at the end; in another order, or fewer, they are another sweep.
    for others, message in [
        (list(grid)[1:], "run 0 in part-00000.parquet is of another sweep"),
        (grid[:20], "part-00002.parquet is of another sweep"),
        (grid[:15], "has run 15 of another sweep"),
    ]:
        with pytest.raises(ValueError, match=message):
            cluster.sweep(others, workers, output=tmp_path)
    assert pl.read_parquet(tmp_path / "part-*.parquet").equals(table)
    ended = []
    longer = [*grid, grid[0].replace(seed=99)]
    result = cluster.sweep(longer, workers, output=tmp_path, on_run=lambda number, _: ended.append(number))
    assert ended == [26] and len(result.digests) == 27


@pytest.mark.parametrize("workers", [1], indirect=True)
def test_addresses_that_need_more_and_files_of_others(workers, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(ImportError, match=r"output: s3://bucket/x: Install s3fs.*pip install"):
        cluster.sweep(scenarios(1), workers, output="s3://bucket/x")
    with pytest.raises(ValueError, match=r"output: nothing://x: .*nothing.*expected a folder"):
        cluster.sweep(scenarios(1), workers, output="nothing://x")
    assert list(tmp_path.iterdir()) == []
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "part-00000.parquet")
    with pytest.raises(ValueError, match="is not of a sweep"):
        cluster.sweep(scenarios(1), workers, output=tmp_path)
    assert pl.read_parquet(tmp_path / "part-00000.parquet").columns == ["a"]


@pytest.mark.parametrize("workers", [1], indirect=True)
def test_labels_are_of_one_type(workers):
    one = scenarios(1)[0]
    for labels, message in [({"x": "a"}, "is of the type str, and in"), ({"y": 1}, "has none of this name")]:
        with pytest.raises(TypeError, match=f"run 1: label .*{message}"):
            cluster.sweep([one.replace(labels={"x": 0.5}), one.replace(labels=labels)], workers)
    result = cluster.sweep([one.replace(labels={"x": 0.5}), one.replace(labels={"x": 1}), one], workers)
    assert result["x"][::3] == [0.5, 1.0, None]


@pytest.mark.parametrize("workers", [2], indirect=True)
def test_a_run_that_kills_its_workers_fails_alone(workers):
    class Deadly(paceline.Controller):
        def start(self):
            import os

            os._exit(1)

    deadly = paceline.Scenario([{"name": "link", "rate": "1Mbps"}], [{"scheme": Deadly}], "1s")
    ended = []
    with pytest.raises(cluster.SweepError, match="1 runs failed; the first is run 1: ") as caught:
        every = [scenarios(1)[0], deadly, *scenarios(12)[1:]]
        cluster.sweep(every, workers, on_run=lambda number, _: ended.append(number))
    assert isinstance(caught.value.failures[0][1], distributed.KilledWorker)
    assert sorted(ended) == [0, *range(2, 13)]


@pytest.mark.parametrize("workers", [1], indirect=True)
def test_workers_that_nobody_replaces_are_asked_for_again(workers, expected, monkeypatch, caplog):
    monkeypatch.setattr(cluster, "_NO_WORKERS_S", 0.2)
    monkeypatch.setattr(cluster, "_THREADS_INTERVAL_S", 0.05)
    # As after a death that the worker's nanny does not notice: the nanny is closed as well.
    with dask.config.set({"distributed.deploy.lost-worker-timeout": "1ms"}):
        workers.retire_workers(list(workers.nthreads()))
        assert workers.nthreads() == {}
        assert cluster.sweep(scenarios(12), workers).digests == expected
    assert "has had no worker for 0 s; the sweep waits for one" in caplog.text


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

    digest = scenario(10).run().digest
    assert [sweep(10), sweep(10)] == [(digest, 1), (digest, 0)]
    with pytest.raises(ValueError, match="run 0 in part-00000.parquet is of another sweep"):
        sweep(20)


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
    table = pyarrow.parquet.read_table(tmp_path / "part-00000.parquet")
    assert set(table["job"].to_pylist()) == {0}
    # The scenario is mended: only its run is made.
    ended = []
    mended = [scenarios(1)[0], scenarios(2)[1]]
    cluster.sweep(mended, workers, output=tmp_path, on_run=lambda number, _: ended.append(number))
    assert ended == [1]


@pytest.mark.parametrize("workers", [1], indirect=True)
def test_exceptions_in_controllers_are_tried_again_and_keep_their_place(workers):
    class Broken(paceline.Controller):
        def start(self):
            raise LookupError("no such window")

    broken = paceline.Scenario([{"name": "link", "rate": "1Mbps"}], [{"scheme": Broken}], "1s")
    with pytest.raises(cluster.SweepError, match="no such window") as caught:
        cluster.sweep([broken, scenarios(1)[0]], workers, retries=1)
    ((number, error),) = caught.value.failures
    assert number == 0 and isinstance(error, LookupError)
    if sys.version_info >= (3, 11):
        assert "in start" in error.__notes__[0]


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
