"""A controller of your own: `python NAME.py` compares it with Cubic and ABC on a cellular link."""

import paceline
from paceline import Plan


class Mine(paceline.Controller):
    """Aims at 50 ms of queueing delay."""

    def start(self):
        self.window = 10.0 * self.setup.mss_bytes
        return Plan(self.window)

    def on_feedback(self, feedback):
        if feedback.rtt_ms is None:
            return None
        queueing = (feedback.rtt_ms - feedback.min_rtt_ms) / 50
        share = 0.2 * max(-1.0, min(1.0, 1.0 - queueing))
        self.window = max(2 * feedback.mss_bytes, self.window + share * feedback.acked_bytes)
        return Plan(self.window)


if __name__ == "__main__":
    result = paceline.compare(["lte-driving"], [Mine, "cubic", "abc"], duration="20s", runs=3)
    for row in result.summary.to_dicts():
        used, delay = row["utilization"]["median"], row["queue_delay_ms"]["p95"]["median"]
        print(f"{row['scheme']:<8} {100 * used:5.1f} % of the link used, p95 delay {delay:6.1f} ms")
