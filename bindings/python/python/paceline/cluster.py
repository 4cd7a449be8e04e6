"""Sweeps and training on Dask: one machine, a cluster, Kubernetes (``pip install 'paceline[cluster]'``).

The result does not depend on the workers: a run depends only on its scenario and seed, and so has
an equal digest on every machine. A worker that dies loses the tasks in progress; Dask gives them
to another worker. ``docs/python.md`` has the configurations.
"""

from __future__ import annotations

import collections
import logging
import os
import pickle
import queue
import time
import traceback
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator

from . import _native
from ._identity import RunKeys
from ._parts import RUNS_OF_A_PART, ArrowTable, Job, Labels, Part, Store, jobs_of
from .errors import PacelineError, RunError, ScenarioError
from .frame import Frame
from .scenario import Scenario, _Parsed, _with_changes

if TYPE_CHECKING:
    import pyarrow
    from distributed import Client, Future

__all__ = ["Sweep", "SweepError", "sweep"]

_log = logging.getLogger(__name__)

#: Seconds that a task should take: a hundred times what Dask needs to distribute it.
_TASK_S = 0.5
#: Seconds that the last tasks of a sweep should take at least.
_LEAST_TASK_S = 0.05
#: Runs of a task before the cost of a run is known.
_FIRST_RUNS = 2
#: Most runs of a task.
_MOST_RUNS = 500
#: Tasks that each thread of the workers has at one time: one that runs, and one that waits.
_TASKS_PER_THREAD = 2
#: Seconds after which the number of the workers' threads is asked for again: clusters grow and shrink.
_THREADS_INTERVAL_S = 2.0
#: Seconds without any worker after which a sweep says so, and again each time they have passed.
_NO_WORKERS_S = 30.0
#: Weight of the last task in the mean cost of a run.
_COST_WEIGHT = 0.3


class SweepError(PacelineError):
    """Runs of a sweep failed.

    Attributes:
        failures: The number of each run in the sweep, and its exception.
    """

    def __init__(self, failures: list[tuple[int, BaseException]]) -> None:
        self.failures = failures
        number, error = failures[0]
        super().__init__(f"{len(failures)} runs failed; the first is run {number}: {error}")


