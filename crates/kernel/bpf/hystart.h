/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Linux' HyStart: slow start ends when acknowledgements have come in a close train for half of the
 * minimum RTT, or when a round's minimum RTT exceeds the connection's minimum RTT by an eighth.
 */
#ifndef PACELINE_HYSTART_H
#define PACELINE_HYSTART_H

#include "feedback.h"

#define HYSTART_LOW_WINDOW (16 * ONE)
#define HYSTART_TRAIN_GAP 2000
#define HYSTART_MIN_SAMPLES 8

struct hystart {
	u64 found;
	/* Minimum RTT in slow start in microseconds; 0 if unknown. */
	u64 delay_min;
	u64 round_start;
	/* Count of delivered packets beyond which the round trip is over; NEVER before the first one. */
	u64 round_end;
	/* Time of the train's last acknowledgement. */
	u64 last_ack;
	/* Minimum RTT of the round, and the number of its samples. */
	u64 round_min;
	u64 samples;
};

inline_always void hystart_begin_round(struct hystart *h, u64 now)
{
	h->round_start = now;
	h->last_ack = now;
	h->round_min = NEVER;
	h->samples = 0;
}

inline_always void hystart_init(struct hystart *h)
{
	h->found = 0;
	h->delay_min = 0;
	h->round_end = NEVER;
	hystart_begin_round(h, 0);
}

/* Forgets the path after a timeout, and begins a round trip. */
inline_always void hystart_time_out(struct hystart *h, const struct feedback *f)
{
	h->found = 0;
	h->delay_min = 0;
	h->round_end = f->delivered + f->prior_in_flight;
	hystart_begin_round(h, f->now);
}

inline_always u64 hystart_train(struct hystart *h, const struct feedback *f, u64 cwnd)
{
	u64 bytes = (cwnd * smaller(f->mss, 65536)) >> 16;
	u64 cushion = smaller(smaller(f->srtt, 1ULL << 40) * 131072 / larger(bytes, 1), 1000);

	if (f->now > h->last_ack + HYSTART_TRAIN_GAP)
		return 0;
	h->last_ack = f->now;
	return f->now > h->round_start + (h->delay_min + cushion) / 2;
}

inline_always u64 hystart_delay(struct hystart *h, u64 rtt)
{
	u64 rise = smaller(larger(h->delay_min / 8, 4000), 16000);

	h->round_min = smaller(h->round_min, rtt);
	if (h->samples < HYSTART_MIN_SAMPLES) {
		h->samples++;
		return 0;
	}
	return h->round_min > h->delay_min + rise;
}

/* Processes an acknowledgement in slow start. Returns 1 if slow start ends here. */
inline_always u64 hystart_observe(struct hystart *h, const struct feedback *f, u64 cwnd)
{
	if (h->found || !f->rtt)
		return 0;
	h->delay_min = h->delay_min ? smaller(h->delay_min, f->rtt) : f->rtt;
	if (h->round_end == NEVER || f->delivered > h->round_end) {
		h->round_end = f->delivered + f->in_flight;
		hystart_begin_round(h, f->now);
	}
	if (cwnd < HYSTART_LOW_WINDOW)
		return 0;
	h->found = hystart_train(h, f, cwnd) || hystart_delay(h, f->rtt);
	return h->found;
}

#endif
