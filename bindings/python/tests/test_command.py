"""``python -m paceline``: the commands with classes as schemes, as ``paceline`` starts them."""

import csv
import io
import json
import subprocess
import sys

import pytest

FILE = """
import paceline


class Forty(paceline.Controller):
    records = ("window", "gap")

    def start(self):
        self.window, self.gap = 40.0, None
        return paceline.Plan(40 * self.setup.mss_bytes)

    def on_feedback(self, feedback):
        self.window += 0.0
        return None


class Broken(paceline.Controller):
    def on_feedback(self, feedback):
        return 1 / 0
"""

SHORT = ["--trace", "12Mbps", "--duration", "1s", "--runs", "2", "-q"]


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(FILE)

    def command(*words):
        line = [sys.executable, "-m", "paceline", *words]
        return subprocess.run(line, capture_output=True, text=True, check=False)

    return command


def test_a_class_is_compared_with_all_options(run, tmp_path):
    done = run("compare", "--schemes", "./mine.py:Forty,cubic", *SHORT, "--rtt", "20ms,50ms", "--json", "-o", "out")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["summary"]
    assert [(row["rtt"], row["scheme"]) for row in rows] == [
        ("20ms", "forty"), ("20ms", "cubic"), ("50ms", "forty"), ("50ms", "cubic"),
    ]
    # Forty packets over 50 ms are 9.6 Mbit/s.
    assert 8 < rows[2]["throughput_mbps"]["median"] < 10
    page = (tmp_path / "out" / "compare.html").read_text()
    assert "Inner values of forty over time" in page
    assert "paceline compare --schemes ./mine.py:Forty,cubic" in page
    module = run("compare", "--schemes", "mine:Forty", *SHORT, "--csv", "-")
    assert module.returncode == 0, module.stderr
    assert [row["scheme"] for row in csv.DictReader(io.StringIO(module.stdout))] == ["forty"] * 2


def test_a_scenario_names_a_class_and_its_variables_are_series(run, tmp_path):
    folder = tmp_path / "below"
    folder.mkdir()
    (folder / "own.py").write_text(FILE)
    text = '[[link]]\nname = "l"\nrate = "12Mbps"\n[[flow]]\nscheme = "./own.py:Forty"\nrtt = "50ms"\n'
    (folder / "one.toml").write_text('duration = "1s"\n' + text)
    done = run("run", "below/one.toml", "-q", "--series", "-")
    assert done.returncode == 0, done.stderr
    rows = [row for row in csv.DictReader(io.StringIO(done.stdout)) if row["kind"] == "flow"]
    assert rows[0]["scheme"] == "forty" and len(rows) == 10
    assert {row["state.window"] for row in rows} == {"40"} and {row["state.gap"] for row in rows} == {""}


@pytest.mark.parametrize(
    ("scheme", "status", "words"),
    [
        ("./mine.py:Broken", 1, ["mine.py, line 19, in on_feedback: ZeroDivisionError", "return 1 / 0"]),
        ("./mine.py:Nobody", 2, ["there is no controller Nobody in ./mine.py; it has Forty, Broken"]),
        ("./wrong.py", 2, ["wrong.py, line 1: SyntaxError"]),
        ("./fails.py", 2, ["fails.py, line 2, in <module>: ModuleNotFoundError"]),
        ("./lacks.py", 2, ["records: Lacks has no attribute 'x'"]),
        ("nowhere:Mine", 2, ["nowhere: Python has no such module here"]),
        ("./mine.py:Forty+codl", 2, ["codl"]),
    ],
)
def test_mistakes_name_the_file_and_the_line(run, tmp_path, scheme, status, words):
    (tmp_path / "wrong.py").write_text("def\n")
    (tmp_path / "fails.py").write_text("\nimport no_such_module_anywhere\n")
    lacks = "import paceline\nclass Lacks(paceline.Controller):\n    records = ['x']\n"
    (tmp_path / "lacks.py").write_text(lacks)
    done = run("compare", "--schemes", scheme, *SHORT, "-o", "out")
    assert done.returncode == status, done.stderr
    assert done.stdout == ""
    for word in words:
        assert word in done.stderr
    assert "Traceback" not in done.stderr
