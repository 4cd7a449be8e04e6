"""Keys of the runs of a sweep: a change of a controller or of a named file changes them."""

import functools
import os
import subprocess
import sys

import paceline
from paceline._identity import RunKeys, controller_code
from paceline._parts import Job


def code(**members):
    """Returns the code of a controller with these members."""
    return controller_code(type("Mine", (paceline.Controller,), {"__qualname__": "Mine", **members}))


def adder(amount):
    return lambda self: amount


class Setting:
    def __init__(self, value):
        self.value = value


def test_changed_controllers_have_other_codes():
    def first(self, packets=10):
        return packets

    def second(self, packets=20):
        return packets

    second.__code__ = first.__code__
    changes = [
        ({"start": first}, {"start": second}),
        ({"start": adder(1)}, {"start": adder(2)}),
        ({"start": adder(adder(1))}, {"start": adder(adder(2))}),
        ({"start": staticmethod(adder(1))}, {"start": staticmethod(adder(2))}),
        ({"rate": property(adder(1))}, {"rate": property(adder(2))}),
        ({"rate": functools.cached_property(adder(1))}, {"rate": functools.cached_property(adder(2))}),
        ({"rate": functools.partial(first, 1)}, {"rate": functools.partial(first, 2)}),
        ({"table": list(range(100_000))}, {"table": [*range(99_999), 0]}),
        ({"table": {"a": 1}}, {"table": {"a": 2}}),
        ({"setting": Setting(1)}, {"setting": Setting(2)}),
    ]
    for before, after in changes:
        assert code(**before) == code(**before), before
        assert code(**before) != code(**after), after
    # A function without text counts with its instructions.
    functions = {}
    for number in range(2):
        exec(f"def start{number}(self):\n    return {number}", functions)
    assert code(start=functions["start0"]) == code(start=functions["start0"])
    assert code(start=functions["start0"]) != code(start=functions["start1"])


def test_values_that_contain_themselves_end():
    table = [1]
    table.append(table)
    assert code(table=table) == code(table=table)


def test_a_long_array_is_compared_whole():
    import numpy

    before, after = numpy.zeros(10_000), numpy.zeros(10_000)
    after[5000] = 1
    assert code(table=before) == code(table=before.copy())
    assert code(table=before) != code(table=after)


def test_codes_are_equal_in_all_processes():
    program = (
        "import paceline\n"
        "from paceline._identity import controller_code\n"
        "class Setting:\n    def __init__(self): self.names = {'a', 'b', 'c'}\n"
        "class Mine(paceline.Controller):\n"
        "    names = {'x', 'y', 'z'}\n    setting = Setting()\n"
        "    def start(self): return super().start()\n"
        "print(controller_code(Mine))"
    )
    seen = set()
    for seed in ["1", "2", "3"]:
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        seen.add(subprocess.check_output([sys.executable, "-c", program], env=environment))
    assert len(seen) == 1


def test_changed_files_change_keys(tmp_path):
    def key(text, changes=None):
        return RunKeys().of(Job(0, 1, (text, "a.toml", str(tmp_path), {}, changes or {}), {}))

    recording, table = tmp_path / "ride.down", tmp_path / "t.toml"
    named = '[[link]]\nname = "link"\ntrace = "ride.down"\n[[flow]]\nscheme = "remy[file=t.toml]"\n'
    changes = {"link.trace": ["ride.down"]}
    before = key(named), key("", changes), key("")
    recording.write_text("1\n2\n")
    with_recording = key(named), key("", changes), key("")
    assert before[:2] != with_recording[:2] and before[2] == with_recording[2]
    recording.write_text("1\n3\n")
    changed = key(named), key("", changes), key("")
    assert changed[0] != with_recording[0] and changed[1] != with_recording[1] and changed[2] == before[2]
    table.write_text("")
    assert key(named) != changed[0] and key("", changes) == changed[1]
