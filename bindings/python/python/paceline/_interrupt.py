"""Interrupts Python code that a run calls on threads of its own, where no signal arrives."""

from __future__ import annotations

import ctypes
from typing import Iterable

__all__ = ["interrupt_threads"]


def interrupt_threads(threads: Iterable[int]) -> None:
    """Raises :class:`KeyboardInterrupt` in threads, named by ``threading.get_ident()``, before the next
    line of Python that each of them executes. A thread that has ended meanwhile is left out."""
    for thread in threads:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread), ctypes.py_object(KeyboardInterrupt)
        )
