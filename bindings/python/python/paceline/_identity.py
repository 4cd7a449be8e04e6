"""Keys of the runs of a sweep: runs with equal keys have equal results."""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import os
import re
import types
from typing import TYPE_CHECKING, Any, Iterator

from . import _native
from .controller import Controller

if TYPE_CHECKING:
    from ._parts import Job

__all__ = ["RunKeys"]

_SCHEMA = 4
#: Texts of TOML, without their quotes.
_TEXTS = re.compile(r'"((?:[^"\\\n]|\\.)*)"|' + r"'([^'\n]*)'")
_PLAIN = (type(None), bool, int, float, complex, str, bytes)


class RunKeys:
    """Keys of runs, with what was read for them: the code of controllers, and digests of files."""

    def __init__(self) -> None:
        self._codes: dict[type, str] = {}
        self._files: dict[str, str] = {}

    def of(self, job: Job) -> str:
        """Returns the key of a run: its scenario with the contents of the files that it names, the code of its
        controllers, its labels, its number, and the program. Files count as they were when the first run that names
        them got its key."""
        text, _, folder, controllers, changes = job.scenario
        for controller in controllers.values():
            if controller not in self._codes:
                self._codes[controller] = controller_code(controller)
        code = {name: self._codes[controller] for name, controller in controllers.items()}
        files = self._named_files([text, changes], folder)
        identity = [_SCHEMA, _native.__version__, text, folder, changes, code, files, job.run, job.labels]
        return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:24]

    def _named_files(self, scenario: list[Any], folder: str | None) -> dict[str, str]:
        """Returns a digest of each regular file that a text of the scenario names, as `paceline sweep` does: the whole
        text, its part before the last colon, or a parameter in brackets."""
        found = {}
        for text in _texts_in(scenario):
            for name in _names_in(text):
                path = os.path.join(folder, name) if folder is not None else name
                path = path if os.path.exists(path) else name
                digest = self._file_digest(path)
                if digest:
                    found[name] = digest
        return found

    def _file_digest(self, path: str) -> str:
        """Returns the digest of a file's content; an empty text if there is no regular file."""
        if path not in self._files:
            digest = ""
            # Opening a pipe would wait for its writer.
            if os.path.isfile(path):
                try:
                    with open(path, "rb") as file:
                        digest = hashlib.sha256(file.read()).hexdigest()
                except OSError:
                    # The run reports it.
                    pass
            self._files[path] = digest
        return self._files[path]


def _texts_in(value: Any) -> Iterator[str]:
    """Returns the texts of values, and of TOML."""
    if isinstance(value, str):
        yield value
        for double, single in _TEXTS.findall(value):
            try:
                yield json.loads(f'"{double}"') if double else single
            except ValueError:
                yield double
    elif isinstance(value, dict):
        for one in value.values():
            yield from _texts_in(one)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _texts_in(one)


def _names_in(text: str) -> Iterator[str]:
    """Returns what may be a file's name in a text."""
    if "\n" in text or "\0" in text:
        return
    parameters = re.split(r"[\[\],]", text)[1:]
    values = [one.partition("=")[2].strip() for one in parameters]
    yield from (name for name in [text, text.rpartition(":")[0], *values] if name)


def controller_code(controller: type[Controller]) -> str:
    """Returns a digest of a controller's methods, properties and attributes, with those of its bases. A function counts
    with its text, its default arguments and the values that it takes from functions around it; an attribute
    with its whole value. Other classes, modules, and global names count by name alone."""
    digest = hashlib.sha256()
    for base in controller.__mro__:
        if base in (Controller, object):
            continue
        for name, member in sorted(vars(base).items()):
            is_function = inspect.isfunction(inspect.unwrap(getattr(member, "__func__", member)))
            if is_function or not (name.startswith("__") or name == "_abc_impl"):
                digest.update(f"{name} = {_describe(member, ())}\n".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _describe(value: Any, around: tuple[int, ...]) -> str:
    """Returns a text that is equal for equal values, in every process. ``around`` has the objects that the value is
    part of."""
    kind = type(value)
    if kind in _PLAIN:
        return repr(value)
    if id(value) in around:
        return f"<part of itself, {around.index(id(value))}>"
    around = (*around, id(value))

    def each(values: Any) -> list[str]:
        return [_describe(one, around) for one in values]

    if kind in (list, tuple):
        return f"{kind.__name__}({', '.join(each(value))})"
    if kind in (set, frozenset):
        return f"{kind.__name__}({', '.join(sorted(each(value)))})"
    if kind is dict:
        pairs = zip(each(value), each(value.values()))
        return f"dict({', '.join(f'{key}: {one}' for key, one in pairs)})"
    if kind is types.FunctionType:
        return _describe_function(value, around)
    if kind is types.CodeType:
        parts = each([value.co_code, value.co_consts, value.co_names, value.co_varnames])
        return f"code({', '.join(parts)})"
    if kind in (staticmethod, classmethod, types.MethodType):
        owner = [_describe(value.__self__, around)] if kind is types.MethodType else []
        return f"{kind.__name__}({', '.join([_describe(value.__func__, around), *owner])})"
    if kind is property:
        return f"property({', '.join(each([value.fget, value.fset, value.fdel]))})"
    if kind is functools.cached_property:
        return f"cached_property({_describe(value.func, around)})"
    if isinstance(value, (type, types.ModuleType, types.BuiltinFunctionType)):
        return _name_of(value)
    try:
        # As for pickle and copy, which may differ for equal values: pickle writes an object once.
        reduced = value.__reduce_ex__(2)
    except Exception:
        return f"{_name_of(kind)} {value!r}"
    if isinstance(reduced, str):
        return f"{_name_of(kind)} {reduced}"
    function, arguments, *rest = reduced
    rest = [list(one) if isinstance(one, Iterator) else one for one in rest]
    return f"{_name_of(function)}({', '.join(each([arguments, *rest]))})"


def _describe_function(function: types.FunctionType, around: tuple[int, ...]) -> str:
    code = function.__code__
    text = ""
    # Texts from which `exec` makes functions are not kept, and one name means several.
    if code.co_filename not in ("<string>", "<stdin>"):
        try:
            # Not of the function: that would be the text of the one that a decorator has wrapped.
            text = inspect.getsource(code)
        except (OSError, TypeError):
            pass
    text = text or _describe(code, around)
    cells = {}
    for name, cell in zip(code.co_freevars, function.__closure__ or ()):
        try:
            cells[name] = cell.cell_contents
        except ValueError:
            # It has no value yet.
            continue
    values = [function.__defaults__, function.__kwdefaults__, cells]
    return f"function({text!r}, {', '.join(_describe(one, around) for one in values)})"


def _name_of(value: Any) -> str:
    module = getattr(value, "__module__", None)
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None) or repr(value)
    return f"{module}.{name}" if module else name
