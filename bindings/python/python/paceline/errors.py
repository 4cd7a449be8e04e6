"""What can go wrong."""

from __future__ import annotations

__all__ = ["PacelineError", "RunError", "ScenarioError"]


class PacelineError(Exception):
    """The base of Paceline's own exceptions. Wrong arguments raise ``ValueError`` or ``TypeError``."""


class RunError(PacelineError):
    """What was asked for makes sense, and cannot be run; the message says why and what helps."""


class ScenarioError(PacelineError, ValueError):
    """A mistake in a scenario, with its place.

    Attributes:
        message: What is wrong.
        help: What to do about it, or ``None``.
        file: The file's name; empty for a scenario that was made of Python objects.
        line: The line in the text, from 1, or ``None``.
        column: The column in characters, from 1, or ``None``.
        place: Of a scenario that was made of Python objects: where in them, such as
            ``flow[0].rtt``; else ``None``.
    """

    def __init__(
        self,
        message: str,
        help: str | None = None,
        file: str = "",
        line: int | None = None,
        column: int | None = None,
        place: str | None = None,
    ) -> None:
        self.message = message
        self.help = help
        self.file = file
        self.line = line
        self.column = column
        self.place = place
        super().__init__(message, help, file, line, column, place)

    def __str__(self) -> str:
        if self.place is not None:
            where = f"{self.place}: "
        else:
            parts = [self.file] if self.file else []
            parts += [str(part) for part in (self.line, self.column) if part is not None]
            where = ":".join(parts) + ": " if parts else ""
        remedy = f" ({self.help})" if self.help else ""
        return f"{where}{self.message}{remedy}"
