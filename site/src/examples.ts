// Controllers to begin with.

import type { Script } from "./sandbox/controllers";

export interface Example extends Script {
  title: string;
}

export const EXAMPLES: Example[] = [
  {
    name: "aimd",
    title: "AIMD: one packet more per round trip, half after a loss",
    text: `// One packet more per round trip, half after a loss: as TCP Reno without slow start.
let cwnd = 10; // packets

function on_ack(ack) {
  if (!ack.in_recovery) cwnd += ack.acked_packets / cwnd;
  return cwnd;
}

function on_loss(loss) {
  cwnd = Math.max(2, cwnd / 2);
  return cwnd;
}
`,
  },
  {
    name: "delay",
    title: "By delay: keeps five packets in the queue",
    text: `// Keeps about five packets in the queue: as TCP Vegas, with a faster start.
let cwnd = 10; // packets

function on_ack(ack) {
  if (!ack.round_start || ack.rtt_ms === null) return;
  const queued = cwnd * (1 - ack.min_rtt_ms / ack.rtt_ms);
  if (queued < 1) cwnd *= 1.5;
  else if (queued < 5) cwnd += 1;
  else cwnd = Math.max(2, cwnd - (queued - 5) / 2);
  return cwnd;
}

function on_loss(loss) {
  cwnd = Math.max(2, cwnd / 2);
  return cwnd;
}
`,
  },
  {
    name: "paced",
    title: "By rate: paces at the rate that arrives, and probes with a timer",
    text: `// Paces at the highest delivery rate of late; a timer probes for more, and drains the queue after it.
let [best, gain, next] = [1, 2, 0.2]; // Mbit/s, share of it, time of the next change in s

const plan = () => ({ cwnd_bytes: 3e6, pacing_mbps: best * gain, timer_s: next });

function start(setup) {
  return plan();
}

function on_ack(ack) {
  if (ack.round_start) best *= 0.97;
  best = Math.max(best, ack.delivery_rate_mbps ?? 0);
  if (ack.rtt_ms > 1.5 * ack.min_rtt_ms) gain = 0.8;
  return plan();
}

function on_timer(now_s) {
  gain = gain > 1 ? 0.9 : 1.25;
  next = now_s + 0.2;
  return plan();
}
`,
  },
  {
    name: "reno",
    title: "NewReno, exactly: its runs have the digests of newreno",
    text: `// Paceline's newreno to the last packet: crates/schemes/src/newreno, parts/reno_window.rs.
let [cwnd, ssthresh, credit] = [10, Infinity, 0];
let [before, repairing, timed_out] = [null, false, false];

function on_feedback(f) {
  if (f.congestion === "loss" || f.congestion === "ecn") {
    reduce(Math.floor(cwnd / 2));
    may_grow(f);
  } else if (f.congestion === "timeout") time_out(Math.floor(cwnd / 2));
  else {
    if (f.congestion === "undo") undo();
    if (may_grow(f)) grow(f.acked_bytes / f.mss_bytes);
  }
  return Math.floor(cwnd);
}

function grow(acked) {
  if (cwnd < ssthresh) {
    const opened = Math.min(cwnd + acked, ssthresh);
    acked = cwnd + acked <= ssthresh ? 0 : acked - (ssthresh - cwnd);
    cwnd = opened;
  }
  const pace = cwnd;
  if (credit >= pace) [credit, cwnd] = [0, cwnd + 1];
  credit += acked;
  if (credit < pace) return;
  const more = Math.floor(credit / pace);
  credit -= more * pace;
  cwnd += more;
}

function may_grow(f) {
  repairing = f.in_recovery;
  timed_out &&= f.in_recovery;
  if ((repairing && !timed_out) || !f.may_raise_cwnd) return false;
  return f.cwnd_limited || (cwnd < ssthresh && cwnd * f.mss_bytes < 2 * f.max_in_flight_bytes);
}

function reduce(packets) {
  before = [cwnd, Math.max(ssthresh, 0.75 * cwnd)];
  ssthresh = Math.max(2, packets);
  cwnd = Math.min(ssthresh, cwnd);
  credit = 0;
}

function time_out(packets) {
  if (!repairing || (timed_out && cwnd > 1)) reduce(packets);
  [cwnd, credit, repairing, timed_out] = [1, 0, true, true];
}

function undo() {
  if (!before) return;
  [cwnd, ssthresh] = [Math.max(cwnd, before[0]), Math.max(ssthresh, before[1])];
  before = null;
}
`,
  },
];
