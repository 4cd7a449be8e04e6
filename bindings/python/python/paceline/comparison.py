"""Schemes side by side over one or more links."""

from __future__ import annotations

from typing import Any, Sequence

from . import _native, _units
from .controller import Controller, names_and_classes
from .frame import Frame, Plot, html_table

__all__ = ["Comparison", "compare"]


class Comparison(Frame):
    """What :func:`compare` has found: a row for each scheme on each trace.

    The columns are the fields of ``paceline compare --json``, described in ``docs/json.md``; equal
    runs have equal digests, here and on the command line.
    """

    def __init__(self, native: _native.Comparison, about: str) -> None:
        super().__init__(native.table())
        self._native = native
        self._about = about

    @property
    def digests(self) -> list[str]:
        """The digest of each run: a hash of every hand-over of a packet."""
        return self["digest"]

    def to_json(self) -> str:
        """The JSON that ``paceline compare --json`` prints."""
        return self._native.json()

    def series(self, row: int = 0) -> Frame:
        """The link of a row over time: ``time_s``, ``capacity_mbps``, ``throughput_mbps`` and
        ``queue_delay_ms`` (the longest of each bin; missing where no packet left).

        Raises:
            ValueError: If nothing was recorded over time.
            IndexError: If there is no such row; -1 is the last one.
        """
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
        """Capacity, throughput and queueing delay over time on one trace; on the first by default.

        Raises:
            ValueError: If nothing was recorded over time, or there is no such trace.
        """
        self._need_series()
        traces = list(dict.fromkeys(self["trace"]))
        if trace is None:
            trace = traces[0]
        if trace not in traces:
            raise ValueError(f"there is no trace {trace!r}; the traces are {', '.join(traces)}")
        return Plot(self._native.time_series_svg(trace))

    def _need_series(self) -> None:
        if self._native.series(0) is None:
            raise ValueError("nothing was recorded over time: compare(..., bin='100ms') records it")

    def page(self, title: str = "Schemes compared") -> str:
        """The page of ``paceline compare -o``: one HTML file that needs nothing else."""
        return self._native.page(title, self._about, "")

    def save_page(self, path: Any, title: str = "Schemes compared") -> None:
        """Writes the page into a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.page(title))

    def _repr_html_(self) -> str:
        text = []
        rows = self.to_dicts(flat=True)
        for trace in dict.fromkeys(row["trace"] for row in rows):
            here = [row for row in rows if row["trace"] == trace]
            columns = {
                "scheme": [row["scheme"] for row in here],
                "Mbit/s": [row["throughput_mbps"] for row in here],
                "used %": [f"{100 * row['utilization']:.1f}" for row in here],
                "delay ms, mean": [row["queue_delay_ms.mean"] for row in here],
                "p95": [row["queue_delay_ms.p95"] for row in here],
                "p99": [row["queue_delay_ms.p99"] for row in here],
                "drops": [row["drops"] for row in here],
                "marks": [row["marks"] for row in here],
                "resent": [row["retransmits"] for row in here],
            }
            about = f"{trace}: {here[0]['capacity_mbps']:.2f} Mbit/s for {here[0]['duration_s']:g} s"
            text.append(html_table(columns, about))
        return "".join(text)


def compare(
    traces: _units.Link | Sequence[_units.Link] = ("lte-driving",),
    schemes: str | type[Controller] | Sequence[str | type[Controller]] = ("abc", "cubic", "cubic+codel"),
    *,
    duration: _units.Time = "60s",
    warmup: _units.Time = "0s",
    rtt: _units.Time | None = None,
    buffer: _units.Buffer = 250,
    flows: int = 1,
    seed: int = 1,
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
        duration: How long to simulate: text with a unit, or seconds.
        warmup: How much of the beginning is not measured.
        rtt: The round-trip propagation delay, half of it each way; 100 ms by default, and 0 with a
            ``delay_trace``, whose recorded delay comes on top.
        buffer: The limit of the link's queue: packets, or text such as ``"64kB"``, ``"50ms"`` (the bytes
            of 50 ms at the link's mean rate), ``"1bdp"``, ``"inf"``, or ``"sojourn=50ms"``, which drops
            packets that have waited for longer.
        flows: How many flows each scheme has.
        seed: The seed of all random numbers.
        jitter: The mean of an additional random delay of acknowledgements (exponential).
        reverse_trace: The link back; without it acknowledgements meet no queue.
        delay_trace: A recording of the one-way delay, which both directions follow.
        omniscient: Adds a row for each trace: a sender that knows the link's future.
        bin: Records each link over time in bins of this length.
        threads: How many runs at the same time; 0 for one on each core.

    Raises:
        ValueError: If an argument makes no sense; the message names it.
        RunError: If a run cannot be built.
        KeyboardInterrupt: At once when the user presses Ctrl-C; the runs end.

    >>> import paceline
    >>> result = paceline.compare(["12Mbps"], ["cubic"], duration="2s")
    >>> result["scheme"], len(result.digests[0])
    (['cubic'], 16)
    """
    text = lambda value, argument: None if value is None else _units.link(argument, value)
    links = [_units.link("traces", link) for link in _units.several(traces)]
    names, controllers = names_and_classes(_units.several(schemes), "schemes")
    length = _units.time("duration", duration)
    native = _native.compare(
        traces=links,
        schemes=names,
        reverse_trace=text(reverse_trace, "reverse_trace"),
        delay_trace=text(delay_trace, "delay_trace"),
        duration=length,
        warmup=_units.time("warmup", warmup),
        rtt=None if rtt is None else _units.time("rtt", rtt),
        jitter=_units.time("jitter", jitter),
        buffer=_units.buffer("buffer", buffer),
        flows=_units.whole("flows", flows, 2**32 - 1),
        seed=_units.whole("seed", seed),
        bin=None if bin is None else _units.time("bin", bin),
        omniscient=omniscient,
        threads=_units.threads(threads),
        controllers=controllers or None,
    )
    about = (
        f"Each scheme ran with {flows} flow{'' if flows == 1 else 's'} for {length} over a link "
        f"whose buffer holds {buffer}{' packets' if isinstance(buffer, int) else ''}. Queueing "
        "delay is the time from a packet's arrival at the queue until it has left the link."
    )
    return Comparison(native, about)
