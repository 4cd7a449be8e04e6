"""Controllers in Python."""

import threading
import traceback

import pytest

import paceline
from paceline import Plan


class Delay(paceline.Controller):
    """Aims at 50 ms of queueing delay."""

    def start(self):
        self.window = 10.0 * self.setup.mss_bytes
        return Plan(self.window)

    def on_feedback(self, feedback):
        if feedback.rtt_ms is None:
            return None
        queueing = (feedback.rtt_ms - feedback.min_rtt_ms) / 50
        share = 0.2 * max(-1.0, min(1.0, 1 - queueing))
        self.window = max(2 * feedback.mss_bytes, self.window + share * feedback.acked_bytes)
        return Plan(self.window)


class Sixty(paceline.Controller):
    def start(self):
        return Plan(60 * self.setup.mss_bytes)


def test_a_run_keeps_the_state_of_its_thread():
    """A state for each call would cost more than the call."""
    own = threading.local()
    counts = []

    class Counting(Sixty):
        def on_feedback(self, feedback):
            own.calls = getattr(own, "calls", 0) + 1
            counts.append(own.calls)

    paceline.compare("12Mbps", Counting, duration="2s", runs=1)
    assert len(counts) > 100 and counts == list(range(1, len(counts) + 1))


def test_beside_built_in_schemes():
    result = paceline.compare("lte-driving", [Delay, "cubic"], duration="10s", runs=2)
    again = paceline.compare("lte-driving", [Delay, "cubic"], duration="10s", runs=2)
    assert result.summary["scheme"] == ["delay", "cubic"]
    assert result.digests == again.digests and result["run"] == [1, 2, 1, 2]
    delays = [row["queue_delay_ms"]["mean"]["median"] for row in result.summary.to_dicts()]
    assert delays[0] < delays[1]


def test_as_the_same_rule_in_rust():
    # A window of 60 packets over 12 Mbit/s and 100 ms: 60 packets per round trip of 101 ms.
    outcome = paceline.run(
        {
            "duration": 10,
            "links": [{"name": "link", "rate": "12Mbps"}],
            "flows": [{"scheme": Sixty, "rtt": 0.1}],
        }
    )
    assert outcome.flows["goodput_mbps"][0] == pytest.approx(60 * 12e-3 / 0.101, rel=0.03)


def test_files_name_controllers():
    text = """
    duration = "2s"
    [[link]]
    name = "link"
    rate = "12Mbps"
    [[flow]]
    scheme = "sixty"
    """
    scenario = paceline.Scenario.from_toml(text, controllers=Sixty)
    assert scenario.run().flows["scheme"] == ["sixty"]
    with pytest.raises(paceline.ScenarioError, match="unknown scheme `sixty`"):
        paceline.Scenario.from_toml(text)
    with pytest.raises(TypeError, match="controllers: expected subclasses"):
        paceline.Scenario.from_toml(text, controllers=["cubic"])
    with pytest.raises(ValueError, match="controllers: two controllers are called 'sixty'"):
        paceline.Scenario.from_toml(text, controllers=[Sixty, type("Sixty", (Sixty,), {})])


@pytest.mark.parametrize("method", ["__init__", "start", "on_feedback", "on_timer", "on_send"])
def test_exceptions_surface_with_their_traceback(method):
    def fail(self, *arguments):
        raise LookupError("nothing there")

    body = {method: fail}
    if method == "on_timer":
        body["start"] = lambda self: Plan(15000, timer_s=0.1)
    broken = type("Broken", (paceline.Controller,), body)
    with pytest.raises(LookupError, match="nothing there") as caught:
        paceline.compare("12Mbps", [broken, "cubic"], duration="2s")
    assert "in fail" in "".join(traceback.format_tb(caught.value.__traceback__))


def test_an_instance_in_place_of_the_class_is_answered():
    with pytest.raises(TypeError, match=r"give the class, Sixty in place of Sixty\(\)"):
        paceline.compare("12Mbps", [Sixty()], duration="1s")