class Sweep(Frame):
    """Results of :func:`sweep`: a row for each link and each flow of each run.

    The columns are ``job`` (the number of the run in the sweep, from 0 on), ``scenario`` (its name), the
    scenario's labels, and those of ``paceline sweep`` (``docs/howto/sweeps.md``): ``run``, ``start_ms``,
    ``seed``, ``digest``, ``row`` (``link`` or ``flow``), ``name``, ``scheme`` and the figures. A sweep with
    ``output`` reads its parts when its rows are asked for.
    """

    def __init__(self, tables: list[pyarrow.Table], store: Store | None, parts: list[str]) -> None:
        self._tables = tables
        self._store = store
        #: Addresses of the Parquet files with the rows, in their order; empty without ``output``.
        self.parts: list[str] = parts
        self._loaded: ArrowTable | None = None

    @property
    def _table(self) -> ArrowTable:  # type: ignore[override]
        if self._loaded is None:
            self._loaded = ArrowTable(self._read(None))
        return self._loaded

    def _read(self, columns: list[str] | None) -> pyarrow.Table:
        import pyarrow

        if self._store is None:
            tables = self._tables if columns is None else [table.select(columns) for table in self._tables]
        else:
            tables = [self._store.read(part, columns) for part in self.parts]
        return pyarrow.concat_tables(tables) if tables else pyarrow.table({})

    @property
    def digests(self) -> list[str]:
        """Digest of each run, in the order of the scenarios."""
        table = self._read(["job", "digest"])
        if not table.num_rows:
            return []
        return list(dict(zip(table["job"].to_pylist(), table["digest"].to_pylist())).values())

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Writes all rows into one file. Needs pyarrow."""
        import pyarrow.parquet

        pyarrow.parquet.write_table(self.to_arrow(), path)

    def __repr__(self) -> str:
        if self._store is not None and self._loaded is None:
            return f"<Sweep: {len(self.parts)} parts in {self._store.address}>"
        return super().__repr__()


def sweep(
    scenarios: Iterable[Scenario],
    client: Client,
    *,
    output: str | os.PathLike[str] | None = None,
    retries: int = 3,
    on_run: Callable[[int, list[dict[str, Any]]], None] | None = None,
) -> Sweep:
    """Runs scenarios on a Dask cluster.

    A task has as many runs as take about half a second. Scenarios are taken from the iterable as
    the workers need them, so that a generator or :func:`paceline.grid` may have millions.

    Args:
        scenarios: The scenarios; if one has several runs, each counts as a run of the sweep, one after
            the other. Workers read the traces in them by the given paths. Their labels are
            columns of the table; the first scenario decides on names and types.
        client: The client of the Dask cluster.
        output: A folder, or an address of fsspec such as ``s3://bucket/folder`` (which needs s3fs), for
            the rows: ``part-00000.parquet`` and so on, with 1000 runs each. Only this process writes
            there, and it holds only rows of parts that are not finished. A sweep that was stopped
            continues after the finished runs. A run is known by scenario, seed, version of the program,
            the contents of the files that the scenario names and, for controllers in Python, the text
            and the attributes of their classes. If other code that these classes call has changed,
            choose another folder.
        retries: Number of further tries of a run that fails in a worker for another reason than its
            scenario.
        on_run: Called after each run with its number and its rows.

    Raises:
        SweepError: If runs failed. The other runs are finished and kept.
        ValueError: If ``output`` has runs of another sweep. Nothing there is changed.
        ImportError: If ``output`` needs a package that is not installed.

    >>> import paceline
    >>> from distributed import Client
    >>> from paceline.cluster import sweep
    >>> base = paceline.Scenario([{"name": "link", "rate": "2Mbps"}], [{"scheme": "cubic"}], "2s")
    >>> with Client(processes=False, n_workers=1, dashboard_address=None) as client:
    ...     result = sweep(paceline.grid(base, {"link.rate": ["2Mbps", "4Mbps"]}), client)
    >>> result["link.rate"], result["row"], result.digests[0] == base.run().digest
    (['2Mbps', '2Mbps', '4Mbps', '4Mbps'], ['link', 'flow', 'link', 'flow'], True)
    """
    store = None if output is None else Store(output)
    work = _Work(client, scenarios, store, retries, on_run)
    try:
        return work.run()
    finally:
        work.stop()


class _Work:
    """A sweep in progress."""

    def __init__(
        self,
        client: Client,
        scenarios: Iterable[Scenario],
        store: Store | None,
        retries: int,
        on_run: Callable[[int, list[dict[str, Any]]], None] | None,
    ) -> None:
        self.client = client
        self.store = store
        self.retries = retries
        self.on_run = on_run
        self.labels = Labels()
        self.source: Iterator[Job] | None = jobs_of(scenarios)
        #: Jobs that were read and are not submitted, in their order.
        self.waiting: collections.deque[Job] = collections.deque()
        #: Jobs that are tried again, each by itself.
        self.again: list[Job] = []
        self.tries: dict[int, int] = {}
        #: Jobs of tasks whose workers died. One of them may be the cause, and so each is at last tried while
        #: nothing else runs.
        self.suspects: list[Job] = []
        self.tried_alone: set[int] = set()
        self.running: dict[Future, list[Job]] = {}
        self.ended: queue.SimpleQueue[Future] = queue.SimpleQueue()
        #: Parts that are not finished, by number; without output, their rows are kept in ``tables``.
        self.parts: dict[int, Part] = {}
        self.tables: dict[int, pyarrow.Table] = {}
        self.addresses: dict[int, str] = {}
        self.failures: list[tuple[int, BaseException]] = []
        #: Mean time of a run in seconds; ``None`` before the first result.
        self.cost: float | None = None
        self.threads = 1
        self.threads_counted_at: float | None = None
        self.workers_seen_at = time.monotonic()
        self.run_keys = RunKeys()

    def run(self) -> Sweep:
        """Submits all runs, and takes their results."""
        while True:
            self._submit()
            if not self.running:
                break
            for future in self._ended():
                self._take(future)
            if self.store is not None and self.store.is_time_to_write():
                self._write()
        if self.failures:
            raise SweepError(sorted(self.failures, key=lambda failure: failure[0]))
        if self.store is not None:
            self.store.expect_no_more(len(self.addresses))
        tables = [table for _, table in sorted(self.tables.items())]
        return Sweep(tables, self.store, [address for _, address in sorted(self.addresses.items())])

    def _ended(self) -> list[Future]:
        """Waits for up to a second for a task to end. Returns all that have ended."""
        futures: list[Future] = []
        try:
            futures.append(self.ended.get(timeout=1.0))
            while True:
                futures.append(self.ended.get_nowait())
        except queue.Empty:
            return futures

    def stop(self) -> None:
        """Cancels the tasks, and writes the rows of unfinished parts."""
        if self.running:
            self.client.cancel(list(self.running))
        if self.store is not None:
            self._write()

    def _write(self) -> None:
        for part in self.parts.values():
            self.store.write(part, self.labels)

    def _submit(self) -> None:
        """Submits tasks until each thread of the workers has enough."""
        now = time.monotonic()
        if self.threads_counted_at is None or now - self.threads_counted_at > _THREADS_INTERVAL_S:
            self.threads_counted_at = now
            threads = sum(self.client.nthreads().values())
            self._expect_workers(threads > 0, now)
            self.threads = max(1, threads)
        most = _TASKS_PER_THREAD * self.threads
        while len(self.running) < most:
            batch = [self.again.pop()] if self.again else self._next_batch(most)
            if not batch and self.suspects and not self.running:
                batch = [self.suspects.pop()]
                self.tried_alone.add(batch[0].number)
            if not batch:
                return
            future = self.client.submit(_run_batch, _pickled(batch), pure=False)
            self.running[future] = batch
            future.add_done_callback(self.ended.put)

    def _expect_workers(self, are_there: bool, now: float) -> None:
        """Tells that a sweep waits for workers, and asks a cluster of this process for those that it should have:
        Dask does not replace a worker that died before its nanny saw it start."""
        if are_there:
            self.workers_seen_at = now
            return
        if now - self.workers_seen_at < _NO_WORKERS_S:
            return
        self.workers_seen_at = now
        _log.warning(
            "the Dask cluster %s has had no worker for %.0f s; the sweep waits for one",
            self.client.scheduler.address,
            _NO_WORKERS_S,
        )
        cluster = self.client.cluster
        wanted = getattr(cluster, "worker_spec", None)
        if wanted:
            cluster.scale(len(wanted))

    def _next_batch(self, tasks: int) -> list[Job]:
        """Returns the jobs of the next task, all of one part, while ``tasks`` tasks run at one time."""
        least, size = 1, _FIRST_RUNS
        if self.cost is not None:
            least, size = (
                max(1, min(_MOST_RUNS, round(seconds / max(self.cost, 1e-6))))
                for seconds in (_LEAST_TASK_S, _TASK_S)
            )
        self._read(2 * tasks * size)
        if not self.waiting:
            return []
        # The last tasks are smaller, so that all workers end at about one time.
        size = max(least, min(size, len(self.waiting) // tasks))
        part = self.waiting[0].number // RUNS_OF_A_PART
        batch: list[Job] = []
        while len(batch) < size and self.waiting and self.waiting[0].number // RUNS_OF_A_PART == part:
            batch.append(self.waiting.popleft())
        return batch

    def _read(self, wanted: int) -> None:
        """Reads scenarios until ``wanted`` jobs wait. Jobs whose rows are in the store do not wait."""
        while self.source is not None and len(self.waiting) < wanted:
            job = next(self.source, None)
            if job is None:
                self.source = None
                for part in list(self.parts.values()):
                    self._close(part)
                return
            self.labels.check(job)
            number = job.number // RUNS_OF_A_PART
            part = self.parts.get(number)
            if part is None:
                part = self.parts[number] = Part(number)
                if self.store is not None:
                    self.store.find(part)
            key = self.run_keys.of(job) if self.store is not None else ""
            if not part.expect(job, key):
                self.waiting.append(job)
            if job.number % RUNS_OF_A_PART == RUNS_OF_A_PART - 1:
                self._close(part)

    def _close(self, part: Part) -> None:
        """All runs of the part were read."""
        part.is_closed = True
        self._finish_if_done(part)

    def _finish_if_done(self, part: Part) -> None:
        if not part.is_done:
            return
        del self.parts[part.number]
        if self.store is not None:
            self.addresses[part.number] = self.store.finish(part, self.labels)
        elif part.tables:
            self.tables[part.number] = part.table(self.labels)

    def _take(self, future: Future) -> None:
        """Takes the result of a task."""
        batch = self.running.pop(future)
        part = self.parts[batch[0].number // RUNS_OF_A_PART]
        try:
            seconds, rows, failed = future.result()
        except Exception as error:
            self._task_failed(batch, part, error)
            return
        cost = seconds / len(batch)
        self.cost = cost if self.cost is None else self.cost + _COST_WEIGHT * (cost - self.cost)
        if len(failed) < len(batch):
            import pyarrow

            part.add(pyarrow.ipc.open_stream(rows).read_all())
        ended = [job.number for job in batch if job.number not in failed]
        part.missing.difference_update(ended)
        for job in batch:
            if job.number in failed:
                self._run_failed(job, part, pickle.loads(failed[job.number]))
        try:
            if self.on_run is not None and ended:
                rows_of: dict[int, list[dict[str, Any]]] = {number: [] for number in ended}
                for row in self.labels.add_to(part.tables[-1], part.labels).to_pylist():
                    rows_of[row["job"]].append(row)
                for number in ended:
                    self.on_run(number, rows_of[number])
        finally:
            self._finish_if_done(part)

    def _task_failed(self, batch: list[Job], part: Part, error: Exception) -> None:
        """A task has no result: its workers have died, or it failed outside of its runs."""
        from distributed import KilledWorker

        if isinstance(error, KilledWorker) and batch[0].number not in self.tried_alone:
            self.suspects += batch
        elif len(batch) > 1:
            self.again += reversed(batch)
        else:
            self._run_failed(batch[0], part, error)
            self._finish_if_done(part)

    def _run_failed(self, job: Job, part: Part, error: BaseException) -> None:
        from distributed import KilledWorker

        tries = self.tries.get(job.number, 0)
        if tries >= self.retries or isinstance(error, (RunError, ScenarioError, KilledWorker)):
            part.missing.discard(job.number)
            part.failed.add(job.number)
            self.failures.append((job.number, error))
        else:
            self.tries[job.number] = tries + 1
            self.again.append(job)


def _pickled(batch: list[Job]) -> bytes:
    """Returns the bytes of a task."""
    runs = [(job.number, job.run, job.scenario) for job in batch]
    if not any(job.scenario[3] for job in batch):
        return pickle.dumps(runs)
    # Unlike pickle, cloudpickle serializes classes of notebooks; distributed needs it, too.
    import cloudpickle

    return cloudpickle.dumps(runs)


def _run_batch(text: bytes) -> tuple[float, bytes, dict[int, bytes]]:
    """Makes the runs of a task on a worker. Returns the time in seconds, the rows of the runs as a stream of
    Arrow, and the pickled exceptions of those that failed, by the number of the run."""
    import pyarrow

    began = time.perf_counter()
    runs: list[tuple[int, int, _Parsed]] = pickle.loads(text)
    jobs: list[int] = []
    numbers: list[int] = []
    natives: list[_native.Scenario] = []
    failed: dict[int, bytes] = {}
    parsed: dict[tuple[Any, ...], _native.Scenario] = {}
    for job, number, (scenario, file, folder, controllers, changes) in runs:
        # Scenarios of a sweep often differ only in their seed.
        key = (scenario, folder, *controllers.values())
        try:
            if key not in parsed:
                parsed[key] = _native.Scenario.parse(scenario, file, folder, controllers or None)
            natives.append(_with_changes(parsed[key], changes) if changes else parsed[key])
        except Exception as error:
            failed[job] = _portable(error)
        else:
            jobs.append(job)
            numbers.append(number)
    results = _native.run_many(natives, numbers=numbers, threads=1)
    outcomes = [(job, result) for job, result in zip(jobs, results) if isinstance(result, _native.Outcome)]
    failed.update(
        (job, _portable(result))
        for job, result in zip(jobs, results)
        if not isinstance(result, _native.Outcome)
    )
    table = _native.table_of_outcomes([outcome for _, outcome in outcomes], [job for job, _ in outcomes])
    table = pyarrow.table(table)
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return time.perf_counter() - began, sink.getvalue().to_pybytes(), failed


def _portable(error: BaseException) -> bytes:
    """Returns an exception as bytes, with its traceback as a note where Python has notes (3.11)."""
    import cloudpickle

    if hasattr(error, "add_note") and error.__traceback__ is not None:
        error.add_note("On the worker: " + "".join(traceback.format_exception(error)))
    try:
        written = cloudpickle.dumps(error)
        pickle.loads(written)
        return written
    except Exception:
        return pickle.dumps(PacelineError(f"{type(error).__name__}: {error}"))


def remote_trials(
    text: str, folder: str | None, client: Client
) -> tuple[Callable[[list[str]], list[str]], int]:
    """Returns a function that runs trials of a training on a cluster, and the number of trials that
    run at one time: twice the number of the workers' threads, so that none is idle."""
    from distributed import Future

    def ask(questions: list[str]) -> list[str]:
        futures: list[Future] = [
            client.submit(_native.answer, text, folder, question, pure=False, retries=3)
            for question in questions
        ]
        try:
            return client.gather(futures)
        finally:
            client.cancel(futures)

    return ask, max(4, 2 * sum(client.nthreads().values()))
