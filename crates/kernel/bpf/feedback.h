/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What one acknowledgement tells: the part of `paceline_cc::Feedback` that these programs use. */
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
	/* Packets delivered since the start (Q16). */
	u64 delivered;
	/* Microseconds; 0 where unknown. */
	u64 rtt;
	u64 srtt;
	/* Bytes of a packet. */
	u64 mss;
	u64 congestion;
	u64 in_recovery;
	u64 cwnd_limited;
	/* The largest flight of the last window of data, in packets (Q16). */
	u64 max_in_flight;
	/* 0 if only packets beyond a gap were acknowledged: windows do not grow. */
	u64 may_raise_cwnd;
	u64 round_start;
	/* By how many packets the newest one acknowledged is ahead of the newest one before. */
	u64 ahead;
};

#endif
