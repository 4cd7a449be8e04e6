"""Paceline: congestion control on wireless links, simulated.

>>> import paceline
>>> result = paceline.compare(traces=["lte-driving"], schemes=["abc", "cubic"], duration="5s", seed=1)
>>> result.summary["scheme"]
['abc', 'cubic']

``docs/python.md`` is the guide; ``docs/json.md`` describes the fields of results.
"""

from . import remy
from ._native import __version__
from .comparison import Comparison, compare
from .controller import Controller, Feedback, Plan, Setup
from .errors import PacelineError, RunError, ScenarioError
from .evaluation import Evaluation, evaluate
from .frame import Frame, Plot
from .listing import queues, scenario_keys, schemes, traces
from .many import grid, run_many
from .reproduction import Reproduction, claims, reproduce
from .scenario import Outcome, Scenario, run

__all__ = [
    "Comparison",
    "Controller",
    "Evaluation",
    "Feedback",
    "Frame",
    "Outcome",
    "PacelineError",
    "Plan",
    "Plot",
    "Reproduction",
    "RunError",
    "Scenario",
    "ScenarioError",
    "Setup",
    "__version__",
    "claims",
    "compare",
    "evaluate",
    "grid",
    "queues",
    "remy",
    "reproduce",
    "run",
    "run_many",
    "scenario_keys",
    "schemes",
    "traces",
]
