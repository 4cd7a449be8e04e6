"""Many scenarios on one machine: order, errors of each, grids, labels."""

import datetime
import pathlib
import pickle
import threading

import pytest

import paceline


def base(**fields):
    return paceline.Scenario(
        links=[{"name": "near", "rate": "8Mbps"}, {"name": "far", "rate": "10Mbps"}],
        flows=[{"scheme": "vivace", "rtt": "40ms", "path": ["near", "far"]}],
        **{"duration": "1s", **fields},
    )


BAD = dict(
    links=[{"name": "link", "rate": "1Mbps", "buffer": "1bdp"}],
    flows=[{"scheme": "cubic", "rtt": 0.1}, {"scheme": "cubic", "rtt": 0.2}],
    duration="1s",
)


class Fixed(paceline.Controller):
    def start(self):
        return paceline.Plan(20 * self.setup.mss_bytes)


class Broken(paceline.Controller):
    def on_feedback(self, feedback):
        raise LookupError("no such window")


@pytest.mark.parametrize("threads", [0, 1, 3])
def test_outcomes_are_in_the_order_of_the_scenarios_and_equal_those_of_run(threads):
    scenarios = [base(seed=seed, duration=duration) for seed in (1, 2) for duration in ("3s", "1s")]
    scenarios += [base(runs=3), paceline.Scenario([{"name": "l", "rate": "8Mbps"}], [{"scheme": Fixed}], "1s")]
    outcomes = paceline.run_many(iter(scenarios), threads=threads)
    assert [outcome.to_dict() for outcome in outcomes] == [one.run().to_dict() for one in scenarios]


def test_errors_are_those_of_their_scenarios():
    broken = paceline.Scenario([{"name": "l", "rate": "8Mbps"}], [{"scheme": Broken}], "1s")
    scenarios = [base(), paceline.Scenario(**BAD), broken, base(seed=2)]
    first, bad, raised, last = paceline.run_many(scenarios, return_exceptions=True)
    assert (first.digest, last.digest) == (scenarios[0].run().digest, scenarios[3].run().digest)
    assert isinstance(bad, paceline.RunError) and "bandwidth-delay" in str(bad)
    assert isinstance(raised, LookupError) and raised.__traceback__ is not None
    with pytest.raises(paceline.RunError, match="bandwidth-delay"):
        paceline.run_many(scenarios)
    with pytest.raises(TypeError, match=r"scenarios\[1\]: expected a Scenario, not str"):
        paceline.run_many([base(), "cubic"])
    assert paceline.run_many([]) == []


def test_python_runs_meanwhile():
    stopped, counts = threading.Event(), [0]

    def count():
        while not stopped.is_set():
            counts[0] += 1

    counter = threading.Thread(target=count)
    counter.start()
    try:
        before = counts[0]
        paceline.run_many([base(seed=seed, duration="20s") for seed in range(8)])
        assert counts[0] > before + 10
    finally:
        stopped.set()
        counter.join()


def test_a_grid_has_every_combination_and_the_last_key_changes_first():
    grid = paceline.grid(base(), {"link.*.rate": ["4Mbps", "6Mbps"], "flow.scheme": ["cubic", Fixed, "bbr"]})
    assert len(grid) == 6
    labels = [tuple(scenario.labels.values()) for scenario in grid]
    assert labels[:4] == [("4Mbps", "cubic"), ("4Mbps", "fixed"), ("4Mbps", "bbr"), ("6Mbps", "cubic")]
    assert grid[-1].labels == {"link.*.rate": "6Mbps", "flow.scheme": "bbr"}
    assert [one.labels for one in grid[1:3]] == [one.labels for one in grid][1:3]
    expected = paceline.Scenario(
        links=[{"name": "near", "rate": "6Mbps"}, {"name": "far", "rate": "6Mbps"}],
        flows=[{"scheme": Fixed, "rtt": "40ms", "path": ["near", "far"]}],
        duration="1s",
    )
    assert grid[4].run().digest == expected.run().digest
    with pytest.raises(IndexError):
        grid[6]


def test_values_of_grids_are_as_in_scenarios_and_labels_of_one_type(tmp_path):
    trace = tmp_path / "link.mahi"
    trace.write_text("".join(f"{time}\n" for time in range(1, 100)))
    for key, values, labels in [
        ("seed", [1, 2], [1, 2]),
        ("link.far.after", [{"loss": 0.01}], ["{ loss = 0.01 }"]),
        ("flow.rtt", [0.05, datetime.timedelta(milliseconds=60)], ["\"0.05s\"", "0.06s"]),
        ("warmup", [0, 0.5], [0.0, 0.5]),
        ("flow.slow_start_after_idle", [True, False], [True, False]),
    ]:
        grid = paceline.grid(base(), {key: values})
        assert [scenario.labels[key] for scenario in grid] == labels, key
    only = paceline.Scenario([{"name": "l", "rate": "8Mbps"}], [{"scheme": "cubic"}], "1s")
    traced = paceline.Scenario([{"name": "l", "trace": trace}], [{"scheme": "cubic"}], "1s")
    grid = paceline.grid(traced, {"link.trace": [pathlib.Path(trace), "lte-driving"]})
    assert grid[0].labels == {"link.trace": str(trace)}
    assert grid[0].run().digest == traced.run().digest != only.run().digest
    # Values of a grid replace those of `replace`.
    seeds = paceline.grid(base().replace(seed=7, duration="2s"), {"seed": [3, 4]})
    assert [(one.seed, one.duration_s) for one in seeds] == [(3, 2.0), (4, 2.0)]


def test_wrong_grids_name_the_key():
    for values, error, message in [
        ({"lnk.rate": ["1Mbps"]}, ValueError, "no table `lnk`"),
        ({"link.rate": ["1Mbps"]}, ValueError, r"there are 2 of `link`.*link\.\*\.rate"),
        ({"link.*.rate": ["1 apple"]}, paceline.ScenarioError, r'with "link\.\*\.rate" = "1 apple": '),
        ({"link.*.rate": "1Mbps"}, TypeError, r"values\['link\.\*\.rate'\]: expected a list"),
        ({"link.*.rate": []}, ValueError, "expected at least one value"),
        ({"seed": [1, 2, 1]}, ValueError, r"values\['seed'\]: 1 stands in the list twice"),
        ({"flow.rtt": [0.05, "0.05s"]}, ValueError, '"0.05s" stands in the list twice'),
        ({"link.*.rate": [object()]}, TypeError, "nothing for object"),
        ({"seed": [2**63, 1]}, ValueError, rf"values\['seed'\]: expected a whole number .*not {2**63}"),
        ({}, TypeError, "expected lists of values by key"),
    ]:
        with pytest.raises(error, match=message):
            paceline.grid(base(), values)
    later = paceline.grid(base(), {"link.*.rate": ["1Mbps", "1 apple"]})
    with pytest.raises(paceline.ScenarioError, match="1 apple"):
        later[1]


def test_labels_change_no_run_and_are_pickled():
    labelled = base().replace(labels={"group": "a", "share": 0.5})
    assert labelled.run().digest == base().run().digest
    assert pickle.loads(pickle.dumps(labelled)).labels == {"group": "a", "share": 0.5}
    assert labelled.replace(seed=3, labels={"group": "b"}).labels == {"group": "b", "share": 0.5}
    with pytest.raises(TypeError, match=r"labels\['group'\]: expected a text"):
        base().replace(labels={"group": ["a"]})
