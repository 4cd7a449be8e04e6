//! Senders and receivers: loss detection, RTT, delivery rate, pacing, workloads.
