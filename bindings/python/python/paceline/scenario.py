"""Scenarios (links, flows, duration) and their outcomes."""

from __future__ import annotations

import json
import os
from typing import Any, Iterator, Mapping, Sequence

from . import _native, _toml, _units
from ._text import cells, html_table, text_table
from .controller import Controller, is_controller, name_of, names_and_classes
from .errors import ScenarioError
from .frame import Frame, Plot

__all__ = ["Outcome", "Scenario", "run"]

#: A value of a label: what distinguishes a scenario in the table of a sweep.
Label = "str | int | float | bool"

_Parsed = tuple[str, str, "str | None", "dict[str, type[Controller]]", "dict[str, Any]"]


class Scenario:
    """A whole experiment: links in a row or side by side, and flows over them.

    It is built from Python objects, with the keys of scenario files (``docs/scenarios.md``), or read
    from such a file. Times are text with a unit or seconds; a flow's ``scheme`` is text or a
    subclass of :class:`paceline.Controller`.

    Args:
        links: The links: dictionaries with the keys ``link`` of :func:`paceline.scenario_keys`.
        flows: The flows: dictionaries with the keys ``flow``.
        duration: Simulated time.
        **fields: The other keys ``run``, such as ``warmup``, ``seed``, ``runs``, ``bin``, and the
            sections beside them, such as ``medium``.

    Raises:
        ScenarioError: A mistake; ``place`` names the object, ``line`` the line of a file.

    >>> import paceline
    >>> scenario = paceline.Scenario(
    ...     duration="2s",
    ...     links=[{"name": "link", "rate": "12Mbps"}],
    ...     flows=[{"scheme": "cubic", "rtt": "50ms"}],
    ... )
    >>> outcome = scenario.run()
    >>> outcome.links["name"], outcome.flows["scheme"]
    (['link'], ['cubic'])
    """

    def __init__(
        self,
        links: Mapping[str, Any] | Sequence[Mapping[str, Any]] = (),
        flows: Mapping[str, Any] | Sequence[Mapping[str, Any]] = (),
        duration: _units.Time = "60s",
        **fields: Any,
    ) -> None:
        controllers: dict[str, type[Controller]] = {}
        links = [links] if isinstance(links, Mapping) else list(links)
        flows = [flows] if isinstance(flows, Mapping) else flows
        rows = [_scheme_name_of_flow(flow, f"flow[{i}]", controllers) for i, flow in enumerate(flows)]
        text = _toml.write({"duration": duration, **fields, "links": links, "flows": rows})
        try:
            self._read(str(text), "", None, controllers)
        except ScenarioError as error:
            place = text.place(error.line)
            raise ScenarioError(error.message, error.help, place=place) from None

    def _read(
        self,
        text: str,
        file: str,
        folder: str | None,
        controllers: dict[str, type[Controller]],
        changes: dict[str, Any] | None = None,
    ) -> None:
        self._parsed: _Parsed = (text, file, folder, controllers, changes or {})
        native = _native.Scenario.parse(text, file, folder, controllers or None)
        self._native = _with_changes(native, changes) if changes else native
        self._labels: dict[str, Label] = {}

    @classmethod
    def from_toml(
        cls,
        text: str,
        *,
        file: str = "<text>",
        folder: str | os.PathLike[str] | None = None,
        controllers: Sequence[type[Controller]] = (),
    ) -> Scenario:
        """Reads the text of a scenario file.

        Args:
            text: The text.
            file: Its name in messages.
            folder: The folder of files that it names, such as traces.
            controllers: Schemes in Python to which it refers by name.

        Raises:
            ScenarioError: A mistake, with its line and column.

        >>> import paceline
        >>> paceline.Scenario.from_toml('duration = "2 apples"')
        Traceback (most recent call last):
        ...
        paceline.errors.ScenarioError: <text>:1:12: ...
        """
        scenario = cls.__new__(cls)
        where = None if folder is None else os.fspath(folder)
        names, classes = names_and_classes(_units.several(controllers), "controllers")
        if len(names) != len(classes):
            raise TypeError("controllers: expected subclasses of paceline.Controller, each once")
        scenario._read(text, file, where, classes)
        return scenario

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, controllers: Sequence[type[Controller]] = ()
    ) -> Scenario:
        """Reads a scenario file; the files that it names are relative to its folder.

        Raises:
            ScenarioError: A mistake, with its line and column.
            OSError: If the file cannot be read.
        """
        with open(path, encoding="utf-8") as file:
            text = file.read()
        name = os.fspath(path)
        folder = os.path.dirname(os.path.abspath(name))
        return cls.from_toml(text, file=name, folder=folder, controllers=controllers)

    def replace(
        self,
        *,
        seed: int | None = None,
        duration: _units.Time | None = None,
        warmup: _units.Time | None = None,
        bin: _units.Time | None = None,
        runs: int | None = None,
        spread: _units.Time | None = None,
        labels: Mapping[str, Label] | None = None,
    ) -> Scenario:
        """Returns a copy with another seed, duration, warm-up or length of recorded bins, or other runs:
        their number, and the offset up to which they start (``"trace"`` for any in the recordings).
        ``labels`` are added to its :attr:`labels`.

        >>> import paceline
        >>> scenario = paceline.Scenario([{"name": "link", "rate": "1Mbps"}], [{"scheme": "cubic"}])
        >>> scenario.replace(seed=7, duration=3).seed
        7
        """
        text = lambda name, value: None if value is None else _units.time(name, value)
        changes = {
            "seed": None if seed is None else _units.whole("seed", seed),
            "duration": text("duration", duration),
            "warmup": text("warmup", warmup),
            "bin": text("bin", bin),
            "runs": None if runs is None else _units.whole("runs", runs, 2**32 - 1),
            "spread": text("spread", spread),
        }
        new = type(self).__new__(type(self))
        *parsed, before = self._parsed
        changes = {**before, **{name: v for name, v in changes.items() if v is not None}}
        new._parsed = (*parsed, changes)  # type: ignore[assignment]
        new._native = _with_changes(self._native, changes)
        new._labels = {**self._labels, **_checked_labels(labels or {})}
        return new

    @property
    def labels(self) -> dict[str, Label]:
        """Values by name that are columns in the table of :func:`paceline.cluster.sweep`.
        :func:`paceline.grid` sets those of the swept keys, and :meth:`replace` any. They change no run."""
        return dict(self._labels)

    @property
    def name(self) -> str:
        """Its name."""
        return self._native.name

    @property
    def seed(self) -> int:
        """The seed of all random numbers."""
        return self._native.seed

    @property
    def runs(self) -> int:
        """Number of its runs, each with its own seed and start."""
        return self._native.runs

    @property
    def duration_s(self) -> float:
        """Simulated time, in seconds."""
        return self._native.duration_s

    @property
    def warmup_s(self) -> float:
        """Time at the beginning that is not measured, in seconds."""
        return self._native.warmup_s

    @property
    def links(self) -> list[str]:
        """The names of its links."""
        return self._native.links

    @property
    def flows(self) -> list[str]:
        """The names of its flows; several equal flows share one."""
        return self._native.flows

    def to_toml(self) -> str:
        """Returns the text of a scenario file with equal runs."""
        return self._native.to_toml()

    def run(self, *, threads: int = 0) -> Outcome:
        """Makes its runs. Equal scenarios give equal digests, in Python and on the command line.

        Args:
            threads: How many runs at the same time; 0 for one on each core.

        Raises:
            RunError: If it cannot be built.
            KeyboardInterrupt: At once when the user presses Ctrl-C.
        """
        return Outcome(self._native.run(threads=_units.threads(threads)))

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle_scenario, (*self._parsed, self._labels)

    def __repr__(self) -> str:
        return f"<Scenario {self.name!r}: {self.duration_s:g} s, seed {self.seed}>"


