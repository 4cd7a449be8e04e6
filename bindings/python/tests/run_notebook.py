"""Runs notebooks from their first cell to their last: run_notebook.py FILE..."""

import pathlib
import sys

import nbclient
import nbformat


def run(path: pathlib.Path, timeout_s: int = 300) -> nbformat.NotebookNode:
    """Returns the notebook with its outputs. A cell that fails raises nbclient's CellExecutionError."""
    notebook = nbformat.read(path, as_version=4)
    # Use the Python that runs this script as kernel.
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    nbclient.NotebookClient(notebook, timeout=timeout_s).execute(cwd=str(path.parent))
    return notebook


if __name__ == "__main__":
    for name in sys.argv[1:]:
        run(pathlib.Path(name))
        print(f"{name}: ran")
