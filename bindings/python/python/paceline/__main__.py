"""The command ``paceline`` of the package, and ``python -m paceline``: all commands, with classes as schemes."""

from __future__ import annotations

import importlib
import importlib.util
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Sequence
from types import ModuleType

from . import _native
from .controller import Controller, names_and_classes
from .evaluation import source_digest


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit status."""
    words = ["paceline", *(sys.argv[1:] if arguments is None else arguments)]
    files: list[str] = []
    has_begun = False
    try:
        classes: dict[str, type[Controller]] = {}
        aliases: list[tuple[str, list[str]]] = []
        for text, place in _native.python_schemes(words):
            found = _classes(place, files)
            names, _ = names_and_classes(found, text)
            for name, one in zip(names, found):
                if classes.setdefault(name, one) is not one:
                    raise ValueError(f"{text}: two controllers are called {name!r}; give one a `name`")
            aliases.append((text, names))
        if not classes and arguments is None:
            # Nothing in Python is to be interrupted: the command handles Ctrl-C as the program does.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        salt = source_digest(classes.values())
        has_begun = True
        return _native.command(
            arguments=words, controllers=classes, aliases=aliases, salt=salt, program=_program()
        )
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        sys.stdout.flush()
        print(f"error: {_described(error, files)}", file=sys.stderr)
        in_method = hasattr(error, "paceline_method")
        return 1 if has_begun and (in_method or _frames(error, files)) else 2


def _program() -> str | None:
    """Returns the file of the command ``paceline``: this process's, that of this environment, or one of the path."""
    beside = os.path.join(os.path.dirname(sys.executable), "paceline")
    for place in (sys.argv[0], beside):
        if os.path.basename(place) == "paceline" and os.path.isfile(place) and os.access(place, os.X_OK):
            return os.path.abspath(place)
    return shutil.which("paceline")


def _classes(place: str, files: list[str]) -> list[type[Controller]]:
    """Returns the controllers of a file, or the one that ``place`` names behind a colon. Adds its file to ``files``."""
    if place.endswith(".py"):
        name, wanted = place, None
    else:
        name, _, wanted = place.rpartition(":")
    module = _file(name, files) if name.endswith(".py") else _module(name, files)
    if wanted is not None:
        one = vars(module).get(wanted)
        if isinstance(one, type) and issubclass(one, Controller):
            return [one]
        names = ", ".join(one.__name__ for one in _own(module)) or "no class that is derived from paceline.Controller"
        raise ValueError(f"{place}: there is no controller {wanted} in {name}; it has {names}")
    found = _own(module)
    if not found:
        raise ValueError(f"{name}: it has no class that is derived from paceline.Controller")
    return found


def _own(module: ModuleType) -> list[type[Controller]]:
    """Returns the controllers that a module defines."""
    return [
        one
        for one in vars(module).values()
        if isinstance(one, type) and issubclass(one, Controller) and one.__module__ == module.__name__
    ]


def _file(name: str, files: list[str]) -> ModuleType:
    """Executes a Python file as a module, once."""
    path = os.path.abspath(name)
    known = sys.modules.get(f"paceline_file:{path}")
    if known is not None:
        return known
    files.append(path)
    spec = importlib.util.spec_from_file_location(f"paceline_file:{path}", path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{name}: this is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    # The file may import its neighbours.
    sys.path.insert(0, os.path.dirname(path))
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[spec.name]
        raise
    return module


def _module(name: str, files: list[str]) -> ModuleType:
    """Imports a module, also from the working directory."""
    if "" not in sys.path and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.split(".")[0] and error.name != name:
            raise
        raise ValueError(
            f"{name}: Python has no such module here; run the command in the module's folder, set PYTHONPATH, "
            "or name the file: ./mine.py:Class"
        ) from None
    if module.__file__ is not None:
        files.append(os.path.abspath(module.__file__))
    return module


def _frames(error: BaseException, files: list[str]) -> list[traceback.FrameSummary]:
    """Returns the calls that led to an error, from the first one in a file of the user on."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [os.path.abspath(frame.filename) in files for frame in frames]
    return list(frames[own.index(True) :]) if True in own else []


def _described(error: BaseException, files: list[str]) -> str:
    """Returns an error with the file and the line of the user's code in which it was raised."""
    last = traceback.format_exception_only(type(error), error)[-1].strip()
    if isinstance(error, SyntaxError) and error.filename is not None:
        return f"{os.path.relpath(error.filename)}, line {error.lineno}: {last}"
    frames = _frames(error, files)
    if not frames:
        # This package has raised it, in words for users.
        return str(error) if isinstance(error, (ValueError, TypeError, OSError)) else last
    frame = frames[-1]
    return f"{os.path.relpath(frame.filename)}, line {frame.lineno}, in {frame.name}: {last}\n  {frame.line}"


if __name__ == "__main__":
    sys.exit(main())
