"""Comparisons: fields, data frames, plots, mistakes, interrupts."""

import json
import pathlib
import re
import signal
import threading
import time

import numpy
import pandas
import polars
import pyarrow
import pytest

import paceline

ROOT = pathlib.Path(__file__).parents[3]


@pytest.fixture(scope="module")
def result():
    return paceline.compare(
        traces=["lte-driving"], schemes=["abc", "cubic"], duration="10s", seed=1, runs=1, bin="100ms"
    )


@pytest.fixture(scope="module")
def several():
    return paceline.compare(
        ["lte-driving", "12Mbps"], ["abc", "cubic+codel"], duration="3s", runs=7, bin="100ms", omniscient=True
    )


def test_several_runs_have_seeds_and_starts(several):
    document = json.loads(several.to_json())
    assert several.to_dicts() == document["runs"] and len(several) == 2 * 3 * 7
    assert several["run"][:8] == [1, 2, 3, 4, 5, 6, 7, 1]
    assert several["scheme"][14:21] == ["omniscient"] * 7
    # All schemes have equal seeds and starts on a trace; run 1 has the given ones.
    assert several["seed"][:7] == several["seed"][7:14] and several["seed"][0] == 1
    assert several["start_ms"][:7] == several["start_ms"][7:14] and several["start_ms"][0] == 0
    assert all(0 <= start < 1000 for start in several["start_ms"]) and len(set(several.digests[:7])) == 7


def test_summaries_and_ratios_are_tables(several):
    document = json.loads(several.to_json())
    assert several.summary.to_dicts() == document["summary"] and len(several.summary) == 6
    assert several.ratios.to_dicts() == document["ratios"] and len(several.ratios) == 4
    summary = several.summary.to_polars(flat=True)
    row = summary.row(0, named=True)
    values = sorted(several["utilization"][:7])
    assert row["runs"] == 7 and row["utilization.median"] == values[3]
    assert (row["utilization.p5"], row["utilization.p95"]) == (values[0], values[6])
    assert row["queue_delay_ms.p95.median"] > 0 and len(row["utilization.median_interval"]) == 2
    assert several.ratios.to_pandas(flat=True)["utilization.median"][0] > 0
    table = several._repr_html_()
    assert "7 runs" in table and re.search(r"<td>\d\S* \(\d\S*–\d\S*\)</td>", table)


def test_print_shows_medians_and_ranges(several, result, monkeypatch):
    monkeypatch.setenv("COLUMNS", "110")
    text = str(several)
    assert text == repr(several) and "12Mbps: 12 Mbit/s for 3 s, 7 runs: medians" in text
    rows = [line.split() for line in text.splitlines()]
    assert ["abc", "cubic+codel", "omniscient"] == [row[0] for row in rows if len(row) > 3][2:5]
    assert re.search(r"\d \(\d\S*–\d\S*\)", text)
    assert max(len(line) for line in text.splitlines()) <= 110
    lines = str(result).splitlines()
    assert "used %" in lines[1] and len(lines) >= 4 and "(" not in "".join(lines)
    summary = str(several.summary)
    assert summary.startswith("Frame of 6 rows") and "more columns: " in summary
    series = str(result.series(0)).splitlines()
    assert series[0] == "Frame of 100 rows" and series[-1] == "… 80 more rows" and len(series) == 23


def test_help_describes_everything():
    for name in paceline.__all__:
        thing = getattr(paceline, name)
        if not name.startswith("__"):
            assert (thing.__doc__ or "").strip(), name
        if isinstance(thing, type):
            members = {key: value for key, value in vars(thing).items() if not key.startswith("_") and callable(value)}
            assert all((value.__doc__ or "").strip() for value in members.values()), members


def test_a_single_run_is_the_first_of_several(several, result):
    alone = paceline.compare("lte-driving", "abc", duration="3s", runs=1)
    assert alone.digests == several.digests[:1]
    assert "(" not in result._repr_html_().replace("(s)", "") and "runs" not in result._repr_html_()
    anywhere = paceline.compare("lte-driving", "abc", duration="1s", runs=5, spread="trace")
    assert max(anywhere["start_ms"]) > 1000


