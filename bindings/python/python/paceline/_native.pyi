"""The extension module in Rust. Users import its names from ``paceline``."""

import random
from typing import Any, Callable, Mapping, Sequence, final

__version__: str

@final
class Table:
    """A table in Arrow's memory layout: see :class:`paceline.Frame`."""

    @staticmethod
    def from_json(text: str) -> Table: ...
    @property
    def column_names(self) -> list[str]: ...
    def column(self, name: str) -> list[Any]: ...
    def flattened(self) -> Table: ...
    def first(self, rows: int) -> Table: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...
    def __len__(self) -> int: ...

@final
class Comparison:
    """See :class:`paceline.Comparison`."""

    def table(self) -> Table: ...
    def summary(self) -> Table: ...
    def ratios(self) -> Table: ...
    def notebook_columns(self) -> list[tuple[str, str, str, bool]]: ...
    def json(self) -> str: ...
    def series(self, index: int) -> Table | None: ...
    def scatter_svg(self) -> str: ...
    def bars_svg(self) -> str: ...
    def time_series_svg(self, trace: str) -> str: ...
    def links(self) -> list[str]: ...
    def page(self, title: str) -> str: ...

def python_schemes(arguments: Sequence[str]) -> list[tuple[str, str]]: ...
def command(
    *,
    arguments: Sequence[str],
    controllers: dict[str, type],
    aliases: Sequence[tuple[str, Sequence[str]]],
    salt: str,
    program: str | None,
) -> int: ...
def compare(
    *,
    traces: Sequence[str],
    schemes: Sequence[str],
    reverse_trace: str | None,
    delay_trace: str | None,
    duration: str,
    warmup: str,
    rtts: list[str],
    jitter: str,
    buffers: list[str],
    flows: int,
    workload: str | None,
    seed: int,
    runs: int,
    spread: str,
    bin: str | None,
    omniscient: bool,
    threads: int,
    controllers: Mapping[str, type] | None,
) -> Comparison: ...
@final
class Scenario:
    """See :class:`paceline.Scenario`."""

    @staticmethod
    def parse(
        text: str, file: str, folder: str | None, controllers: Mapping[str, type] | None
    ) -> Scenario: ...
    def replace(
        self,
        *,
        seed: int | None,
        duration: str | None,
        warmup: str | None,
        bin: str | None,
        runs: int | None,
        spread: str | None,
    ) -> Scenario: ...
    def to_toml(self) -> str: ...
    def run(self, *, threads: int) -> Outcome: ...
    @property
    def name(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def runs(self) -> int: ...
    @property
    def duration_s(self) -> float: ...
    @property
    def warmup_s(self) -> float: ...
    @property
    def links(self) -> list[str]: ...
    @property
    def flows(self) -> list[str]: ...

def run_many(
    scenarios: Sequence[Scenario], *, numbers: Sequence[int] | None, threads: int
) -> list[Outcome | Exception]: ...
def table_of_outcomes(outcomes: Sequence[Outcome], jobs: Sequence[int]) -> Table: ...
def scenario_with_values(scenario: str, values: str) -> str: ...
@final
class Outcome:
    """See :class:`paceline.Outcome`."""

    @property
    def name(self) -> str: ...
    @property
    def digest(self) -> str: ...
    def json(self) -> str: ...
    def runs(self) -> Table: ...
    def single(self, number: int) -> Outcome: ...
    def flows(self) -> Table: ...
    def links(self) -> Table: ...
    def link_series(self, link: str) -> Table | None: ...
    def flow_series(self, flow: str) -> Table | None: ...
    def time_series_svg(self, link: str) -> str: ...
    def page(self) -> str: ...

def schemes() -> Table: ...
def queues() -> Table: ...
def traces() -> Table: ...
def scenario_keys() -> Table: ...
@final
class Feedback:
    """Content of one acknowledgement, or of one expiry of a loss timer, for a controller."""

    now_s: float
    """Time at the sender, in seconds since the run began."""
    mss_bytes: int
    """Size of the largest packet, in bytes on the wire: the unit in which windows grow."""
    acked_bytes: int
    """Bytes newly acknowledged."""
    acked_packets: int
    """Packets newly acknowledged."""
    lost_bytes: int
    """Bytes newly declared lost."""
    lost_packets: int
    """Packets newly declared lost."""
    marked_packets: int
    """Packets newly reported as received with CE."""
    echo: str
    """Mark that the acknowledgement echoes: ``not-ect``, ``ect0``, ``ect1`` or ``ce``; under ABC
    ``ect1`` is an accelerate and ``ect0`` a brake."""
    prior_in_flight_bytes: int
    """Bytes in flight before this acknowledgement."""
    in_flight_bytes: int
    """Bytes in flight after it."""
    cwnd_limited: bool
    """True if the window, not the application or the pacer, has limited sending in the last round
    trip."""
    rtt_ms: float | None
    """RTT of the newest packet newly acknowledged, in milliseconds; ``None`` if there is none."""
    srtt_ms: float
    """Smoothed RTT (RFC 6298) in milliseconds; zero before the first sample."""
    min_rtt_ms: float
    """Minimum RTT of the connection in milliseconds; zero before the first sample."""
    delivered_bytes: int
    """Bytes delivered since the start."""
    round: int
    """Round trips since the start."""
    round_start: bool
    """True on the first acknowledgement of a round trip."""
    delivery_rate_mbps: float | None
    """Sample of the delivery rate in Mbit/s; ``None`` if this acknowledgement gives none."""
    app_limited: bool
    """True if the application, not the window, limited sending during that sample."""
    congestion: str | None
    """Conclusion of the connection, at most once per window: ``loss``, ``ecn``, ``timeout``, or
    ``undo`` if the last reaction was a mistake; and ``loss_after_mark`` in the round trip after
    ``ecn``, which a scheme that halves its window for a mark may ignore."""
    in_recovery: bool
    """True while losses of the last congestion event are being repaired."""

@final
class Plan:
    """Instructions of a controller to its sender, valid until the controller returns another plan.

    Args:
        cwnd_bytes: The congestion window: bytes on the wire that may be in flight; at most 1e9 without
            pacing, since they leave at one moment.
        pacing_mbps: The pacing rate in Mbit/s, at most 1e6; ``None`` sends as soon as the window allows.
        gap_ms: The minimum time between two packets in milliseconds, in addition to the pacing rate.
        burst_bytes: With pacing, packets leave in groups of this many bytes.
        ecn: The ECN code point of outgoing packets: ``not-ect``, ``ect0`` or ``ect1``.
        timer_s: Time of the next call of ``on_timer``, in seconds since the run began, or ``None``.
        reduces_by_prr: Whether a reduction of the window is spread over a round trip by Proportional
            Rate Reduction (RFC 6937) while losses are repaired.
        exact_window: Whether the window is exact. If not, a sender with nothing in flight sends one
            packet even if the window is smaller.

    Raises:
        ValueError: If a number is negative, NaN or too large, or a word is unknown.
    """

    def __new__(
        cls,
        cwnd_bytes: float,
        *,
        pacing_mbps: float | None = None,
        gap_ms: float = 0.0,
        burst_bytes: int = 0,
        ecn: str = "not-ect",
        timer_s: float | None = None,
        reduces_by_prr: bool = True,
        exact_window: bool = False,
    ) -> Plan: ...
    @property
    def cwnd_bytes(self) -> int:
        """The congestion window in bytes."""
    @property
    def pacing_mbps(self) -> float | None:
        """The pacing rate in Mbit/s."""
    @property
    def gap_ms(self) -> float:
        """The minimum time between two packets in milliseconds."""
    @property
    def burst_bytes(self) -> int:
        """The size of groups of packets with pacing, in bytes."""
    @property
    def ecn(self) -> str:
        """The ECN code point of outgoing packets."""
    @property
    def timer_s(self) -> float | None:
        """The time of the next call of ``on_timer``, in seconds since the run began."""
    @property
    def reduces_by_prr(self) -> bool:
        """Whether Proportional Rate Reduction spreads a reduction of the window."""
    @property
    def exact_window(self) -> bool:
        """Whether the window is exact: see :class:`Plan`."""

@final
class Setup:
    """Facts that a controller gets when it is created."""

    @property
    def mss_bytes(self) -> int:
        """The size of the largest packet, in bytes on the wire."""
    @property
    def flow(self) -> int:
        """Number of the flow, from 0."""
    @property
    def connection(self) -> int:
        """Number of the flow's connection: 0 for the first one, plus 1 with each reconnection."""
    def random(self, name: str = "controller") -> random.Random:
        """Returns a random generator, seeded from the run's seed, the flow, the connection and the name:
        equal runs draw equal numbers."""

@final
class Environments:
    """See :mod:`paceline.gym`."""

    FEATURES: int
    BOUND: float
    def __new__(
        cls,
        *,
        count: int,
        traces: Sequence[str],
        rate_mbps: tuple[float, float],
        rtt_ms: tuple[float, float],
        buffer_bdp: tuple[float, float],
        loss: tuple[float, float],
        rivals: Sequence[str],
        step_ms: float,
        steps: int,
        history: int,
        weights: Sequence[float],
        digest: bool,
        threads: int,
    ) -> Environments: ...
    def seed(self, index: int, seed: int) -> None: ...
    def reset(self, chosen: bytes) -> bytearray: ...
    def step(self, actions: bytes) -> tuple[bytearray, bytearray, bytearray]: ...
    def info(self, index: int) -> dict[str, Any]: ...

@final
class RuleTable:
    """See :class:`paceline.remy.RuleTable`."""

    @staticmethod
    def load(name: str) -> RuleTable: ...
    @property
    def about(self) -> str: ...
    def to_toml(self) -> str: ...
    def beginning(self) -> str: ...
    def rules(self, *, link: str, rtt: str, senders: int, duration: str) -> Table: ...
    def __len__(self) -> int: ...

def rule_tables() -> list[str]: ...
def evaluate_on(
    *,
    text: str,
    file: str,
    folder: str | None,
    tables: Sequence[str],
    schemes: Sequence[str],
    duration: str | None,
    first_seed: int,
    count: int,
    repairs: bool,
    threads: int,
) -> Table: ...
def evaluate_network(
    *,
    link: str,
    rtt: str,
    senders: int,
    on: str,
    off: str,
    buffer: str,
    loss: float,
    jitter: str,
    resolution: str | None,
    spread: str,
    tables: Sequence[str],
    schemes: Sequence[str],
    duration: str | None,
    first_seed: int,
    count: int,
    repairs: bool,
    threads: int,
) -> Table: ...
def train(
    *,
    text: str,
    file: str,
    folder: str | None,
    output: str | None,
    generations: int | None,
    budget: str | None,
    cpu_hours: float | None,
    seed: int,
    threads: int,
    ask: Callable[[list[str]], list[str]] | None,
    report: Callable[[str], None] | None,
) -> tuple[str, list[str], str]: ...
def answer(text: str, folder: str | None, question: str) -> str: ...
@final
class Evaluation:
    """See :class:`paceline.Evaluation`."""

    def table(self) -> Table: ...
    def failures(self) -> list[tuple[str, str]]: ...
    def json(self) -> str: ...
    def page(self, command: str) -> str: ...
    def pdf(self, command: str) -> bytes: ...
    def markdown(self, command: str) -> str: ...

def evaluate_schemes(
    *,
    schemes: Sequence[str],
    cases: str,
    only: Sequence[str],
    quick: bool,
    runs: int | None,
    seed: int,
    output: str | None,
    salt: str,
    threads: int,
    controllers: Mapping[str, type] | None,
    progress: Callable[[float, str], Any] | None,
) -> Evaluation: ...

class Reproduction:
    """See :class:`paceline.Reproduction`."""

    def summary(self) -> str: ...
    def table(self) -> Table: ...
    def failures(self) -> list[tuple[str, str]]: ...
    def json(self) -> str: ...
    def page(self) -> str: ...
    def markdown(self) -> str: ...

def list_claims() -> Table: ...
def measure_claims(
    *,
    ids: Sequence[str],
    quick: bool,
    traces: str | None,
    tables: str | None,
    trained: str | None,
    runs: int | None,
    causes: bool,
    seed: int,
    output: str | None,
    threads: int,
) -> Reproduction: ...
