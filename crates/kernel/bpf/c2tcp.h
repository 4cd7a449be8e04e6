/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * C2TCP over Cubic or NewReno: RTTs above a target during an interval count as a loss, and RTTs
 * below the target open the window faster. See `crates/schemes/src/c2tcp`, rule `kernel`.
 * `over_reno` selects the window. Callers pass a constant, so that the compiler drops the other
 * window's code.
 */
#ifndef PACELINE_C2TCP_H
#define PACELINE_C2TCP_H

#include "cubic.h"
#include "hystart.h"
#include "reno.h"

/* RTT target, and time above it that counts as a loss, in microseconds. */
#define C2TCP_TARGET 100000
#define C2TCP_INTERVAL 100000

enum verdict { VERDICT_GOOD, VERDICT_WAITING, VERDICT_BAD };

struct c2tcp {
	/* One of the two is in use. */
	struct cubic cubic;
	struct reno reno;
	struct hystart hystart;
	/* Time of the last acknowledgement in microseconds. */
	u64 last;
	/* Whether the last RTT was at most the target. */
	u64 first;
	/* Time in microseconds after which a long RTT counts as bad. */
	u64 next;
	/* Back-offs since the condition became bad, plus one. */
	u64 backoffs;
	/* Newton's approximation of 1 / sqrt(backoffs), in units of 2^-16. */
	u64 inverse_sqrt;
	/* Whether the recovery in progress began with a timeout. */
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

/* Reacts to a conclusion of the kernel's state machine outside of an acknowledgement. */
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

/* Resumes sending after `idle` microseconds with nothing in flight. */
inline_always void c2tcp_on_idle(struct c2tcp *c, int over_reno, u64 now, u64 idle, u64 rto)
{
	if (over_reno)
		reno_on_idle(&c->reno, idle, rto);
	else
		cubic_on_idle(&c->cubic, now, idle, rto);
}

/* Makes one Newton step towards 1 / sqrt(backoffs) in integers, as Linux' CoDel does. */
inline_always void c2tcp_newton(struct c2tcp *c)
{
	u64 x = (c->inverse_sqrt & 0xffff) << 16;
	u64 square = (x * x) >> 32;
	u64 taken = smaller(smaller(c->backoffs, 1 << 20) * square, 3ULL << 32);
	u64 step = ((3ULL << 32) - taken) >> 2;

	c->inverse_sqrt = (((step * x) >> 31) >> 16) & 0xffff;
}

/* Rounds a time in microseconds down to whole milliseconds. */
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

/*
 * Returns the packets (Q16) by which an RTT below the target opens Cubic's window, in addition to
 * the `opened` packets of Cubic's own step.
 */
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

/* Opens NewReno's window for an RTT below the target, whatever its own step has opened. */
inline_always void c2tcp_grow_over_reno(struct c2tcp *c, u64 rtt)
{
	reno_add_share(&c->reno, (C2TCP_TARGET / 1000) / larger(rtt / 1000, 1));
}

/* Reacts as to a loss, and then reduces the window to one packet; no undo is possible. */
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

/* Makes the step of the loss-based window. */
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

/*
 * Processes an acknowledgement. Returns 1 if it has reduced the window because the condition is
 * bad.
 */
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
