"""Scenarios: from files and objects, mistakes with their places, golden digests."""

import pathlib
import pickle
import re

import numpy
import pytest

import paceline

SCENARIOS = pathlib.Path(__file__).parents[3] / "scenarios"
GOLDEN = dict(
    re.findall(r"^scenario (\S+): (\S+) ", (SCENARIOS / "golden.txt").read_text(), re.MULTILINE)
)
FIELDS = {
    "duration": 3,
    "links": [{"name": "link", "rate": "12Mbps"}],
    "flows": [{"scheme": "cubic", "rtt": 0.05}],
}


@pytest.mark.parametrize("name", sorted(GOLDEN))
def test_digests_are_the_native_ones(name):
    assert paceline.run(SCENARIOS / f"{name}.toml").digest == GOLDEN[name]


def test_ten_scenarios_have_golden_digests():
    assert len(GOLDEN) >= 10


def test_objects_and_text_give_equal_runs():
    made = paceline.Scenario(**FIELDS)
    text = """
    duration = "3s"
    [[link]]
    name = "link"
    rate = "12Mbps"
    [[flow]]
    scheme = "cubic"
    rtt = "50ms"
    """
    read = paceline.Scenario.from_toml(text)
    digest = made.run().digest
    assert read.run().digest == digest == paceline.run(FIELDS).digest
    assert paceline.Scenario.from_toml(made.to_toml()).run().digest == digest
    assert pickle.loads(pickle.dumps(made)).run().digest == digest
    other = made.replace(seed=9)
    assert pickle.loads(pickle.dumps(other)).seed == 9


def test_mistakes_in_files_have_line_and_column():
    with pytest.raises(paceline.ScenarioError) as caught:
        paceline.Scenario.from_toml('duration = "1s"\n[[link]]\nname = "a"\nrate = "fast"\n')
    error = caught.value
    assert (error.file, error.line) == ("<text>", 4) and error.column is not None
    assert str(error).startswith("<text>:4:")
    assert isinstance(error, ValueError)
    again = pickle.loads(pickle.dumps(error))
    assert (again.line, str(again)) == (error.line, str(error))


@pytest.mark.parametrize(
    ("change", "place", "words"),
    [
        ({"flows": [{"scheme": "cubik"}]}, "flow[0].scheme", "did you mean `cubic`"),
        ({"links": [{"name": "l", "rate": "12Mpbs"}]}, "link[0].rate", "Mbps"),
        ({"durration": "1s"}, "durration", "did you mean `duration`"),
        ({"flows": [{"scheme": "cubic"}, {"scheme": "bbr", "path": ["x"]}]}, "flow[1].path", "link"),
    ],
)
def test_mistakes_in_objects_name_the_object(change, place, words):
    with pytest.raises(paceline.ScenarioError, match=re.escape(words)) as caught:
        paceline.Scenario(**{**FIELDS, **change})
    assert caught.value.place == place


def test_numbers_of_numpy_and_paths_are_taken(tmp_path):
    trace = tmp_path / "a trace, of mine.up"
    trace.write_text("".join(f"{ms}\n" for ms in range(1, 1000)))

    def digest(link, **fields):
        link = {"name": "link", "after": {"loss": link.pop("loss")}, **link}
        return paceline.run({**FIELDS, "links": [link], **fields}).digest

    plain = digest({"trace": str(trace), "buffer": 50, "loss": 0.01}, duration=3)
    given = digest(
        {"trace": trace, "buffer": numpy.int64(50), "loss": numpy.float64(0.01)},
        duration=numpy.float64(3),
    )
    assert given == plain


def test_bins_that_would_fill_memory_are_refused():
    scenario = paceline.Scenario(**{**FIELDS, "duration": "100h"})
    with pytest.raises(ValueError, match="bin: 1ms makes 360000000 bins"):
        scenario.replace(bin="1ms")
    with pytest.raises(ValueError, match="bin: 1ms makes 360000000 bins"):
        scenario.replace(duration="1s").replace(bin="1ms").replace(duration="100h")
    with pytest.raises(ValueError, match="seed: expected a whole number"):
        scenario.replace(seed=-1)
    # Tables of sweeps have whole numbers with a sign.
    with pytest.raises(ValueError, match="seed: expected a whole number"):
        scenario.replace(seed=2**63)
    assert list(scenario.replace(seed=2**63 - 1, duration="1s").run().runs["seed"]) == [2**63 - 1]


def test_names_of_any_characters_come_back():
    odd = "\"\\\n\x00\x7f\u2028é"
    scenario = paceline.Scenario(
        links=[{"name": odd, "rate": "12Mbps"}],
        flows=[{"name": odd, "scheme": "cubic", "path": [odd]}],
        duration="1s",
        name=odd,
    )
    outcome = scenario.run()
    assert (scenario.name, list(outcome.links["name"]), list(outcome.flows["name"])) == (odd, [odd], [odd])
    grid = paceline.grid(scenario, {f"flow.{odd}.scheme": ["cubic"], "name": [odd]})
    assert (grid[0].name, grid[0].run().digest) == (odd, outcome.digest)


