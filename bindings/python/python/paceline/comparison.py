"""Schemes side by side over one or more links."""

from __future__ import annotations

import operator
from typing import Any, Iterator, Sequence

from . import _native, _units
from ._text import format_cell, html_table, percent, range_cell, text_table
from .controller import Controller, names_and_classes
from .frame import Frame, Plot

__all__ = ["Comparison", "compare"]


class Comparison(Frame):
    """Results of :func:`compare`: a row for each run of each scheme on each trace.

    The columns are the fields of ``runs`` in ``paceline compare --json``, described in
    ``docs/json.md``, among them ``run``, ``start_ms``, ``seed`` and ``digest``. Equal runs have equal
    digests, in Python and on the command line. :attr:`summary` has medians and ranges over the runs,
    :attr:`ratios` the schemes against each other.
    """

    def __init__(self, native: _native.Comparison) -> None:
        super().__init__(native.table())
        self._native = native

    @property
    def digests(self) -> list[str]:
        """Digest of each run: a hash of every arrival of a packet at a sender or receiver."""
        return self["digest"]

    @property
    def summary(self) -> Frame:
        """A row for each scheme on each trace. A figure such as ``utilization`` is a structure of
        ``median``, ``p5`` and ``p95`` over the runs, and with six runs or more ``median_interval``, two
        numbers between which the median lies with a confidence of 95 %."""
        return Frame(self._native.summary())

    @property
    def ratios(self) -> Frame:
        """A row for each pair of schemes on each trace: the first scheme over each of the others, and
        each of the others over the first. Runs with equal numbers are divided, because they have equal
        starts and seeds; the figures are structures as in :attr:`summary`."""
        return Frame(self._native.ratios())

    def to_json(self) -> str:
        """The JSON that ``paceline compare --json`` prints."""
        return self._native.json()

    def series(self, row: int = 0) -> Frame:
        """Returns the link of a row over time: ``time_s``, ``capacity_mbps``, ``throughput_mbps`` and
        ``queue_delay_ms`` (the largest in each bin; missing if no packet left).

        Raises:
            ValueError: If time series were not recorded.
            IndexError: If there is no such row; -1 is the last one.
            TypeError: If the row is no number, for example the name of a scheme or of a variable.
        """
        try:
            row = operator.index(row)
        except TypeError:
            raise TypeError(
                f"row: expected the number of a row, not {row!r}. Variables of a controller are columns of "
                "Outcome.flow_series(): name them in its `records`, and call paceline.run(..., bin='100ms')"
            ) from None
        self._need_series()
        if not -len(self) <= row < len(self):
            raise IndexError(f"row: there are {len(self)} rows, and no row {row}")
        table = self._native.series(range(len(self))[row])
        if table is None:
            raise ValueError(f"row {row} has nothing over time")
        return Frame(table)

    def scatter(self) -> Plot:
        """Throughput over delay: up and right is better."""
        return Plot(self._native.scatter_svg())

    def bars(self) -> Plot:
        """Utilisation and delay of each scheme on each trace."""
        return Plot(self._native.bars_svg())

    def time_series(self, trace: str | None = None) -> Plot:
        """Capacity, throughput and queueing delay over time on one trace; on the first by default. In a
        sweep, a trace is named with its setting: ``"lte-driving, RTT 50ms, buffer 2bdp"``.

        Raises:
            ValueError: If time series were not recorded, or there is no such trace.
        """
        self._need_series()
        traces = self._native.links()
        if trace is None:
            trace = traces[0]
        if trace not in traces:
            raise ValueError(f"there is no trace {trace!r}; the traces are {', '.join(traces)}")
        return Plot(self._native.time_series_svg(trace))

    def _need_series(self) -> None:
        if self._native.series(0) is None:
            raise ValueError("nothing was recorded over time: compare(..., bin='100ms') records it")

    def page(self, title: str = "Schemes compared") -> str:
        """The page of ``paceline compare -o``: one HTML file without external resources."""
        return self._native.page(title)

    def save_page(self, path: Any, title: str = "Schemes compared") -> None:
        """Writes the page into a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.page(title))

    def __repr__(self) -> str:
        """Shows medians and, for several runs, ranges of 90 % of the runs: a table for each link."""
        return "\n\n".join(text_table(columns, caption) for caption, columns in self._shown())

    def _repr_html_(self) -> str:
        """Shows the tables of ``print`` in a notebook."""
        return "".join(html_table(columns, caption) for caption, columns in self._shown())

    def _shown(self) -> Iterator[tuple[str, dict[str, list[str]]]]:
        """Returns a caption and the columns of each link's table."""
        rows = self.summary.to_dicts()
        duration = format_cell(self["duration_s"][0]) if rows else ""
        for trace in dict.fromkeys(row["trace"] for row in rows):
            here = [row for row in rows if row["trace"] == trace]
            names = ["rtt", "buffer", "scheme"] if "rtt" in here[0] else ["scheme"]
            columns: dict[str, list[str]] = {name: [row[name] for row in here] for name in names}
            for heading, field, part, is_share in self._native.notebook_columns():
                figures = [row[field][part] if part and row[field] else row[field] for row in here]
                columns[heading] = [range_cell(figure, percent if is_share else format_cell) for figure in figures]
            runs = max(row["runs"] for row in here)
            about = f"{trace}: {range_cell(here[0]['capacity_mbps'])} Mbit/s for {duration} s"
            several = f", {runs} runs: medians (5th to 95th percentile over the runs)"
            yield about + (several if runs > 1 else ""), columns


