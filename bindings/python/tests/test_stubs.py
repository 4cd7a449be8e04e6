"""The stub of the extension module has what the module has, with the same arguments."""

import ast
import inspect
import pathlib

import paceline
from paceline import _native

STUB = pathlib.Path(paceline.__file__).with_name("_native.pyi")
TREE = ast.parse(STUB.read_text())


def public(names):
    return {name for name in names if not name.startswith("_")}


def arguments(function):
    every = function.args.posonlyargs + function.args.args + function.args.kwonlyargs
    return [one.arg for one in every if one.arg not in ("self", "cls")]


def test_names():
    known = {node.name for node in TREE.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    assert known == public(dir(_native))


def test_members():
    for node in TREE.body:
        if not isinstance(node, ast.ClassDef):
            continue
        members = {
            part.name if isinstance(part, ast.FunctionDef) else part.target.id
            for part in node.body
            if isinstance(part, (ast.FunctionDef, ast.AnnAssign))
        }
        assert public(members) == public(vars(getattr(_native, node.name))), node.name


def test_help_of_a_controllers_objects_is_that_of_the_stub():
    """``help(paceline.Feedback)`` describes each field, as an editor does."""
    plain = lambda text: " ".join((text or "").split())
    for node in TREE.body:
        if not isinstance(node, ast.ClassDef) or node.name not in ("Feedback", "Plan", "Setup"):
            continue
        there = getattr(_native, node.name)
        assert plain(there.__doc__) == plain(ast.get_docstring(node)), node.name
        for part, after in zip(node.body, [*node.body[1:], None]):
            if isinstance(part, ast.AnnAssign):
                name, text = part.target.id, after.value.value
            elif isinstance(part, ast.FunctionDef) and not part.name.startswith("_"):
                name, text = part.name, ast.get_docstring(part)
            else:
                continue
            assert text and plain(getattr(there, name).__doc__) == plain(text), f"{node.name}.{name}"


def test_arguments():
    for node in TREE.body:
        if isinstance(node, ast.FunctionDef):
            signature = inspect.signature(getattr(_native, node.name))
            assert list(signature.parameters) == arguments(node), node.name