def test_fields_are_those_of_the_json(result):
    document = json.loads(result.to_json())
    assert document["schema_version"] == 2
    for frame in (result.to_arrow().to_pylist(), result.to_polars().to_dicts(), result.to_dicts()):
        assert frame == document["runs"]
    assert list(result.to_pandas().columns) == list(document["runs"][0])
    documented = (ROOT / "docs/json.md").read_text()
    for field in result.columns:
        assert f"`{field}`" in documented, field


def test_memory_is_shared(result):
    def address(array):
        return array.chunk(0).buffers()[1].address

    one, other = (pyarrow.table(result)["power"] for _ in range(2))
    assert address(one) == address(other)
    assert polars.DataFrame(result)["scheme"].to_list() == ["abc", "cubic"]


def test_flat_tables_have_a_column_for_each_figure(result):
    frame = result.to_pandas(flat=True)
    assert frame["queue_delay_ms.p95"][0] == result.to_dicts()[0]["queue_delay_ms"]["p95"]
    assert frame.dtypes["queue_delay_ms.p95"] == float
    assert isinstance(result.to_polars(flat=True)["drops"].sum(), int)


def test_pandas_does_without_pyarrow(result, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    assert isinstance(result.to_pandas(), pandas.DataFrame)
    with pytest.raises(ImportError, match="pip install pyarrow"):
        result.to_arrow()


def test_seeds_and_digests():
    def digest(seed):
        return paceline.compare("12Mbps", "vivace", duration=3, seed=seed, runs=1).digests

    assert digest(1) == digest(1) != digest(2)


def test_plots_and_pages(result, tmp_path):
    with pytest.raises(ValueError, match=r"fig\.pdf: this writes SVG.*paceline plot"):
        result.scatter().save("fig.pdf")
    for plot in (result.scatter(), result.bars(), result.time_series()):
        assert plot._repr_svg_().startswith("<svg")
    result.save_page(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text().startswith("<!DOCTYPE html>")
    assert "<table>" in result._repr_html_() and "cubic" in result._repr_html_()
    series = result.series(1).to_polars()
    assert series.shape == (100, 4) and series["time_s"][1] == pytest.approx(0.1)
    short = paceline.compare("12Mbps", "cubic", duration=1, runs=2)
    with pytest.raises(ValueError, match="bin='100ms'"):
        short.time_series()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"schemes": "cubik"}, "did you mean `cubic`"),
        ({"schemes": "htcp"}, "take `linux:htcp`"),
        ({"traces": "12Mbsp"}, "traces: "),
        ({"duration": "0s"}, "duration: expected a time above zero"),
        ({"warmup": 70}, "warmup: "),
        ({"buffer": "many"}, "buffer: expected the size"),
        ({"flows": 0}, "flows: "),
        ({"bin": "1us"}, "bin: "),
        ({"traces": []}, "expected at least one"),
        ({"flows": -1}, "flows: expected a whole number"),
        ({"runs": 0}, "runs: expected 1 to 1000"),
        ({"runs": 1001}, "runs: expected 1 to 1000"),
        ({"spread": "wide"}, "spread: "),
        ({"bin": "1ms", "duration": "200s"}, "in each of 10 runs"),
        ({"seed": -1}, "seed: expected a whole number"),
        ({"threads": 1_000_000}, "threads: expected a whole number"),
    ],
)
def test_mistakes_name_the_argument(arguments, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        paceline.compare(**{"traces": "12Mbps", "schemes": "cubic", **arguments})


def test_wrong_types():
    with pytest.raises(TypeError, match="12Mbps"):
        paceline.compare([12])
    with pytest.raises(TypeError, match="subclass of"):
        paceline.compare("12Mbps", [12])


def test_numbers_of_numpy_and_any_iterable():
    plain = paceline.compare("12Mbps", ["cubic"], duration=2, buffer=50, seed=3, runs=2)
    given = paceline.compare(
        iter(["12Mbps"]),
        dict(cubic=1),
        duration=numpy.int64(2),
        buffer=numpy.int32(50),
        seed=numpy.int64(3),
        runs=numpy.int64(2),
    )
    assert given.digests == plain.digests
    with pytest.raises(TypeError, match="duration: .* not timedelta64"):
        paceline.compare("12Mbps", duration=numpy.timedelta64(100, "ns"))
    with pytest.raises(TypeError, match="flows: expected a whole number, not float"):
        paceline.compare("12Mbps", flows=1.5)


def test_frames_have_columns(result):
    assert "scheme" in result and "speed" not in result and 5 not in result
    assert list(result) == result.columns
    with pytest.raises(IndexError, match="no row 9"):
        result.series(9)
    with pytest.raises(TypeError, match="not 'gradient'.*records"):
        result.series("gradient")


def test_lists_of_rtts_and_buffers_are_a_sweep():
    swept = paceline.compare(
        "12Mbps", "cubic", duration="1s", rtt=["20ms", 0.05], buffer=[250, "2bdp"], runs=1, bin="100ms"
    )
    assert list(zip(swept["rtt"], swept["buffer"])) == [
        ("20ms", "250p"), ("20ms", "2bdp"), ("50ms", "250p"), ("50ms", "2bdp"),
    ]
    assert len(swept.summary) == 4
    assert "RTT 50ms, buffer 2bdp" in swept.page()
    assert swept.time_series("12Mbps, RTT 50ms, buffer 2bdp")
    assert "2bdp" in swept._repr_html_()


def test_all_and_the_omniscient_protocol():
    result = paceline.compare("12Mbps", "all", duration="1s", omniscient=True, runs=1)
    assert len(result) > 20 and result["scheme"][-1] == "omniscient"
    assert any(result["note"])


def test_columns_come_in_the_order_of_the_documentation():
    assert paceline.schemes().columns == ["name", "summary", "halves", "parameters", "source"]
    assert paceline.queues().columns == ["name", "summary", "parameters", "source"]
    assert paceline.traces().columns[:3] == ["trace", "length_s", "mean_mbps"]
    assert paceline.claims().columns[:4] == ["id", "paper", "place", "title"]
    with pytest.raises(TypeError, match="columns by name, not 0; to_dicts.. has the rows"):
        paceline.schemes()[0]


def test_listings():
    assert {"abc", "cubic", "remy"} <= set(paceline.schemes()["name"])
    assert {"droptail", "codel"} <= set(paceline.queues()["name"])
    assert "lte-driving" in paceline.traces()["trace"]
    assert paceline.schemes().to_polars()["parameters"][0] is not None
    keys = {"name", "kind", "unit", "default", "range", "source", "doc"}
    assert paceline.schemes()["parameters"][0][0].keys() == keys


def test_other_threads_run_meanwhile():
    counted = 0
    stop = threading.Event()

    def count():
        nonlocal counted
        while not stop.is_set():
            counted += 1
            time.sleep(0.001)

    counter = threading.Thread(target=count)
    counter.start()
    # If a call held the interpreter's lock, nothing would be counted, however often it is repeated.
    for _ in range(20):
        before = counted
        paceline.compare("100Mbps", "cubic", duration="60s", runs=1)
        if counted > before + 10:
            break
    stop.set()
    counter.join()
    assert counted > before + 10


@pytest.mark.parametrize(
    "work",
    [
        lambda: paceline.compare("1Gbps", ["cubic", "bbr"], duration="1h"),
        lambda: paceline.remy.eval(schemes=["cubic"] * 2000, duration="20s", seeds=1),
    ],
)
def test_an_interrupt_ends_the_runs(work):
    # If the tests run in the background, interrupts are ignored from the start.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
    began = time.monotonic()
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            work()
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - began < 60


def test_flows_may_have_a_video():
    result = paceline.compare("3Mbps", "gcc", workload='video = { max = "1Mbps" }', duration="10s", runs=1)
    assert 0.2 < result["throughput_mbps"][0] < 1.2
    assert result.summary["frame_delay_ms"][0] is not None
    with pytest.raises(ValueError, match="workload: expected one key"):
        paceline.compare("3Mbps", "gcc", workload="vidoe", duration="1s")
    with pytest.raises(TypeError):
        paceline.compare("3Mbps", "gcc", workload=3, duration="1s")