def _unpickle_scenario(
    text: str,
    file: str,
    folder: str | None,
    controllers: dict[str, type[Controller]],
    changes: dict[str, Any],
    labels: dict[str, Label],
) -> Scenario:
    scenario = Scenario.__new__(Scenario)
    scenario._read(text, file, folder, controllers, changes)
    scenario._labels = labels
    return scenario


def _checked_labels(labels: Mapping[str, Label]) -> dict[str, Label]:
    checked = {}
    for name, value in labels.items():
        value = _units.plain(value)
        if not isinstance(name, str) or not isinstance(value, (str, int, float)):
            raise TypeError(f"labels[{name!r}]: expected a text, a number or a truth value by name, not {value!r}")
        checked[name] = value
    return checked


def _with_changes(native: _native.Scenario, changes: Mapping[str, Any]) -> _native.Scenario:
    names = ("seed", "duration", "warmup", "bin", "runs", "spread")
    return native.replace(**{name: changes.get(name) for name in names})


def _scheme_name_of_flow(
    flow: Mapping[str, Any], place: str, controllers: dict[str, type[Controller]]
) -> Mapping[str, Any]:
    if not isinstance(flow, Mapping):
        raise TypeError(f"{place}: expected a dictionary, not {type(flow).__name__}")
    scheme = flow.get("scheme")
    if not is_controller(scheme):
        return flow
    name = name_of(scheme)  # type: ignore[arg-type]
    if controllers.setdefault(name, scheme) is not scheme:  # type: ignore[arg-type]
        raise ValueError(f"{place}.scheme: two controllers are called {name!r}")
    return {**flow, "scheme": name}


