"""Interrupts Python code on a run's own threads, which get no signals."""

from __future__ import annotations

import ctypes
from typing import Iterable

__all__ = ["interrupt_threads"]


def interrupt_threads(threads: Iterable[int]) -> None:
    """Raises :class:`KeyboardInterrupt` in threads, given by ``threading.get_ident()``, before the
    next line of Python that each of them executes. Ignores threads that have ended."""
    for thread in threads:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread), ctypes.py_object(KeyboardInterrupt)
        )
