// What a controller gets and returns, for the reader: src/sandbox/controllers.ts.

export const PLAN_HELP: [string, string][] = [
  ["on_ack(feedback)", "called for each acknowledgement; one of on_ack and on_feedback must be there"],
  ["on_loss(feedback)", "once for each window with losses or marks, and for a timeout: feedback.congestion says which"],
  ["on_feedback(feedback)", "in place of both, for all feedback"],
  ["on_timer(now_s)", "at the plan's timer_s"],
  ["on_send(now_s, number, size_bytes, repeated)", "when a packet leaves"],
  ["on_idle(now_s, idle_s, rto_s)", "when sending resumes with nothing in flight"],
  ["start(setup)", "before the first packet: setup.mss_bytes, setup.flow"],
  ["return 12.5", "a window of 12.5 packets; the rest of the plan stays"],
  ["return { cwnd_bytes, pacing_mbps, gap_ms, burst_bytes, ecn, timer_s, reduces_by_prr, exact_window }",
    "a whole plan, of which cwnd_bytes is necessary"],
  ["return", "the plan stays"],
  ["console.log(…)", "a line below the editor, up to 200 between two answers"],
  ["Math.random()", "a number of the flow's own stream, which the seed decides"],
];

export const FIELD_HELP: [string, string][] = [
  ["now_s", "simulated time"],
  ["acked_packets, acked_bytes", "newly acknowledged"],
  ["lost_packets, lost_bytes", "newly declared lost"],
  ["rtt_ms, srtt_ms, min_rtt_ms", "latest (null if none), smoothed, and smallest round-trip time"],
  ["in_flight_bytes, prior_in_flight_bytes", "after and before this acknowledgement"],
  ["delivery_rate_mbps", "sample of the rate at which packets arrive, or null; app_limited if the sender had too little to send"],
  ["round, round_start", "round trips since the start; true for the first acknowledgement of one"],
  ["congestion", "null, \"loss\", \"loss_after_mark\", \"ecn\", \"timeout\" or \"undo\""],
  ["in_recovery", "true while losses are repaired"],
  ["cwnd_limited, may_raise_cwnd, max_in_flight_bytes", "whether the window limits sending, and may grow (RFC 7661, RFC 3042)"],
  ["marked_packets, echo", "packets with CE; the ECN code point that came back"],
  ["delivered_bytes, mss_bytes", "all that has arrived; largest packet"],
];
