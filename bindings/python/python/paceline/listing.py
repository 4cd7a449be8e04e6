"""What there is: schemes, queues, traces."""

from __future__ import annotations

from . import _native
from .frame import Frame

__all__ = ["queues", "schemes", "traces"]


def schemes() -> Frame:
    """The built-in schemes: ``name``, ``summary``, ``halves``, ``parameters`` (with their
    units, defaults, ranges, sources and meanings) and ``source``.

    >>> import paceline
    >>> "abc" in paceline.schemes()["name"]
    True
    """
    return Frame(_native.schemes())


def queues() -> Frame:
    """The built-in queues: ``name``, ``summary``, ``parameters`` and ``source``."""
    return Frame(_native.queues())


def traces() -> Frame:
    """The built-in traces: ``trace`` (its name), ``length_s``, ``mean_mbps``, and the recording that
    it is modelled on, ``target_source``.

    >>> import paceline
    >>> "lte-driving" in paceline.traces()["trace"]
    True
    """
    return Frame(_native.traces())
