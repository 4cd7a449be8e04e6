/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Vegas: keeps two to four packets in the path's queues; estimates them from the RTT once per round
 * trip. See `crates/schemes/src/vegas`; the parameters are its defaults (alpha 2, beta 4, gamma 1).
 */
#ifndef PACELINE_VEGAS_H
#define PACELINE_VEGAS_H

#include "reno.h"

#define VEGAS_ALPHA 2
#define VEGAS_BETA 4
#define VEGAS_GAMMA 1
/* Minimum number of RTT samples in a round trip for Vegas to change the window. */
#define VEGAS_MIN_SAMPLES 3

struct vegas {
	struct reno window;
	/* Minimum RTT of the connection and of this round trip, in microseconds; NEVER if unknown. */
	u64 base;
	u64 round_min;
	u64 samples;
	/* The window at the start of this round trip, in whole packets. */
	u64 begun;
	/* Whether Vegas controls the window; otherwise NewReno does. */
	u64 active;
};

inline_always void vegas_next_round(struct vegas *v)
{
	v->round_min = NEVER;
	v->samples = 0;
	v->begun = v->window.cwnd / ONE;
}

inline_always void vegas_init(struct vegas *v)
{
	reno_init(&v->window);
	v->base = NEVER;
	v->active = 1;
	vegas_next_round(v);
}

/* Reduces the window to `packets`, and the threshold below it, which ends slow start. */
inline_always void vegas_shrink(struct vegas *v, u64 packets)
{
	struct reno *r = &v->window;

	packets = larger(packets, 2);
	r->cwnd = packets * ONE;
	r->ssthresh = larger(smaller(r->ssthresh, (packets - 1) * ONE), 2 * ONE);
}

/* Adjusts the window; called once per round trip. */
inline_always void vegas_adjust(struct vegas *v, int may_grow, u64 acked)
{
	struct reno *r = &v->window;
	u64 cwnd = r->cwnd / ONE;
	/* Packets that fit into the path without a queue, and packets beyond them, in whole packets. */
	u64 target = v->begun * smaller(v->base, 1ULL << 40) / larger(v->round_min, 1);
	u64 diff = larger(v->begun, target) - target;

	if (r->cwnd < r->ssthresh) {
		if (diff > VEGAS_GAMMA)
			vegas_shrink(v, smaller(cwnd, target + 1));
		else if (may_grow)
			reno_slow_start(r, acked);
	} else if (diff > VEGAS_BETA) {
		vegas_shrink(v, cwnd - 1);
	} else if (diff < VEGAS_ALPHA && may_grow) {
		reno_set_cwnd(r, (cwnd + 1) * ONE);
	}
	r->ssthresh = larger(r->ssthresh, scale(r->cwnd, 3, 4));
}

inline_always void vegas_on_feedback(struct vegas *v, const struct feedback *f)
{
	struct reno *r = &v->window;
	int may_grow, ends;

	if (f->rtt) {
		v->base = smaller(v->base, f->rtt);
		v->round_min = smaller(v->round_min, f->rtt);
		v->samples++;
	}
	if (reno_react(r, f->congestion)) {
		v->active = 0;
		if (f->congestion != CONGESTION_TIMEOUT)
			reno_may_grow(r, f);
		return;
	}
	may_grow = reno_may_grow(r, f);
	if (f->in_recovery) {
		v->active = 0;
	} else if (!v->active) {
		v->active = 1;
		vegas_next_round(v);
	}
	ends = v->active && f->round_start;
	if (ends && v->samples >= VEGAS_MIN_SAMPLES)
		vegas_adjust(v, may_grow, f->acked);
	else if (may_grow && (ends || !v->active))
		reno_grow(r, f->acked);
	else if (may_grow)
		reno_slow_start(r, f->acked);
	if (ends)
		vegas_next_round(v);
}

/* Resumes sending after `idle` microseconds with nothing in flight. */
inline_always void vegas_on_idle(struct vegas *v, u64 idle, u64 rto)
{
	reno_on_idle(&v->window, idle, rto);
	if (idle > rto) {
		v->base = NEVER;
		vegas_next_round(v);
	}
}

#endif
