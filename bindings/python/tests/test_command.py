"""``python -m paceline``: the commands with classes as schemes, as ``paceline`` starts them."""

import csv
import io
import json
import pathlib
import subprocess
import sys

import pyarrow.parquet
import pytest

import paceline

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

ANSWERS = """import paceline


class Wrong(paceline.Controller):
    def on_feedback(self, feedback):
        return 15000.0

class Begins(paceline.Controller):
    def start(self):
        return 15000

class Few(paceline.Controller):
    def on_feedback(self):
        return None

class Bare(paceline.Controller):
    def __init__(self):
        pass
"""

SHORT = ["--trace", "12Mbps", "--duration", "1s", "--runs", "2", "-q"]


def test_the_package_has_the_command(tmp_path):
    """``pip install`` leaves ``paceline``, which also runs commands that start themselves."""
    command = pathlib.Path(sys.executable).with_name("paceline")
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"paceline {paceline.__version__}\n"
    (tmp_path / "mine.py").write_text(FILE)
    words = ["compare", "--schemes", "./mine.py:Forty,cubic", *SHORT]
    done = subprocess.run([command, *words], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0 and " forty " in done.stdout, done.stderr
    done = subprocess.run([command, "bench", "a", "--json"], capture_output=True, text=True)
    assert done.returncode == 0 and json.loads(done.stdout)["scenarios"], done.stderr
    # A command without classes runs on the main thread, so that it may make user namespaces, and ends with Ctrl-C.
    done = subprocess.run([command, "doctor", "link", "--json"], capture_output=True, text=True)
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert "Invalid argument" not in json.dumps(checks), checks
    # The status is that of the program inside, where emulators can run.
    if checks["an emulator started once"]["verdict"] == "ok":
        done = subprocess.run([command, "delay", "1ms", "-q", "--", "sh", "-c", "exit 7"])
        assert done.returncode == 7
    # `bench` starts `paceline` as another process. If no such file is found, the error names the remedy.
    script = "import sys; sys.executable = '/none/python3'; from paceline.__main__ import main; sys.exit(main(['bench', 'a']))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env={"PATH": "/none"})
    assert done.returncode == 1 and "there is no such program here" in done.stderr, done.stderr


THREADS = """
import threading

import paceline

own = threading.local()


class Counting(paceline.Controller):
    def start(self):
        self.calls, own.calls = 0, 0
        return paceline.Plan(40 * self.setup.mss_bytes)

    def on_feedback(self, feedback):
        self.calls += 1
        own.calls += 1
        assert own.calls == self.calls
"""

ON_THREADS = {
    "compare": ["--schemes", "./counting.py", *SHORT],
    "evaluate": ["./counting.py", "--only", "bufferbloat", "--runs", "1", "-q"],
    "sweep": ["sweep.toml", "-q", "-o", "swept"],
}


@pytest.mark.parametrize("command", ON_THREADS)
def test_a_run_keeps_the_state_of_its_thread(tmp_path, command):
    (tmp_path / "counting.py").write_text(THREADS)
    flow = '[[link]]\nname = "a"\nrate = "12Mbps"\n\n[[flow]]\nscheme = "./counting.py"\npath = ["a"]\n'
    (tmp_path / "run.toml").write_text('duration = "1s"\n\n' + flow)
    (tmp_path / "sweep.toml").write_text('scenario = "run.toml"\n[grid]\n"link.a.rate" = ["6Mbps", "12Mbps"]\n')
    line = [sys.executable, "-m", "paceline", command, *ON_THREADS[command]]
    done = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


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


def test_a_contest_ranks_classes(run, tmp_path):
    line = ["contest", "--training", "12Mbps", "--secret", "6Mbps", "--duration", "1s", "--runs", "2", "-q", "--json"]
    done = run(*line, "--entries", "./mine.py:Forty,copa[delta=0.1|0.5]", "-o", "out")
    assert done.returncode == 0, done.stderr
    entries = [attempt["entry"] for attempt in json.loads(done.stdout)["attempts"]]
    assert sorted(set(entries)) == ["copa[delta=0.1]", "copa[delta=0.5]", "forty", "omniscient"]
    saved = json.loads((tmp_path / "out" / "contest.json").read_text())
    assert "./mine.py:Forty" in saved["made"]["command"] and saved["made"]["seed"] == 1
    failed = run(*line, "--entries", "./mine.py:Broken")
    assert failed.returncode == 1 and "line 19, in on_feedback: ZeroDivisionError" in failed.stderr
    assert failed.stdout == ""
    both = run(*line, "--entries", "./mine.py:Forty", "--command", "x=true")
    assert both.returncode == 2 and "contests of their own" in both.stderr


def test_a_sweep_takes_classes_from_the_folder_of_its_scenario(run, tmp_path):
    folder = tmp_path / "below"
    folder.mkdir()
    (folder / "own.py").write_text(FILE)
    text = '[[link]]\nname = "l"\nrate = "12Mbps"\n[[flow]]\nscheme = "cubic"\nrtt = "50ms"\npath = ["l"]\n'
    (folder / "one.toml").write_text('duration = "1s"\n' + text)
    grid = 'scenario = "one.toml"\n[grid]\n"flow.*.scheme" = ["{}", "cubic"]\n'
    (folder / "grid.toml").write_text(grid.format("./own.py:Forty"))
    done = run("sweep", "below/grid.toml", "-o", "out", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["all_runs"] == 2
    table = pyarrow.parquet.read_table(tmp_path / "out" / "part-1-of-1.parquet").to_pydict()
    assert set(table["flow.*.scheme"]) == {"./own.py:Forty", "cubic"} and "forty" in table["scheme"]
    # Another source is another sweep: it does not overwrite this one's table, and finds none of its runs.
    (folder / "own.py").write_text(FILE.replace("40 *", "20 *"))
    refused = run("sweep", "below/grid.toml", "-o", "out", "--json")
    assert refused.returncode != 0 and "has runs of another sweep" in refused.stderr
    again = json.loads(run("sweep", "below/grid.toml", "-o", "again", "--json").stdout)
    assert again["found_runs"] == 0
    (folder / "grid.toml").write_text(grid.format("./own.py:Broken"))
    failed = run("sweep", "below/grid.toml", "-o", "new", "--json")
    assert failed.returncode == 1 and "line 19, in on_feedback: ZeroDivisionError" in failed.stderr
    assert not (tmp_path / "new" / "part-1-of-1.parquet").exists()


@pytest.mark.parametrize(
    ("scheme", "status", "words"),
    [
        ("./mine.py:Broken", 1, ["mine.py, line 19, in on_feedback: ZeroDivisionError", "return 1 / 0"]),
        ("./mine.py:Nobody", 2, ["there is no controller Nobody in ./mine.py; it has Forty, Broken"]),
        ("./wrong.py", 2, ["wrong.py, line 1: SyntaxError"]),
        ("./fails.py", 2, ["fails.py, line 2, in <module>: ModuleNotFoundError"]),
        ("./answers.py:Wrong", 1, ["answers.py, line 5, in on_feedback: a controller answers with", "not float"]),
        ("./answers.py:Begins", 1, ["answers.py, line 9, in start: a controller answers with", "not int"]),
        ("./answers.py:Few", 1, ["answers.py, line 13, in on_feedback:", "takes 1 positional argument but 2"]),
        ("./answers.py:Bare", 1, ["answers.py, line 17, in __init__:", "takes 1 positional argument but 2"]),
        ("./lacks.py", 2, ["records: Lacks has no attribute 'x'"]),
        ("nowhere:Mine", 2, ["nowhere: Python has no such module here"]),
        ("./mine.py:Forty+codl", 2, ["codl"]),
    ],
)
def test_mistakes_name_the_file_and_the_line(run, tmp_path, scheme, status, words):
    (tmp_path / "wrong.py").write_text("def\n")
    (tmp_path / "fails.py").write_text("\nimport no_such_module_anywhere\n")
    (tmp_path / "answers.py").write_text(ANSWERS)
    lacks = "import paceline\nclass Lacks(paceline.Controller):\n    records = ['x']\n"
    (tmp_path / "lacks.py").write_text(lacks)
    done = run("compare", "--schemes", scheme, *SHORT, "-o", "out")
    assert done.returncode == status, done.stderr
    assert done.stdout == ""
    for word in words:
        assert word in done.stderr
    assert "Traceback" not in done.stderr
