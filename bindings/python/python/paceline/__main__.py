"""``python -m paceline evaluate FILE.py``: what ``paceline evaluate`` runs for Python files."""

from __future__ import annotations

import argparse
import importlib.util
import shlex
import sys
from collections.abc import Sequence

from .controller import Controller
from .evaluation import Evaluation, evaluate


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit status."""
    parser = argparse.ArgumentParser(prog="paceline", description="Paceline's commands for Python files.")
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("evaluate", help="answer the IETF's questions about a congestion control")
    command.add_argument("schemes", metavar="NAME", nargs="+", help="schemes, and Python files with classes")
    command.add_argument("--cases", default="rfc9743", metavar="DOCUMENTS")
    command.add_argument("--only", action="append", default=[], metavar="ID,...")
    command.add_argument("--quick", action="store_true")
    command.add_argument("--runs", type=int)
    command.add_argument("--seed", type=int, default=1)
    command.add_argument("--threads", type=int, default=0)
    command.add_argument("--json", action="store_true")
    command.add_argument("--strict", action="store_true")
    command.add_argument("-q", "--quiet", action="store_true")
    command.add_argument("-o", "--output", metavar="DIR")
    given = parser.parse_args(arguments)
    try:
        schemes = [scheme for name in given.schemes for scheme in _schemes(name)]
        shows = sys.stderr.isatty() and not given.quiet
        answers = evaluate(
            schemes,
            cases=given.cases,
            only=[part for text in given.only for part in text.split(",") if part],
            quick=given.quick,
            runs=given.runs,
            seed=given.seed,
            output=given.output,
            threads=given.threads,
            progress=_show if shows else None,
        )
    except (ValueError, TypeError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    if shows:
        print("\r\033[K", end="", file=sys.stderr)
    if given.output is not None:
        words = ["paceline", *(sys.argv[1:] if arguments is None else arguments)]
        answers.save(given.output, shlex.join(words))
        if not given.quiet:
            print(f"wrote index.html, report.pdf, report.md and report.json into {given.output}", file=sys.stderr)
    print(answers.to_json() if given.json else _table(answers))
    for run, problem in answers.failures:
        print(f"warning: {run}: {problem}", file=sys.stderr)
    return 1 if given.strict and answers.failures else 0


def _schemes(name: str) -> list[str | type[Controller]]:
    """Returns the controllers of a Python file, or the name of a scheme."""
    if not name.endswith(".py"):
        return [name]
    spec = importlib.util.spec_from_file_location("paceline_evaluated", name)
    if spec is None or spec.loader is None:
        raise ValueError(f"{name}: this is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    found = [
        one
        for one in vars(module).values()
        if isinstance(one, type) and issubclass(one, Controller) and one.__module__ == spec.name
    ]
    if not found:
        raise ValueError(f"{name}: it has no class that is derived from paceline.Controller")
    return list(found)


def _show(share: float, last: str) -> None:
    """Shows the progress in one line of the terminal."""
    bar = "#" * round(32 * share)
    print(f"\r\033[K[{bar:<32}] {100 * share:3.0f} %  {last[:60]}", end="", file=sys.stderr, flush=True)


def _table(answers: Evaluation) -> str:
    """Returns a line for each answer, and the number of each verdict."""
    lines = []
    counts: dict[tuple[str, str], int] = {}
    for row in answers.to_dicts():
        verdict = row["verdict"] or ""
        lines.append(f"{row['id']:<20} {row['scheme']:<16} {verdict:<15} {row['answer']}")
        if verdict:
            counts[row["scheme"], verdict] = counts.get((row["scheme"], verdict), 0) + 1
    for scheme in dict.fromkeys(scheme for scheme, _ in counts):
        words = [f"{count} {verdict}" for (one, verdict), count in counts.items() if one == scheme]
        lines.append(f"{scheme}: {', '.join(words)}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