def compare(
    traces: _units.Link | Sequence[_units.Link] = ("lte-driving",),
    schemes: str | type[Controller] | Sequence[str | type[Controller]] = ("abc", "cubic", "cubic+codel"),
    *,
    duration: _units.Time = "60s",
    warmup: _units.Time = "0s",
    rtt: _units.Time | Sequence[_units.Time] | None = None,
    buffer: _units.Buffer | Sequence[_units.Buffer] = 250,
    flows: int = 1,
    workload: str | None = None,
    seed: int = 1,
    runs: int = 10,
    spread: _units.Time = "1s",
    jitter: _units.Time = "0s",
    reverse_trace: _units.Link | None = None,
    delay_trace: _units.Link | None = None,
    omniscient: bool = False,
    bin: _units.Time | None = None,
    threads: int = 0,
) -> Comparison:
    """Runs schemes over links, as ``paceline compare`` does. Equal arguments give equal results.

    Args:
        traces: Links: built-in traces (:func:`paceline.traces`), trace files, or rates such as
            ``"12Mbps"``.
        schemes: Schemes as on the command line, ``"cubic+codel[target=50ms]"``; ``"all"`` is every
            built-in one. A subclass of :class:`paceline.Controller` is a scheme, too.
        duration: Simulated time: text with a unit, or seconds.
        warmup: Time at the beginning that is not measured.
        rtt: The round-trip propagation delay, half in each direction; 100 ms by default, and 0 with a
            ``delay_trace``, whose recorded delay is added. A list sweeps: each link is compared with each RTT
            and each buffer, and rows have the columns ``rtt`` and ``buffer``.
        buffer: The limit of the link's queue: packets, or text such as ``"64kB"``, ``"50ms"`` (the bytes
            of 50 ms at the link's mean rate), ``"1bdp"``, ``"inf"``, or ``"sojourn=50ms"``, which drops
            packets that have waited longer. A list sweeps, as for ``rtt``.
        flows: Number of flows of each scheme.
        workload: What the application of each flow sends, one key of a scenario's flow: ``"video"``, ``'video = {
            max = "4Mbps" }'``, ``'limited = { rate = "1Mbps" }'``; by default as much as the flow carries. With
            a video, the columns include what a person sees of a call (``frame_delay_ms``, ``frozen``).
        seed: The seed of the first run, from which the seeds and starts of the others are drawn.
        runs: Number of runs of each scheme, 1 to 1000. Run 1 has the given seed and starts at 0.
        spread: Offsets in recordings at which runs start: up to this time, or ``"trace"`` for any; the
            recording then wraps. On constant links they start within an RTT.
        jitter: The mean of an additional random delay of acknowledgements (exponential).
        reverse_trace: The link in the opposite direction; without it acknowledgements meet no queue.
        delay_trace: A recording of the one-way delay, which both directions follow.
        omniscient: Adds for each trace a sender that knows the link's future.
        bin: Records each link over time in bins of this length, in all runs.
        threads: Number of runs in parallel; 0 for one per core.

    Raises:
        ValueError: If an argument is invalid; the message names it.
        RunError: If a run cannot be built.
        KeyboardInterrupt: Immediately when the user presses Ctrl-C; the runs end.

    >>> import paceline
    >>> result = paceline.compare(["lte-driving"], ["cubic"], duration="2s", runs=3)
    >>> result["scheme"], result["run"], len(result.digests[0])
    (['cubic', 'cubic', 'cubic'], [1, 2, 3], 16)
    >>> sorted(result.summary["utilization"][0])
    ['median', 'p5', 'p95']
    """
    text = lambda value, argument: None if value is None else _units.link(argument, value)
    links = [_units.link("traces", link) for link in _units.several(traces)]
    names, controllers = names_and_classes(_units.several(schemes), "schemes")
    native = _native.compare(
        traces=links,
        schemes=names,
        reverse_trace=text(reverse_trace, "reverse_trace"),
        delay_trace=text(delay_trace, "delay_trace"),
        duration=_units.time("duration", duration),
        warmup=_units.time("warmup", warmup),
        rtts=[] if rtt is None else [_units.time("rtt", one) for one in _units.several(rtt)],
        jitter=_units.time("jitter", jitter),
        buffers=[_units.buffer("buffer", one) for one in _units.several(buffer)],
        flows=_units.whole("flows", flows, 2**32 - 1),
        workload=workload,
        seed=_units.whole("seed", seed),
        runs=_units.whole("runs", runs, 2**32 - 1),
        spread=_units.time("spread", spread),
        bin=None if bin is None else _units.time("bin", bin),
        omniscient=omniscient,
        threads=_units.threads(threads),
        controllers=controllers or None,
    )
    return Comparison(native)
