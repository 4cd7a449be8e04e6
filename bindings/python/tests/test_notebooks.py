"""The examples run from their first to their last cell, and the examples in docstrings hold."""

import doctest
import importlib
import pathlib
import pkgutil

import pytest
from run_notebook import run

import paceline

EXAMPLES = sorted((pathlib.Path(__file__).parents[1] / "examples").glob("*.ipynb"))
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(paceline.__path__, "paceline.")
    if not module.name.endswith("_native")
)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_notebooks_run(path, monkeypatch):
    # Makes long examples run in their short version.
    monkeypatch.setenv("PACELINE_QUICK", "1")
    notebook = run(path)
    assert any(cell.get("outputs") for cell in notebook.cells)
    assert all(not cell.get("outputs") for cell in __import__("nbformat").read(path, 4).cells)


@pytest.mark.parametrize("name", ["paceline", *MODULES])
def test_docstrings(name):
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert failed == 0


def test_everything_public_is_documented():
    for name in paceline.__all__:
        assert name == "__version__" or getattr(paceline, name).__doc__, name
