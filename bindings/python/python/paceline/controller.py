"""Controllers written in Python."""

from __future__ import annotations

import difflib
import os
import re
from typing import Any, ClassVar, Iterable, Sequence

from ._native import Feedback, Plan, Setup

__all__ = ["Controller", "Feedback", "Plan", "Setup"]

_NAME = re.compile(r"[a-z][a-z0-9_]*\Z")


class Controller:
    """The sender's half of a scheme. A subclass is used like the name of a built-in scheme, in
    :func:`paceline.compare` and in scenarios; each flow has an instance of its own.

    Equal runs give equal results if a controller decides only by its arguments: it must take random
    numbers from ``setup.random()``, not from a generator that runs share, and no times from clocks. An
    exception in a method ends the run and is raised in the caller of the run, with its traceback.
    Ctrl-C also interrupts a method that does not return, at its next line of Python.

    >>> import paceline
    >>> class Sixty(paceline.Controller):
    ...     "Keeps sixty packets in flight, whatever happens."
    ...     def start(self):
    ...         return paceline.Plan(60 * self.setup.mss_bytes)
    >>> result = paceline.compare(["12Mbps"], [Sixty, "cubic"], duration="2s", runs=2)
    >>> result.summary["scheme"]
    ['sixty', 'cubic']
    """

    name: ClassVar[str] = ""
    """Name of the scheme; the class's name in lower case by default."""

    needs: ClassVar[Sequence[str]] = ()
    """Signals that it requires: ``"ecn"``, ``"echo"``, ``"delivery-rate"``. If one
    is not available, there is an error before the first packet."""

    records: ClassVar[Sequence[str]] = ()
    """Attributes whose values are recorded over time, in runs with time series: numbers, or ``None`` for a gap.
    ``records = ("gradient",)`` records ``self.gradient`` at the end of each bin. They are columns of
    :meth:`paceline.Outcome.flow_series` and of ``paceline run --series FILE``, and plots on pages."""

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        known = [name for name in vars(Controller) if name.startswith("on_")]
        for name, value in vars(cls).items():
            if name.startswith("on_") and callable(value) and name not in known:
                near = difflib.get_close_matches(name, known, n=1, cutoff=0.75)
                mean = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)};"
                raise TypeError(
                    f"{cls.__name__}.{name}: no method of this name is called; {mean} "
                    "Methods of your own have names that do not begin with on_"
                )

    def __init__(self, setup: Setup | None = None) -> None:
        if setup is None:
            name = type(self).__name__
            raise TypeError(f"give the class, {name} in place of {name}(): each flow makes an instance of its own")
        self.setup = setup

    def start(self) -> Plan | None:
        """Returns the plan before the first acknowledgement; ten packets by default."""
        return None

    def on_feedback(self, feedback: Feedback) -> Plan | None:
        """Processes an acknowledgement or the expiry of a loss timer. ``None`` keeps the plan."""
        return None

    def on_timer(self, now_s: float) -> Plan | None:
        """Called at the plan's ``timer_s``, in seconds since the run began. The timer is then off
        until a plan sets it again."""
        return None

    def on_send(self, now_s: float, number: int, size_bytes: int, repeated: bool) -> Plan | None:
        """Called when a packet leaves; ``repeated`` is true for a retransmission. Only called
        if a class has this method."""
        return None

    def on_idle(self, now_s: float, idle_s: float) -> Plan | None:
        """Called when sending resumes with nothing in flight, ``idle_s`` after the last packet."""
        return None


def is_controller(value: object) -> bool:
    """True for a subclass of :class:`Controller`."""
    return isinstance(value, type) and issubclass(value, Controller)


def name_of(controller: type[Controller]) -> str:
    """Returns the scheme name of a class."""
    name = controller.__dict__.get("name") or controller.__name__.lower()
    if not _NAME.match(name):
        raise ValueError(
            f"{controller.__name__}: {name!r} is no name for a scheme: small letters, digits and _; "
            "set name = 'mine' in the class"
        )
    return name


def place_of(controller: type[Controller], method: str) -> str:
    """Returns where a method is defined, as messages name it: ``mine.py, line 12, in on_feedback``."""
    code = getattr(getattr(controller, method, None), "__code__", None)
    if code is None:
        return f"{controller.__name__}.{method}"
    is_file = os.path.isfile(code.co_filename)
    name = os.path.relpath(code.co_filename) if is_file else code.co_filename
    return f"{name}, line {code.co_firstlineno}, in {method}"


def names_and_classes(
    schemes: Iterable[Any], argument: str
) -> tuple[list[str], dict[str, type[Controller]]]:
    """Returns the schemes as text, and the classes among them by their names."""
    texts: list[str] = []
    classes: dict[str, type[Controller]] = {}
    for scheme in schemes:
        if is_controller(scheme):
            name = name_of(scheme)
            if classes.setdefault(name, scheme) is not scheme:
                raise ValueError(f"{argument}: two controllers are called {name!r}")
            texts.append(name)
        elif isinstance(scheme, str):
            texts.append(scheme)
        else:
            raise TypeError(
                f"{argument}: expected a scheme such as 'cubic' or a subclass of "
                f"paceline.Controller, not {scheme!r}"
            )
    return texts, classes
