"""Lists of built-in schemes, queues and traces, and of scenario keys."""

from __future__ import annotations

from . import _native
from .frame import Frame

__all__ = ["queues", "scenario_keys", "schemes", "traces"]


def schemes() -> Frame:
    """Returns the built-in schemes: ``name``, ``summary``, ``halves``, ``parameters`` (with their
    units, defaults, ranges, sources and meanings) and ``source``.

    >>> import paceline
    >>> "abc" in paceline.schemes()["name"]
    True
    """
    return Frame(_native.schemes())


def queues() -> Frame:
    """Returns the built-in queues: ``name``, ``summary``, ``parameters`` and ``source``."""
    return Frame(_native.queues())


def traces() -> Frame:
    """Returns the built-in traces: ``trace`` (its name), ``length_s``, ``mean_mbps``, and the recording
    on which it is modelled, ``target_source``.

    >>> import paceline
    >>> "lte-driving" in paceline.traces()["trace"]
    True
    """
    return Frame(_native.traces())


def scenario_keys() -> Frame:
    """Returns the keys of :class:`paceline.Scenario` and scenario files: ``section`` (``run`` has those of
    the scenario itself, ``flow.video`` those of a flow's ``video``), ``key``, ``kind`` (the form of
    its values, with their range), ``default`` and ``meaning``, in Markdown.

    >>> import paceline
    >>> keys = paceline.scenario_keys().to_dicts()
    >>> [key["kind"] for key in keys if (key["section"], key["key"]) == ("link", "rate")]
    ['rate']
    """
    return Frame(_native.scenario_keys())
