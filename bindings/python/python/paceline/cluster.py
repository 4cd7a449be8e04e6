"""Sweeps and training on Dask: one machine, a cluster, Kubernetes (``pip install 'paceline[cluster]'``).

The result does not depend on the workers: a run depends only on its scenario and seed, and so has
an equal digest on every machine. A worker that dies loses the tasks in progress; Dask gives them
to another worker. ``docs/python.md`` has the configurations.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import pathlib
import pickle
import uuid
from typing import TYPE_CHECKING, Any, Callable, Iterable

from . import _native
from .controller import Controller
from .errors import PacelineError
from .frame import Frame
from .scenario import Scenario

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["Sweep", "SweepError", "sweep"]

_SCHEMA = 2


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
    """Results of :func:`sweep`: a row for each flow of each run.

    The columns are ``run`` (its number in the sweep), ``scenario`` (its name), ``seed``,
    ``run_digest``, and the fields of flows in ``paceline run --json`` (``docs/json.md``).
    """

    def __init__(self, documents: list[dict[str, Any]]) -> None:
        self._documents = documents
        rows = []
        for number, document in enumerate(documents):
            outcome = document["outcome"]
            head = {
                "run": number,
                "scenario": outcome["name"],
                "seed": document["seed"],
                "run_digest": outcome["digest"],
            }
            flows = ({k: v for k, v in flow.items() if k != "series"} for flow in outcome["flows"])
            rows += [{**head, **flow} for flow in flows]
        super().__init__(_native.Table.from_json(json.dumps(rows)))

    @property
    def digests(self) -> list[str]:
        """Digest of each run, in the order of the scenarios."""
        return [document["outcome"]["digest"] for document in self._documents]

    @property
    def outcomes(self) -> list[dict[str, Any]]:
        """Each run as ``paceline run --json`` prints it."""
        return [document["outcome"] for document in self._documents]

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Writes the rows into a file, with a column for each field of a structure. Needs pyarrow."""
        import pyarrow.parquet

        pyarrow.parquet.write_table(self.to_arrow(flat=True), path)


def sweep(
    scenarios: Iterable[Scenario],
    client: Client,
    *,
    output: str | os.PathLike[str] | None = None,
    retries: int = 3,
    on_run: Callable[[int, dict[str, Any]], None] | None = None,
) -> Sweep:
    """Runs scenarios on a Dask cluster.

    Args:
        scenarios: The scenarios; if one has several runs, each counts as a run of the sweep, one after
            the other. Workers read the traces in them by the given paths.
        client: The client of the Dask cluster.
        output: A folder for ``runs/*.parquet``, one for each finished run, and ``sweep.parquet``,
            the whole table. A sweep that was stopped continues after the finished runs. A run is known
            by scenario, seed, version of the program and, for controllers in Python, the text and the
            attributes of their classes. If code that these classes call, or a trace file,
            has changed, choose another folder.
        retries: Number of further tries of a run whose worker dies or whose task fails.
        on_run: Called after each run with its number and outcome.

    Raises:
        SweepError: If runs failed. The other runs are finished and kept.

    >>> import paceline
    >>> from distributed import Client
    >>> from paceline.cluster import sweep
    >>> base = paceline.Scenario([{"name": "link", "rate": "2Mbps"}], [{"scheme": "cubic"}], "2s")
    >>> with Client(processes=False, n_workers=1, dashboard_address=None) as client:
    ...     result = sweep([base.replace(seed=seed) for seed in (1, 2)], client)
    >>> result["run"], result.digests[0] == base.run().digest
    ([0, 1], True)
    """
    # Unlike pickle, cloudpickle serializes classes of notebooks; distributed needs it, too.
    import cloudpickle
    from distributed import as_completed

    all_scenarios = list(scenarios)
    tasks, keys = [], []
    for scenario in all_scenarios:
        text = cloudpickle.dumps(scenario)
        for number in range(1, scenario.runs + 1):
            tasks.append((text, number))
            keys.append(_run_key(scenario, number))
    folder = None if output is None else pathlib.Path(output) / "runs"
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    saved = {key: _load_run(folder, key) for key in dict.fromkeys(keys)} if folder else {}
    done: dict[str, dict[str, Any]] = {key: doc for key, doc in saved.items() if doc is not None}
    unfinished = {key: task for key, task in zip(keys, tasks) if key not in done}
    futures = {
        client.submit(_run_pickled, *task, key=f"paceline-run-{key}-{uuid.uuid4().hex[:8]}",
                      pure=False, retries=retries): key
        for key, task in unfinished.items()
    }  # fmt: skip
    errors: dict[str, BaseException] = {}
    try:
        # The results come with the futures: requesting each one would take two more round trips.
        for future, result in as_completed(list(futures), with_results=True, raise_errors=False):
            key = futures[future]
            # A result that has arrived is kept even if its worker has died since. Without a result,
            # the run has failed, or it is repeated because it was lost with its worker.
            if not isinstance(result, str):
                error = future.exception()
                if error is not None:
                    errors[key] = error
                    continue
                result = future.result()
            done[key] = json.loads(result)
            if folder is not None:
                _save_run(folder, key, done[key])
            if on_run is not None:
                on_run(keys.index(key), done[key]["outcome"])
            future.release()
    finally:
        client.cancel(list(futures))
    if errors:
        raise SweepError([(keys.index(key), error) for key, error in errors.items()])
    result = Sweep([done[key] for key in keys])
    if output is not None:
        _write_atomically(pathlib.Path(output) / "sweep.parquet", result.to_parquet)
    return result


