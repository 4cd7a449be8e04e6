"""Tables of rules: loading, descriptions, evaluation, training; and the papers' claims."""

import pytest

import paceline
from paceline import remy

SPECIFICATION = """
duration = "3s"
[networks]
link = { from = "5Mbps", to = "10Mbps", steps = 2 }
rtt = "100ms"
senders = 2
on = "1s"
off = "1s"
"""


def test_tables_and_words(tmp_path):
    name = remy.tables()[0]
    table = remy.load(name)
    rules = table.rules(duration="10s")
    assert len(rules) == len(table) > 0 and sum(rules["uses"]) > 0
    assert "rule" in remy.show(table, duration="10s")
    (tmp_path / "mine.toml").write_text(table.to_toml())
    mine = remy.load(tmp_path / "mine.toml")
    assert mine.rules(duration="10s")["uses"] == rules["uses"]
    result = paceline.compare("12Mbps", [table.scheme, mine.scheme], duration="3s", runs=1)
    assert result.digests[0] == result.digests[1]
    with pytest.raises(ValueError, match="a built-in table would be one of"):
        remy.load("nothing.dna")


def test_eval_on_one_network_and_on_a_specification():
    name = remy.tables()[0]
    rows = remy.eval(name, schemes="cubic", duration="5s", seeds=2)
    assert rows["table"] == [name, "cubic"]
    assert rows.to_pandas()["normalized_score_per_sender"].notna().all()
    rows = remy.eval([name], schemes=["newreno"], on=SPECIFICATION, seeds=2)
    assert rows.to_dicts(flat=True)[0]["score.ci95"] is not None
    assert len(rows["specimens"][0]) == 2
    with pytest.raises(ValueError, match="tables, schemes"):
        remy.eval()
    # The specification has networks of its own.
    for given in [{"link": "100Mbps"}, {"loss": 0.0}, {"resolution": "1ms"}, {"spread": "2s"}]:
        with pytest.raises(ValueError, match=f"{next(iter(given))}: the specification of `on`"):
            remy.eval([name], on=SPECIFICATION, seeds=2, **given)


def test_training_goes_on_and_is_the_same(tmp_path):
    whole = remy.train(SPECIFICATION, generations=1, seed=2)
    steps = []

    def stop(entry):
        steps.append(entry)
        if len(steps) == 2:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        remy.train(SPECIFICATION, tmp_path, generations=1, seed=2, on_step=stop)
    again = remy.train(SPECIFICATION, tmp_path, generations=1, seed=2)
    assert again.to_toml() == whole.to_toml()
    assert again.log["step"] == list(range(1, len(again.log) + 1))
    assert again.report["end"] == "generations"
    table = again.save(tmp_path / "mine.toml")
    assert len(table) == again.report["rules"]
    with pytest.raises(paceline.RunError, match="another seed"):
        remy.train(SPECIFICATION, tmp_path, generations=1, seed=3)
    with pytest.raises(ValueError, match="no end"):
        remy.train(SPECIFICATION)
    with pytest.raises(ValueError):
        remy.train("duration = 1\n", generations=1)


def test_a_mistake_in_a_specification_names_the_file(tmp_path):
    file = tmp_path / "wrong.toml"
    file.write_text("duration = 3\n")
    for call in (lambda: remy.train(file, generations=1), lambda: remy.eval("starter", on=file)):
        with pytest.raises(ValueError, match="wrong.toml: "):
            call()
    with pytest.raises(ValueError, match="specification: "):
        remy.train("duration = 3\n", generations=1)
    with pytest.raises(TypeError, match="specification: expected a file or its text, not int"):
        remy.train(3, generations=1)


def test_claims():
    listed = paceline.claims()
    assert len(listed) > 50
    with pytest.raises(ValueError, match="there is no claim"):
        paceline.reproduce("Z99")
    result = paceline.reproduce("A01", quick=True)
    row = result.to_dicts()[0]
    assert row["id"] == "A01" and row["measured"] and row["verdict"]
    assert result.summary.startswith("Claims: 1,") and not result.failures
    assert result.measures and result.page().startswith("<!DOCTYPE html>")
