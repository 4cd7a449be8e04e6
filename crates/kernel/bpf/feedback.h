/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Content of one acknowledgement: the part of `paceline_cc::Feedback` that these programs use. */
#ifndef PACELINE_FEEDBACK_H
#define PACELINE_FEEDBACK_H

#include "fixed.h"

enum congestion {
	CONGESTION_NONE,
	CONGESTION_LOSS,
	CONGESTION_ECN,
	CONGESTION_TIMEOUT,
	CONGESTION_UNDO,
};

struct feedback {
	/* The sender's clock in microseconds. */
	u64 now;
	/* Packets newly acknowledged, and of these the accelerates and brakes (Q16). */
	u64 acked;
	u64 accelerates;
	u64 brakes;
	/* Packets in flight before and after this acknowledgement (Q16). */
	u64 prior_in_flight;
	u64 in_flight;
	/* Packets delivered since the connection's start (Q16). */
	u64 delivered;
	/* Microseconds; 0 where unknown. */
	u64 rtt;
	u64 srtt;
	/* Size of a packet in bytes. */
	u64 mss;
	u64 congestion;
	u64 in_recovery;
	u64 cwnd_limited;
	/* Most packets in flight during the last window of data (Q16). */
	u64 max_in_flight;
	/* 0 if the acknowledgement covers only packets beyond a gap: then windows do not grow. */
	u64 may_raise_cwnd;
	u64 round_start;
	/* Packets between the newest one acknowledged before and the newest one acknowledged now. */
	u64 ahead;
	/* Smallest RTT of the connection in microseconds, over the kernel's window of 300 s. */
	u64 min_rtt;
};

#endif