def _run_pickled(text: bytes, number: int) -> str:
    """Makes run ``number`` of a scenario on a worker. Returns JSON, which is cheap to transfer."""
    scenario: Scenario = pickle.loads(text)
    outcome = scenario._run_number(number)
    return f'{{"seed": {outcome.runs["seed"][0]}, "outcome": {outcome.to_json()}}}'


def _run_key(scenario: Scenario, number: int) -> str:
    """Returns the key of a run: its scenario with the code of its controllers, its number, and the
    program."""
    text, _, folder, controllers, changes = scenario._parsed
    code = {name: _controller_code(controller) for name, controller in controllers.items()}
    identity = [_SCHEMA, _native.__version__, text, folder, changes, code, number]
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:32]


def _controller_code(controller: type[Controller]) -> list[str]:
    """Returns the text of a controller's methods and its attributes, with those of its bases. A method
    whose text is not available counts as a different one each time."""
    parts = []
    for base in controller.__mro__:
        if base in (Controller, object):
            continue
        for name, member in sorted(vars(base).items()):
            function = getattr(member, "__func__", member)
            if inspect.isfunction(function):
                try:
                    parts.append(inspect.getsource(function))
                except OSError:
                    parts.append(uuid.uuid4().hex)
            elif not name.startswith("__"):
                parts.append(f"{name} = {member!r}")
    return parts


def _write_atomically(path: pathlib.Path, write: Callable[[pathlib.Path], None]) -> None:
    """Writes a file so that at any time either the old or the new one exists."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}")
    try:
        write(temporary)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _save_run(folder: pathlib.Path, key: str, document: dict[str, Any]) -> None:
    import pyarrow
    import pyarrow.parquet

    sweep = Sweep([document])
    table = sweep.to_arrow(flat=True).replace_schema_metadata({"paceline": json.dumps(document)})
    _write_atomically(folder / f"{key}.parquet", lambda path: pyarrow.parquet.write_table(table, path))


def _load_run(folder: pathlib.Path, key: str) -> dict[str, Any] | None:
    """Returns the kept result of a run; ``None`` if the file cannot be parsed."""
    import pyarrow
    import pyarrow.parquet

    path = folder / f"{key}.parquet"
    try:
        metadata = pyarrow.parquet.read_schema(path).metadata or {}
        return json.loads(metadata[b"paceline"])
    except (OSError, KeyError, ValueError, pyarrow.ArrowInvalid):
        return None


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