#: Columns of the tables that an outcome shows; those without any figure are left out.
_SHOWN_OF_LINKS = (
    "name", "capacity_mbps", "throughput_mbps", "utilization", "queue_delay_ms.mean", "queue_delay_ms.p95", "drops",
    "marks",
)  # fmt: skip
_SHOWN_OF_FLOWS = (
    "name", "scheme", "goodput_mbps", "rtt_ms.mean", "rtt_ms.p95", "sent", "retransmits", "timeouts", "transfers",
    "frame_delay_ms.p95", "frozen", "freezes", "video_mbps", "audio_delay_ms.p95",
)  # fmt: skip


class Outcome:
    """Results of a scenario's runs: of one run, unless it has several.

    The fields are those of ``paceline run --json`` (``docs/json.md``). With several runs a figure of
    :attr:`links` and :attr:`flows` is a structure of ``median``, ``p5`` and ``p95`` over the runs, and with
    six runs or more ``median_interval``; :meth:`single` has one of the runs.
    """

    def __init__(self, native: _native.Outcome) -> None:
        self._native = native

    @property
    def name(self) -> str:
        """The scenario's name."""
        return self._native.name

    @property
    def digest(self) -> str:
        """A hash of every arrival of a packet at a sender or receiver in the first run: equal for
        equal runs, on every machine."""
        return self._native.digest

    @property
    def runs(self) -> Frame:
        """A row for each run: ``run``, ``start_ms``, ``seed``, ``goodput_mbps``, ``jain``, ``digest``."""
        return Frame(self._native.runs())

    def single(self, run: int) -> Outcome:
        """Returns one of the runs by its number, from 1 on.

        Raises:
            ValueError: If there is no such run.
        """
        return Outcome(self._native.single(_units.whole("run", run, 2**32 - 1)))

    @property
    def flows(self) -> Frame:
        """A row for each flow."""
        return Frame(self._native.flows())

    @property
    def links(self) -> Frame:
        """A row for each link."""
        return Frame(self._native.links())

    def link_series(self, link: str | None = None) -> Frame:
        """Returns a link of the first run over time, by default the first link: ``time_s``,
        ``capacity_mbps``, ``throughput_mbps``, ``queue_delay_ms``.

        Raises:
            ValueError: If there is no such link, or nothing was recorded over time.
        """
        return _frame_of_series(self._native.link_series(self._or_first(link, "links")))

    def flow_series(self, flow: str | None = None) -> Frame:
        """Returns a flow of the first run over time, by default the first flow: ``time_s``,
        ``goodput_mbps`` and the inner state of its controller.

        Raises:
            ValueError: If there is no such flow, or nothing was recorded over time.
        """
        return _frame_of_series(self._native.flow_series(self._or_first(flow, "flows")))

    def time_series(self, link: str | None = None) -> Plot:
        """Draws capacity, throughput and queueing delay of a link over time, by default of the first
        link. With several runs: medians, and bands of 90 % of the runs."""
        link = self._or_first(link, "links")
        _frame_of_series(self._native.link_series(link))
        return Plot(self._native.time_series_svg(link))

    def _or_first(self, name: str | None, kind: str) -> str:
        return getattr(self, kind)["name"][0] if name is None else name

    def __reduce__(self) -> Any:
        raise TypeError("an Outcome cannot be pickled: pass on its to_dict(), or the Scenario")

    def to_dict(self) -> dict[str, Any]:
        """Returns all results, as ``paceline run --json`` prints them."""
        return json.loads(self._native.json())

    def to_json(self) -> str:
        """The JSON that ``paceline run --json`` prints."""
        return self._native.json()

    def page(self) -> str:
        """The page of ``paceline run -o``: one HTML file without external resources."""
        return self._native.page()

    def __repr__(self) -> str:
        """Shows the figures of links and flows; with several runs medians and ranges of 90 % of the runs."""
        several = ": medians (5th to 95th percentile over the runs)" if len(self.runs) > 1 else ""
        text = [f"{self.name}: {len(self.runs)} {'runs' if several else 'run'}{several}, digest {self.digest}"]
        return "\n\n".join(text + [text_table(columns, caption) for caption, columns in self._shown()])

    def _repr_html_(self) -> str:
        """Shows the tables of ``print`` in a notebook."""
        tables = "".join(html_table(columns, caption) for caption, columns in self._shown())
        return tables + f"<p>digest {self.digest}</p>"

    def _shown(self) -> Iterator[tuple[str, dict[str, list[str]]]]:
        """Returns a caption and the columns of the tables of links and flows."""
        for caption, frame, chosen in (("links", self.links, _SHOWN_OF_LINKS), ("flows", self.flows, _SHOWN_OF_FLOWS)):
            columns = cells(frame.to_dict())
            columns = {name: columns[name] for name in chosen if any(columns.get(name, ()))}
            if columns:
                yield caption, columns


