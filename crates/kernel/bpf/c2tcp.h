/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * C2TCP over Cubic: RTTs above a target for an interval count as a loss, and RTTs below it open the
 * window faster. See `crates/cc/src/schemes/c2tcp`, rule `kernel`.
 */
#ifndef PACELINE_C2TCP_H
#define PACELINE_C2TCP_H

#include "cubic.h"
#include "hystart.h"

/* Microseconds. */
#define C2TCP_TARGET 100000
#define C2TCP_INTERVAL 100000

enum verdict { VERDICT_GOOD, VERDICT_WAITING, VERDICT_BAD };

struct c2tcp {
	struct cubic cubic;
	struct hystart hystart;
	/* The last RTT was below the target. */
	u64 first;
	/* When the condition is next found bad, in microseconds. */
	u64 next;
	/* Back-offs since the condition became bad, plus one. */
	u64 backoffs;
	/* Newton's approximation of 1 / sqrt(backoffs), in units of 2^-16. */
	u64 inverse_sqrt;
	/* The repair under way began with a timeout. */
	u64 timed_out;
};

inline_always void c2tcp_init(struct c2tcp *c)
{
	cubic_init(&c->cubic, INITIAL_WINDOW);
	hystart_init(&c->hystart);
	c->first = 1;
	c->next = 0;
	c->backoffs = 1;
	c->inverse_sqrt = 0;
	c->timed_out = 0;
}

/* One step towards 1 / sqrt(backoffs), in whole numbers, as CoDel's code does in Linux. */
inline_always void c2tcp_newton(struct c2tcp *c)
{
	u64 x = (c->inverse_sqrt & 0xffff) << 16;
	u64 square = (x * x) >> 32;
	u64 taken = smaller(smaller(c->backoffs, 1 << 20) * square, 3ULL << 32);
	u64 step = ((3ULL << 32) - taken) >> 2;

	c->inverse_sqrt = (((step * x) >> 31) >> 16) & 0xffff;
}

/* Whole milliseconds of a time in microseconds. */
inline_always u64 c2tcp_whole(u64 micros)
{
	return micros / 1000 * 1000;
}

inline_always enum verdict c2tcp_condition(struct c2tcp *c, u64 now, u64 rtt)
{
	if (rtt / 1000 <= C2TCP_TARGET / 1000) {
		c->first = 1;
		c->backoffs = 1;
		return VERDICT_GOOD;
	}
	if (c->first) {
		c->first = 0;
		c->backoffs = 1;
		c->inverse_sqrt = 0xffff;
		c2tcp_newton(c);
		c->next = c2tcp_whole(now + C2TCP_INTERVAL);
		return VERDICT_WAITING;
	}
	if (now <= c->next)
		return VERDICT_WAITING;
	c->next = c2tcp_whole(now + ((C2TCP_INTERVAL * (c->inverse_sqrt & 0xffff)) >> 16));
	c->backoffs++;
	c2tcp_newton(c);
	return VERDICT_BAD;
}

/* By how much an RTT below the target opens the window, beside the `opened` packets of Cubic. */
inline_always u64 c2tcp_growth(const struct c2tcp *c, u64 rtt, u64 acked, u64 opened, int avoiding)
{
	u64 counts = (C2TCP_TARGET / 1000) / larger(rtt / 1000, 1) * ONE;
	u64 cwnd = c->cubic.cwnd, sum;

	acked = smaller(acked, MOST_ACKED);
	opened = smaller(opened, MOST_ACKED);
	if (!avoiding)
		return scale(counts, ONE, cwnd);
	if (!acked)
		return 0;
	if (opened * cwnd >= acked * ONE)
		return scale(counts, opened, acked);
	sum = scale(counts + acked, ONE, cwnd);
	return sum > opened ? sum - opened : 0;
}

/* As to a loss, and then down to one packet; it cannot be undone. */
inline_always void c2tcp_back_off(struct c2tcp *c)
{
	cubic_reduce(&c->cubic, curve_reduce(&c->cubic.curve, c->cubic.cwnd));
	c->cubic.before_cwnd = 0;
	c->cubic.cwnd = ONE;
}

/* Returns whether the window was closed because the condition is bad. */
inline_always int c2tcp_on_feedback(struct c2tcp *c, const struct feedback *f)
{
	u64 before = c->cubic.cwnd, opened;
	int grows, avoiding;

	if (before < c->cubic.ssthresh && hystart_observe(&c->hystart, f, before))
		c->cubic.ssthresh = before;
	cubic_on_feedback(&c->cubic, f);
	if (!f->in_recovery)
		c->timed_out = 0;
	if (f->congestion == CONGESTION_TIMEOUT) {
		hystart_time_out(&c->hystart, f);
		c->timed_out = 1;
	}
	grows = f->cwnd_limited && (!f->in_recovery || c->timed_out);
	avoiding = grows && c->cubic.cwnd >= c->cubic.ssthresh;
	if (!f->rtt)
		return 0;
	switch (c2tcp_condition(c, f->now, f->rtt)) {
	case VERDICT_GOOD:
		opened = c->cubic.cwnd > before ? c->cubic.cwnd - before : 0;
		if (grows)
			cubic_set_cwnd(&c->cubic, c->cubic.cwnd + c2tcp_growth(c, f->rtt, f->acked, opened, avoiding));
		return 0;
	case VERDICT_WAITING:
		return 0;
	case VERDICT_BAD:
		c2tcp_back_off(c);
		return 1;
	}
	return 0;
}

#endif