def test_misspelt_methods_are_refused():
    def answer(self, *arguments):
        return None

    with pytest.raises(TypeError, match=r"Mine.on_feedbck: .*did you mean on_feedback\?"):
        type("Mine", (paceline.Controller,), {"on_feedbck": answer})
    with pytest.raises(TypeError, match="Mine.on_cheese: .*there are on_feedback, on_timer, on_send, on_idle;"):
        type("Mine", (paceline.Controller,), {"on_cheese": answer})
    # Values, and classes without any of these methods.
    only = type("Only", (paceline.Controller,), {"on_time": 3, "start": answer, "loss": answer})
    assert paceline.compare("12Mbps", [only], duration="1s", runs=1).summary["scheme"] == ["only"]


def test_wrong_answers():
    class Wrong(paceline.Controller):
        def on_feedback(self, feedback):
            return 15000

    with pytest.raises(TypeError, match=r"test_controller.py, line \d+, in on_feedback: .*or None, not int"):
        paceline.compare("12Mbps", [Wrong], duration="1s")
    with pytest.raises(ValueError, match="cwnd_bytes"):
        Plan(float("nan"))
    # Such plans would send without end in one moment.
    with pytest.raises(ValueError, match="cwnd_bytes: .* without pacing_mbps"):
        Plan(float("inf"))
    with pytest.raises(ValueError, match="pacing_mbps: expected at most"):
        Plan(float("inf"), pacing_mbps=float("inf"))
    assert Plan(float("inf"), pacing_mbps=10).pacing_mbps == 10
    with pytest.raises(ValueError, match="ecn: expected"):
        Plan(1500, ecn="maybe")


def test_plans_show_what_they_are():
    plan = Plan(3000, pacing_mbps=2, gap_ms=1, burst_bytes=1500, ecn="ect0", timer_s=0.5,
                reduces_by_prr=False, exact_window=True)  # fmt: skip
    fields = {
        "cwnd_bytes": 3000, "pacing_mbps": 2, "gap_ms": 1, "burst_bytes": 1500, "ecn": "ect0",
        "timer_s": 0.5, "reduces_by_prr": False, "exact_window": True,
    }  # fmt: skip
    assert {name: getattr(plan, name) for name in fields} == fields
    assert {name: getattr(eval(repr(plan)), name) for name in fields} == fields
    assert repr(Plan(3000)) == "Plan(3000)" and Plan(3000).timer_s is None


def test_timers_pacing_and_random_numbers():
    class Steps(paceline.Controller):
        def start(self):
            self.random = self.setup.random()
            self.times = []
            return Plan(1e9, pacing_mbps=1, timer_s=1)

        def on_timer(self, now_s):
            rate = self.random.choice([2, 4, 8])
            return Plan(1e9, pacing_mbps=rate, timer_s=now_s + 1)

    def digest(seed):
        return paceline.compare("20Mbps", [Steps], duration="5s", seed=seed, runs=1).digests

    assert digest(1) == digest(1) != digest(2)


def test_names():
    class Delay2(Delay):
        name = "cubic"

    with pytest.raises(ValueError, match="there is a scheme called `cubic` already"):
        paceline.compare("12Mbps", [Delay2], duration="1s")
    with pytest.raises(ValueError, match="no name for a scheme"):
        paceline.compare("12Mbps", [type("Straße", (Sixty,), {})], duration="1s")
    with pytest.raises(ValueError, match="two controllers are called"):
        other = type("Sixty", (Sixty,), {})
        paceline.compare("12Mbps", [Sixty, other], duration="1s")
    with pytest.raises(ValueError, match='needs: "fates"'):
        paceline.compare("12Mbps", [type("Needy", (Sixty,), {"needs": ["fates"]})], duration="1s")


def test_told_of_marks():
    class Marked(paceline.Controller):
        needs = ("ecn",)
        heard = 0

        def start(self):
            return Plan(1e6, ecn="ect0")

        def on_feedback(self, feedback):
            type(self).heard += feedback.marked_packets
            return None

    class Rows(Marked):
        pass

    result = paceline.compare("12Mbps", ["cubic"], duration="1s", runs=1)
    assert result["marks"] == [0]
    fields = {
        "duration": 3,
        "links": [{"name": "link", "rate": "12Mbps", "queue": "codel[ecn=true]"}],
        "flows": [{"scheme": Rows, "rtt": 0.05}],
    }
    outcome = paceline.run(fields)
    assert outcome.links["marks"][0] > 0 and Rows.heard > 0
