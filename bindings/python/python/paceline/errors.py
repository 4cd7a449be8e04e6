"""Exceptions."""

from __future__ import annotations

__all__ = ["PacelineError", "RunError", "ScenarioError"]


class PacelineError(Exception):
    """The base of Paceline's own exceptions. Wrong arguments raise ``ValueError`` or ``TypeError``."""


class RunError(PacelineError):
    """A valid request that cannot be run; the message has the reason and the remedy."""


class ScenarioError(PacelineError, ValueError):
    """A mistake in a scenario, with its place.

    Attributes:
        message: The mistake.
        help: The remedy, or ``None``.
        file: The file's name; empty for a scenario that was made of Python objects.
        line: The line in the text, from 1, or ``None``.
        column: The column in characters, from 1, or ``None``.
        place: For a scenario that was made of Python objects: the path of the object, such as
            ``flow[0].rtt``; otherwise ``None``.
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
