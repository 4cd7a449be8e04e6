"""Shared by all tests."""

import pathlib

import pytest


@pytest.fixture(autouse=True)
def names_in_doctests(doctest_namespace, tmp_path):
    doctest_namespace["tmp_path"] = tmp_path


@pytest.fixture(scope="session")
def root() -> pathlib.Path:
    """Returns the root of the repository."""
    return pathlib.Path(__file__).parents[3]
