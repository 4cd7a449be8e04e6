"""Many scenarios: every combination of values, and runs on all processors of this machine."""

from __future__ import annotations

import collections.abc
import datetime
import json
import math
import os
from typing import Any, Iterable, Mapping, Sequence, overload

from . import _native, _toml, _units
from .controller import Controller, is_controller, name_of
from .errors import ScenarioError
from .scenario import Label, Outcome, Scenario

__all__ = ["Grid", "grid", "run_many"]


def run_many(
    scenarios: Iterable[Scenario], *, threads: int = 0, return_exceptions: bool = False
) -> list[Any]:
    """Makes the runs of many scenarios side by side, without Python's lock.

    Args:
        scenarios: The scenarios.
        threads: How many runs at the same time; 0 for one on each core.
        return_exceptions: Returns the exception of a scenario that fails in place of its outcome.

    Returns:
        The :class:`Outcome` of each scenario, in their order.

    Raises:
        RunError: The first scenario that cannot be built, after all others have run. An exception
            in a controller in Python is raised in the same way.
        KeyboardInterrupt: At once when the user presses Ctrl-C.

    >>> import paceline
    >>> base = paceline.Scenario([{"name": "link", "rate": "2Mbps"}], [{"scheme": "cubic"}], "2s")
    >>> outcomes = paceline.run_many(paceline.grid(base, {"link.rate": ["2Mbps", "4Mbps"]}))
    >>> outcomes[0].digest == base.run().digest
    True
    """
    natives = []
    for number, scenario in enumerate(scenarios):
        if not isinstance(scenario, Scenario):
            raise TypeError(
                f"scenarios[{number}]: expected a Scenario, not {type(scenario).__name__}"
            )
        natives.append(scenario._native)
    results = _native.run_many(natives, numbers=None, threads=_units.threads(threads))
    if not return_exceptions:
        for result in results:
            if isinstance(result, BaseException):
                raise result
    return [
        Outcome(result) if isinstance(result, _native.Outcome) else result for result in results
    ]


def grid(base: Scenario, values: Mapping[str, Sequence[Any]]) -> Grid:
    """Returns a scenario for every combination of values of keys; the last key changes first.

    Args:
        base: The scenario whose keys are replaced.
        values: Lists of values by key. A key is a path, as in files of ``paceline sweep``
            (``docs/howto/sweeps.md``): ``"link.*.rate"``, ``"flow.*.scheme"``, ``"seed"``. In a list of
            tables the next name is that of one of them or ``*`` for all; it may be left out if there
            is only one.

    Raises:
        ValueError: If the scenario has no such table, or a list is empty or has a value twice.
        ScenarioError: If the first combination is no valid scenario. Others are tried when they are
            taken.

    >>> import paceline
    >>> base = paceline.Scenario([{"name": "link", "rate": "2Mbps"}], [{"scheme": "cubic"}], "2s")
    >>> [scenario.labels for scenario in paceline.grid(base, {"link.rate": ["2Mbps", "4Mbps"]})]
    [{'link.rate': '2Mbps'}, {'link.rate': '4Mbps'}]
    """
    return Grid(base, values)


class Grid(collections.abc.Sequence[Scenario]):
    """The scenarios of :func:`grid`, each made when it is taken. Their labels are the keys and their values."""

    def __init__(self, base: Scenario, values: Mapping[str, Sequence[Any]]) -> None:
        if not isinstance(base, Scenario):
            raise TypeError(f"base: expected a Scenario, not {type(base).__name__}")
        if not isinstance(values, Mapping) or not values:
            raise TypeError("values: expected lists of values by key: {'link.*.rate': ['6Mbps', '12Mbps']}")
        self._base = base
        self._controllers = dict(base._parsed[3])
        #: For each key the text of its values, and their labels.
        self._values: dict[str, list[tuple[str, Label]]] = {}
        for key, several in values.items():
            if isinstance(several, (str, bytes, Mapping)) or not isinstance(several, Iterable):
                raise TypeError(f"values[{key!r}]: expected a list of values, not {several!r}")
            written = [self._written(key, value) for value in several]
            if not written:
                raise ValueError(f"values[{key!r}]: expected at least one value")
            known: set[str] = set()
            for text, _ in written:
                if text in known:
                    raise ValueError(f"values[{key!r}]: {text} stands in the list twice")
                known.add(text)
            self._values[key] = _of_one_type(written)
        self[0]

    def __len__(self) -> int:
        return math.prod(len(several) for several in self._values.values())

    @overload
    def __getitem__(self, index: int) -> Scenario: ...
    @overload
    def __getitem__(self, index: slice) -> list[Scenario]: ...
    def __getitem__(self, index: int | slice) -> Scenario | list[Scenario]:
        places = range(len(self))[index]
        if isinstance(places, range):
            return [self._scenario(place) for place in places]
        return self._scenario(places)

    def _scenario(self, place: int) -> Scenario:
        """Returns the scenario of a combination, from 0 on."""
        chosen: dict[str, tuple[str, Label]] = {}
        for key in reversed(self._values):
            place, at = divmod(place, len(self._values[key]))
            chosen[key] = self._values[key][at]
        chosen = {key: chosen[key] for key in self._values}
        text, file, folder, _, changes = self._base._parsed
        lines = [f"{_toml.quoted(key)} = {text}" for key, (text, _) in chosen.items()]
        text = _native.scenario_with_values(text, "\n".join(lines))
        scenario = Scenario.__new__(Scenario)
        changes = {name: value for name, value in changes.items() if name not in chosen}
        try:
            scenario._read(text, file, folder, self._controllers, changes)
        except ScenarioError as error:
            # The line is one of a text that the user has not seen.
            place_of_error = "with " + ", ".join(lines)
            raise ScenarioError(error.message, error.help, file, place=place_of_error) from None
        scenario._labels = {**self._base._labels, **{key: label for key, (_, label) in chosen.items()}}
        return scenario

    def _written(self, key: str, value: Any) -> tuple[str, Label]:
        """Returns the text of a value in a scenario file, and its label."""
        if is_controller(value):
            value = self._name(key, value)
        text = _toml._value(key.rpartition(".")[2], value, f"values[{key!r}]")
        value = _units.plain(value)
        if isinstance(value, (str, int, float)):
            return text, value
        # A path or a time is the text in the file, without its quotes; a list or a table is the text itself.
        is_text = isinstance(value, (os.PathLike, datetime.timedelta))
        return text, json.loads(text) if is_text else text

    def _name(self, key: str, controller: type[Controller]) -> str:
        name = name_of(controller)
        if self._controllers.setdefault(name, controller) is not controller:
            raise ValueError(f"values[{key!r}]: two controllers are called {name!r}")
        return name

    def __repr__(self) -> str:
        return f"<Grid: {len(self)} scenarios over {', '.join(self._values)}>"


def _of_one_type(values: list[tuple[str, Label]]) -> list[tuple[str, Label]]:
    """Returns the values with labels of one type, which is that of their column in the table of a sweep: whole
    numbers, numbers or truth values if all are, else texts."""
    types = {type(label) for _, label in values}
    if len(types) == 1:
        return values
    if types == {int, float}:
        return [(text, float(label)) for text, label in values]
    return [(text, label if isinstance(label, str) else text) for text, label in values]