def _frame_of_series(table: _native.Table | None) -> Frame:
    if table is None:
        raise ValueError("nothing was recorded over time: scenario.replace(bin='100ms') records it")
    return Frame(table)


def run(
    scenario: Scenario | str | os.PathLike[str] | Mapping[str, Any],
    *,
    seed: int | None = None,
    duration: _units.Time | None = None,
    bin: _units.Time | None = None,
    runs: int | None = None,
    spread: _units.Time | None = None,
    threads: int = 0,
) -> Outcome:
    """Runs a scenario: a :class:`Scenario`, the path of a file, or a dictionary of its keys.

    Args:
        scenario: The scenario.
        seed: Replaces the scenario's seed.
        duration: Replaces the scenario's duration.
        bin: Records links and flows over time in bins of this length.
        runs: Replaces the scenario's number of runs; 1 to 1000.
        spread: The offset up to which they start, or ``"trace"`` for any in the recordings.
        threads: How many runs at the same time; 0 for one on each core.

    Raises:
        ScenarioError: A mistake, with its place.
        RunError: If it cannot be built.
        OSError: If the file cannot be read.
    """
    if isinstance(scenario, Mapping):
        fields = {_toml._PLURALS.get(key, key): value for key, value in scenario.items()}
        links, flows = fields.pop("link", ()), fields.pop("flow", ())
        scenario = Scenario(links, flows, **fields)
    elif isinstance(scenario, str) and "\n" in scenario:
        raise ValueError("scenario: this is the text of a file: Scenario.from_toml(text) reads it")
    elif not isinstance(scenario, (Scenario, str, os.PathLike)):
        raise TypeError(
            "scenario: expected a Scenario, the path of a file or a dictionary, "
            f"not {type(scenario).__name__}"
        )
    elif not isinstance(scenario, Scenario):
        scenario = Scenario.load(scenario)
    changes = {"seed": seed, "duration": duration, "bin": bin, "runs": runs, "spread": spread}
    if any(value is not None for value in changes.values()):
        scenario = scenario.replace(**changes)
    return scenario.run(threads=threads)
