"""Evaluations of classes, from Python and by ``python -m paceline``."""

import json
import subprocess
import sys

import pytest

import paceline

CLASS = """
import paceline


class Forty(paceline.Controller):
    def start(self):
        return paceline.Plan(40 * self.setup.mss_bytes)

    def on_feedback(self, feedback):
        return None
"""

ONLY = "bufferbloat,optimistic"


def test_print_shows_figures_and_verdicts():
    answers = paceline.evaluate("vegas", only="bufferbloat", runs=2)
    lines = str(answers).splitlines()
    assert lines[0].startswith("vegas: ") and "good" in lines[0]
    assert lines[1].split()[:5] == ["criterion", "scheme", "figure", "unit", "verdict"]
    row = next(line for line in lines if line.startswith("bufferbloat.delay"))
    assert "vegas" in row and "good" in row and any(word[0].isdigit() for word in row.split())
    assert "<td>vegas</td>" in answers._repr_html_()


def test_a_class_is_evaluated_and_continued(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(CLASS)
    out = tmp_path / "out"
    command = [sys.executable, "-m", "paceline", "evaluate", str(file), "--only", ONLY, "--runs", "1"]
    command += ["--json", "-q", "-o", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["schemes"] == ["forty"]
    rows = {row["id"]: row for row in document["criteria"]}
    # Forty packets over 20 Mbit/s and 50 ms are half a bandwidth-delay product: no queue.
    assert rows["bufferbloat.delay"]["verdict"] == "good"
    assert 40 < rows["bufferbloat.rate"]["median"] < 60
    assert rows["optimistic"]["verdict"] == "not answerable"
    assert (out / "index.html").exists() and (out / "report.md").exists()
    pdf = (out / "report.pdf").read_bytes()
    assert pdf.startswith(b"%PDF-") and pdf.rstrip().endswith(b"%%EOF")
    runs = sorted(path.name for path in (out / "runs").iterdir())
    again = subprocess.run(command, capture_output=True, text=True, check=True)
    assert again.stdout == done.stdout
    assert sorted(path.name for path in (out / "runs").iterdir()) == runs
    # A changed file is another scheme, whatever its class is called.
    file.write_text(CLASS.replace("40 *", "400 *"))
    changed = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    rows = {row["id"]: row for row in changed["criteria"]}
    assert rows["bufferbloat.rate"]["median"] > 90


def test_schemes_and_mistakes():
    answers = paceline.evaluate(["vegas", "cubic"], only="bufferbloat.delay", runs=1)
    assert answers["verdict"] == ["good", "poor"]
    assert "Evaluation of vegas, cubic" in answers.to_markdown()
    with pytest.raises(ValueError, match="cubic.harm"):
        paceline.evaluate("vegas", only="cubic.ham")
    with pytest.raises(ValueError, match="rfc9743"):
        paceline.evaluate("vegas", cases="rfc1")


def test_an_exception_of_a_class_ends_the_evaluation():
    class Broken(paceline.Controller):
        def start(self):
            return paceline.Plan(15000)

        def on_feedback(self, feedback):
            raise ZeroDivisionError("broken")

    with pytest.raises(ZeroDivisionError, match="broken"):
        paceline.evaluate(Broken, only="bufferbloat.delay", runs=1)


def test_a_file_without_a_controller_is_refused(tmp_path):
    file = tmp_path / "empty.py"
    file.write_text("x = 1\n")
    command = [sys.executable, "-m", "paceline", "evaluate", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "no class" in done.stderr
