/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * C2TCP over Cubic or NewReno: RTTs above a target for an interval count as a loss, and RTTs below it
 * open the window faster. See `crates/schemes/src/c2tcp`, rule `kernel`. `over_reno` says which
 * window is meant; it is a constant wherever these functions are called, so that the other one's
 * code goes.
 */
#ifndef PACELINE_C2TCP_H
#define PACELINE_C2TCP_H

#include "cubic.h"
#include "hystart.h"
#include "reno.h"

/* Microseconds. */
#define C2TCP_TARGET 100000
#define C2TCP_INTERVAL 100000

enum verdict { VERDICT_GOOD, VERDICT_WAITING, VERDICT_BAD };

struct c2tcp {
	/* One of these is used. */
	struct cubic cubic;
	struct reno reno;
	struct hystart hystart;
	/* The last acknowledgement, in microseconds. */
	u64 last;
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
	reno_init(&c->reno);
	hystart_init(&c->hystart);
	c->last = 0;
	c->first = 1;
	c->next = 0;
	c->backoffs = 1;
	c->inverse_sqrt = 0;
	c->timed_out = 0;
}

inline_always u64 c2tcp_cwnd(const struct c2tcp *c, int over_reno)
{
	return over_reno ? c->reno.cwnd : c->cubic.cwnd;
}

inline_always u64 c2tcp_threshold(const struct c2tcp *c, int over_reno)
{
	return over_reno ? c->reno.ssthresh : c->cubic.ssthresh;
}

/* What the kernel's state machine concludes, outside of an acknowledgement. */
inline_always void c2tcp_react(struct c2tcp *c, int over_reno, u64 congestion)
{
	if (over_reno)
		reno_react(&c->reno, congestion);
	else
		cubic_react(&c->cubic, congestion);
	if (congestion != CONGESTION_UNDO) {
		c->reno.repairing = 1;
		c->cubic.repairing = 1;
	}
}

/* Sending resumes after `idle` microseconds with nothing in flight. */
inline_always void c2tcp_on_idle(struct c2tcp *c, int over_reno, u64 now, u64 idle, u64 rto)
{
	if (over_reno)
		reno_on_idle(&c->reno, idle, rto);
	else
		cubic_on_idle(&c->cubic, now, idle, rto);
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

/* The same over NewReno, at whose pace the counts always count. */
inline_always void c2tcp_grow_over_reno(struct c2tcp *c, u64 rtt)
{
	reno_add_share(&c->reno, (C2TCP_TARGET / 1000) / larger(rtt / 1000, 1));
}

/* As to a loss, and then down to one packet; it cannot be undone. */
inline_always void c2tcp_back_off(struct c2tcp *c, int over_reno)
{
	if (over_reno) {
		reno_reduce(&c->reno, reno_halved(&c->reno));
		c->reno.before_cwnd = 0;
		c->reno.cwnd = ONE;
	} else {
		cubic_reduce(&c->cubic, curve_reduce(&c->cubic.curve, c->cubic.cwnd));
		c->cubic.before_cwnd = 0;
		c->cubic.cwnd = ONE;
	}
}

/* The step of the window below. */
inline_always void c2tcp_base_on_feedback(struct c2tcp *c, int over_reno, const struct feedback *f)
{
	if (over_reno) {
		reno_on_feedback(&c->reno, f);
		return;
	}
	if (c->cubic.cwnd < c->cubic.ssthresh && hystart_observe(&c->hystart, f, c->cubic.cwnd))
		c->cubic.ssthresh = c->cubic.cwnd;
	cubic_on_feedback(&c->cubic, f);
	if (f->congestion == CONGESTION_TIMEOUT)
		hystart_time_out(&c->hystart, f);
}

/* Returns whether the window was closed because the condition is bad. */
inline_always int c2tcp_on_feedback(struct c2tcp *c, int over_reno, const struct feedback *f)
{
	u64 before = c2tcp_cwnd(c, over_reno), opened, cwnd;
	int grows, avoiding;

	c->last = f->now;
	c2tcp_base_on_feedback(c, over_reno, f);
	if (!f->in_recovery)
		c->timed_out = 0;
	if (f->congestion == CONGESTION_TIMEOUT)
		c->timed_out = 1;
	cwnd = c2tcp_cwnd(c, over_reno);
	grows = f->cwnd_limited && f->may_raise_cwnd && (!f->in_recovery || c->timed_out);
	avoiding = grows && cwnd >= c2tcp_threshold(c, over_reno);
	if (!f->rtt)
		return 0;
	switch (c2tcp_condition(c, f->now, f->rtt)) {
	case VERDICT_GOOD:
		opened = cwnd > before ? cwnd - before : 0;
		if (!grows)
			return 0;
		if (over_reno)
			c2tcp_grow_over_reno(c, f->rtt);
		else
			cubic_set_cwnd(&c->cubic, cwnd + c2tcp_growth(c, f->rtt, f->acked, opened, avoiding));
		return 0;
	case VERDICT_WAITING:
		return 0;
	case VERDICT_BAD:
		c2tcp_back_off(c, over_reno);
		return 1;
	}
	return 0;
}

#endif
