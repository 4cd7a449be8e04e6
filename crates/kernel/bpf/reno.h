/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * NewReno's window, for Vegas and for C2TCP over NewReno. See
 * `crates/schemes/src/parts/reno_window.rs`.
 */
#ifndef PACELINE_RENO_H
#define PACELINE_RENO_H

#include "feedback.h"

#define RENO_INITIAL_WINDOW (10 * ONE)

/* Windows and thresholds in packets (Q16). */
struct reno {
	u64 cwnd;
	/* Part of the window below its 16 fraction bits, in units of 2^-32 packets. */
	u64 fraction;
	u64 ssthresh;
	/* Packets acknowledged in congestion avoidance that have not yet opened the window. */
	u64 credit;
	/* Values before the last reduction; the window is 0 if there is nothing to undo. */
	u64 before_cwnd;
	u64 before_ssthresh;
	u64 repairing;
	u64 timed_out;
};

inline_always void reno_init(struct reno *r)
{
	r->cwnd = RENO_INITIAL_WINDOW;
	r->fraction = 0;
	r->ssthresh = NEVER;
	r->credit = 0;
	r->before_cwnd = 0;
	r->before_ssthresh = 0;
	r->repairing = 0;
	r->timed_out = 0;
}

inline_always void reno_set_cwnd(struct reno *r, u64 packets)
{
	r->cwnd = smaller(larger(packets, ONE), MOST_WINDOW);
}

/*
 * Opens the window by `counts / cwnd` packets; `counts` is below 2^15. Keeps the part below 16
 * fraction bits in `fraction`: rounding errors of many acknowledgements would add up.
 */
inline_always void reno_add_share(struct reno *r, u64 counts)
{
	r->fraction += (counts << 48) / larger(r->cwnd, ONE);
	reno_set_cwnd(r, r->cwnd + (r->fraction >> 16));
	r->fraction &= 0xffff;
}

/* Returns half the window in whole packets. */
inline_always u64 reno_halved(const struct reno *r)
{
	return (r->cwnd >> 17) << 16;
}

/* Sets window and threshold to `packets`, at least 2. */
inline_always void reno_reduce(struct reno *r, u64 packets)
{
	r->before_cwnd = r->cwnd;
	r->before_ssthresh = larger(r->ssthresh, scale(r->cwnd, 3, 4));
	r->ssthresh = larger(packets, 2 * ONE);
	r->cwnd = smaller(r->ssthresh, r->cwnd);
	r->fraction = 0;
	r->credit = 0;
}

inline_always void reno_time_out(struct reno *r)
{
	if (!r->repairing || (r->timed_out && r->cwnd > ONE))
		reno_reduce(r, reno_halved(r));
	r->cwnd = ONE;
	r->credit = 0;
	r->repairing = 1;
	r->timed_out = 1;
}

inline_always void reno_undo(struct reno *r)
{
	if (!r->before_cwnd)
		return;
	r->cwnd = larger(r->cwnd, r->before_cwnd);
	r->ssthresh = larger(r->ssthresh, r->before_ssthresh);
	r->before_cwnd = 0;
}

/* Returns whether this feedback may open the window. */
inline_always int reno_may_grow(struct reno *r, const struct feedback *f)
{
	r->repairing = f->in_recovery;
	if (!f->in_recovery)
		r->timed_out = 0;
	if ((r->repairing && !r->timed_out) || !f->may_raise_cwnd)
		return 0;
	return f->cwnd_limited || (r->cwnd < r->ssthresh && r->cwnd < 2 * f->max_in_flight);
}

/* Opens the window by `acked` packets up to the threshold; returns the packets left over. */
inline_always u64 reno_slow_start(struct reno *r, u64 acked)
{
	u64 opened;

	if (r->cwnd >= r->ssthresh)
		return acked;
	opened = smaller(r->cwnd + acked, r->ssthresh);
	acked -= opened - r->cwnd;
	reno_set_cwnd(r, opened);
	return acked;
}

/* Opens the window by one packet per window acknowledged. */
inline_always void reno_avoid_congestion(struct reno *r, u64 acked)
{
	u64 more;

	r->credit += acked;
	if (r->credit < r->cwnd)
		return;
	more = r->credit / larger(r->cwnd, 1);
	r->credit -= more * r->cwnd;
	reno_set_cwnd(r, r->cwnd + more * ONE);
}

inline_always void reno_grow(struct reno *r, u64 acked)
{
	reno_avoid_congestion(r, reno_slow_start(r, acked));
}

/* Reacts as NewReno does. Returns 1 if it has reduced the window. */
inline_always int reno_react(struct reno *r, u64 congestion)
{
	switch (congestion) {
	case CONGESTION_LOSS:
	case CONGESTION_ECN:
		reno_reduce(r, reno_halved(r));
		return 1;
	case CONGESTION_TIMEOUT:
		reno_time_out(r);
		return 1;
	case CONGESTION_UNDO:
		reno_undo(r);
		return 0;
	}
	return 0;
}

/* Processes an acknowledgement or the expiry of the loss timer. */
inline_always void reno_on_feedback(struct reno *r, const struct feedback *f)
{
	int reduced = reno_react(r, f->congestion);
	int grows;

	if (f->congestion == CONGESTION_TIMEOUT)
		return;
	grows = reno_may_grow(r, f);
	if (grows && !reduced)
		reno_grow(r, f->acked);
}

/*
 * Halves the window once per timeout within `idle` microseconds with nothing in flight, down to the
 * initial window (`tcp_cwnd_restart`).
 */
inline_always void reno_on_idle(struct reno *r, u64 idle, u64 rto)
{
	u64 cwnd = r->cwnd;
	u64 floor = smaller(RENO_INITIAL_WINDOW, cwnd);
	int turn;

	/* The largest window reaches the initial one after 17 halvings. */
	for (turn = 0; turn < 24; turn++) {
		if (idle <= rto || r->cwnd <= floor)
			break;
		idle -= rto;
		r->cwnd = larger(r->cwnd / 2, floor);
	}
	if (r->cwnd < cwnd) {
		r->ssthresh = larger(r->ssthresh, scale(cwnd, 3, 4));
		r->credit = 0;
	}
}

#endif