def test_objects_that_no_file_can_hold():
    with pytest.raises(TypeError, match=r"flow\[0\].rtt"):
        paceline.Scenario(**{**FIELDS, "flows": [{"scheme": "cubic", "rtt": object()}]})
    with pytest.raises(ValueError, match=f"seed: expected a whole number .*not {2**63}"):
        paceline.Scenario(**{**FIELDS, "seed": 2**63})


def test_an_outcome_has_frames_plots_and_json():
    outcome = paceline.run(FIELDS, bin="100ms")
    assert outcome.to_dict()["digest"] == outcome.digest
    assert outcome.flows.to_polars()["goodput_mbps"][0] > 5
    assert outcome.links.to_pandas(flat=True)["queue_delay_ms.p95"][0] > 0
    series = outcome.flow_series().to_polars()
    assert "cwnd" in " ".join(series.columns) and len(series) == 30
    assert outcome.time_series()._repr_svg_().startswith("<svg")
    assert "cubic" in outcome._repr_html_() and "cubic" in outcome.page()
    text = str(outcome)
    assert outcome.digest in text and "goodput_mbps" in text and "queue_delay_ms.p95" in text and "cubic" in text
    assert len(paceline.run(FIELDS, bin="1s").link_series()) == 3
    with pytest.raises(ValueError, match="the links are link"):
        outcome.link_series("other")


def test_a_scenario_has_the_runs_that_it_says():
    fields = {**FIELDS, "links": [{"name": "link", "trace": "lte-driving"}]}
    scenario = paceline.Scenario(**fields, runs=7, spread="trace")
    assert (scenario.runs, scenario.replace(runs=2).runs) == (7, 2)
    outcome = scenario.replace(bin="100ms").run()
    assert outcome.runs["run"] == [1, 2, 3, 4, 5, 6, 7] and len(set(outcome.runs["digest"])) == 7
    assert outcome.runs["start_ms"][0] == 0 and max(outcome.runs["start_ms"]) > 1000
    assert outcome.links.to_dicts() == outcome.to_dict()["links"]
    goodput = outcome.flows["goodput_mbps"][0]
    assert goodput["median"] == sorted(outcome.runs["goodput_mbps"])[3]
    third = outcome.single(3)
    assert third.digest == outcome.runs["digest"][2] and third.flows["goodput_mbps"][0] > 0
    assert [row["outcome"]["digest"] for row in outcome.to_dict()["runs"]] == outcome.runs["digest"]
    assert outcome.time_series()._repr_svg_().startswith("<svg")
    assert "cubic" in outcome._repr_html_() and "cubic" in outcome.page()
    assert "medians (5th to 95th percentile over the runs)" in str(outcome) and "–" in str(outcome)
    with pytest.raises(ValueError, match="no run 8"):
        outcome.single(8)


def test_one_run_is_the_scenario_as_it_stands():
    alone = paceline.run(FIELDS)
    assert paceline.run({**FIELDS, "runs": 5}, runs=1).to_json() == alone.to_json()
    assert alone.single(1).digest == alone.digest == alone.runs["digest"][0]
    with pytest.raises(ValueError, match="runs: expected 1 to 1000"):
        paceline.run(FIELDS, runs=0)


def test_a_link_that_cannot_be_built_is_a_run_error():
    fields = {
        "duration": 1,
        "links": [{"name": "link", "rate": "1Mbps", "buffer": "1bdp"}],
        "flows": [{"scheme": "cubic", "rtt": 0.1}, {"scheme": "cubic", "rtt": 0.2}],
    }
    with pytest.raises(paceline.RunError, match="bandwidth-delay product"):
        paceline.run(fields)


def test_a_single_link_and_a_single_flow_need_no_list():
    link, flow = {"name": "link", "rate": "2Mbps"}, {"scheme": "cubic"}
    assert paceline.Scenario(link, flow, 2).to_toml() == paceline.Scenario([link], [flow], 2).to_toml()


def test_what_cannot_be_run_is_told_by_its_argument():
    with pytest.raises(ValueError, match="scenario: this is the text of a file: Scenario.from_toml"):
        paceline.run('duration = "1s"\n')
    with pytest.raises(TypeError, match="scenario: expected a Scenario, the path .* not NoneType"):
        paceline.run(None)


def test_results_say_what_can_be_passed_on_instead():
    link, flow = {"name": "link", "rate": "2Mbps"}, {"scheme": "cubic"}
    outcome = paceline.run({"duration": 1, "links": link, "flows": flow})
    with pytest.raises(TypeError, match="an Outcome cannot be pickled: pass on its to_dict()"):
        pickle.dumps(outcome)
    with pytest.raises(TypeError, match="a Frame cannot be pickled: pass on its to_dicts()"):
        pickle.dumps(outcome.flows)
    assert pickle.loads(pickle.dumps(outcome.to_dict())) == outcome.to_dict()
    with pytest.raises(ValueError, match="link: there is none of this name"):
        outcome.link_series("")
