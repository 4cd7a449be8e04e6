"""Ctrl-C during a run, also if a controller in Python does not return."""

import signal
import subprocess
import sys

import pytest

# If the tests run in the background, interrupts are ignored from the start.
HEARS = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
"""

# The run begins in the main thread, as in a script. A controller prints when it is in its loop;
# several threads may have one each.
SCRIPT = HEARS + """
import time
import paceline

class Stuck(paceline.Controller):
    def METHOD(self, *arguments):
        print("stuck\\n", end="", flush=True)
        while True:
            BODY

    def start(self):
        return paceline.Plan(15000, timer_s=0.1)

try:
    CALL
except KeyboardInterrupt as interrupt:
    cause = interrupt.__cause__
    lines = []
    trace = cause and cause.__traceback__
    while trace:
        lines.append(trace.tb_frame.f_code.co_name)
        trace = trace.tb_next
    print("interrupted in", lines, flush=True)
print(paceline.compare("12Mbps", ["cubic"], duration="1s", runs=1)["scheme"], flush=True)
"""

COMPARE = 'paceline.compare("12Mbps", [Stuck, "cubic"], duration="60s")'
RUN = """paceline.run({"duration": 60, "links": [{"name": "link", "rate": "12Mbps"}],
                  "flows": [{"scheme": Stuck}]})"""


def interrupted(method, body, call):
    """Returns the lines that such a script prints after a SIGINT."""
    script = SCRIPT.replace("METHOD", method).replace("BODY", body).replace("CALL", call)
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        first = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=300)
    finally:
        process.kill()
    assert process.returncode == 0 and first == "stuck\n", errors
    return [line for line in output.splitlines() if line != "stuck"]


@pytest.mark.parametrize(
    "method, call",
    [("__init__", COMPARE), ("on_feedback", RUN), ("on_timer", COMPARE), ("on_send", COMPARE)],
    ids=["__init__", "on_feedback", "on_timer", "on_send"],
)
def test_a_controller_in_its_own_loop_is_interrupted(method, call):
    lines = interrupted(method, "pass", call)
    # The cause shows where the controller was, and the program continues afterwards.
    assert lines == [f"interrupted in ['{method}']", "['cubic']"]


def test_a_controller_that_sleeps_is_interrupted_when_it_wakes():
    lines = interrupted("on_feedback", "time.sleep(0.3)", COMPARE)
    assert lines == ["interrupted in ['on_feedback']", "['cubic']"]


def test_a_controller_that_catches_exceptions_is_interrupted():
    body = "\n            ".join(["try:", "    time.sleep(0.01)", "except Exception:", "    pass"])
    lines = interrupted("on_feedback", body, COMPARE)
    assert lines == ["interrupted in ['on_feedback']", "['cubic']"]


def test_a_run_of_built_in_schemes_is_interrupted():
    script = HEARS + """
import paceline
try:
    print("begun", flush=True)
    paceline.compare("100Mbps", ["cubic"], duration="100000s")
except KeyboardInterrupt as interrupt:
    print("interrupted", interrupt.__cause__)
"""
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=300)
    finally:
        process.kill()
    assert output == "interrupted None\n"
