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

/*
 * The words that say which target and which interval: multiples of the smallest RTT (Q16), and the least
 * values in microseconds. A fixed time is a least value with a multiple of 0.
 */
enum c2tcp_limit {
	C2TCP_TARGET_RTTS,
	C2TCP_TARGET_LEAST,
	C2TCP_INTERVAL_RTTS,
	C2TCP_INTERVAL_LEAST,
	C2TCP_LIMITS,
};

/* An RTT below the target counts for at most 1000 packets. */
#define C2TCP_MOST_COUNTS 1000

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

/* A target or an interval in microseconds; `rtts` is at most 1000, `min_rtt` has 32 bits. */
inline_always u64 c2tcp_limit_over(u64 rtts, u64 least, u64 min_rtt)
{
	return larger((rtts * min_rtt) >> 16, least);
}

inline_always enum verdict c2tcp_condition(struct c2tcp *c, u64 now, u64 rtt, u64 target, u64 interval)
{
	if (rtt / 1000 <= target / 1000) {
		c->first = 1;
		c->backoffs = 1;
		return VERDICT_GOOD;
	}
	if (c->first) {
		c->first = 0;
		c->backoffs = 1;
		c->inverse_sqrt = 0xffff;
		c2tcp_newton(c);
		c->next = c2tcp_whole(now + interval);
		return VERDICT_WAITING;
	}
	if (now <= c->next)
		return VERDICT_WAITING;
	c->next = c2tcp_whole(now + ((interval * (c->inverse_sqrt & 0xffff)) >> 16));
	c->backoffs++;
	c2tcp_newton(c);
	return VERDICT_BAD;
}

/* The packets for which an RTT below the target counts: whole targets per RTT, from 1 to C2TCP_MOST_COUNTS. */
inline_always u64 c2tcp_counts(u64 target, u64 rtt)
{
	return smaller(larger((target / 1000) / larger(rtt / 1000, 1), 1), C2TCP_MOST_COUNTS);
}

/*
 * Returns the packets (Q16) by which an RTT below the target opens Cubic's window, in addition to
 * the `opened` packets of Cubic's own step.
 */
inline_always u64 c2tcp_growth(const struct c2tcp *c, u64 counts, u64 acked, u64 opened, int avoiding)
{
	u64 cwnd = c->cubic.cwnd, sum;

	counts *= ONE;
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
 * Processes an acknowledgement. `limits` are C2TCP_LIMITS words. Returns 1 if it has reduced the
 * window because the condition is bad.
 */
inline_always int c2tcp_on_feedback(struct c2tcp *c, int over_reno, const volatile u64 *limits,
				    const struct feedback *f)
{
	u64 before, opened, cwnd, target = 0, interval, counts;
	enum verdict verdict = VERDICT_WAITING;
	struct feedback own = *f;
	int grows, avoiding;

	c->last = f->now;
	/* The authors' kernel judges RTTs in `pkts_acked`, before losses are handled and the window grows. */
	if (f->rtt) {
		target = c2tcp_limit_over(limits[C2TCP_TARGET_RTTS], limits[C2TCP_TARGET_LEAST], f->min_rtt);
		interval = c2tcp_limit_over(limits[C2TCP_INTERVAL_RTTS], limits[C2TCP_INTERVAL_LEAST], f->min_rtt);
		verdict = c2tcp_condition(c, f->now, f->rtt, target, interval);
	}
	if (verdict == VERDICT_BAD) {
		c2tcp_back_off(c, over_reno);
		/* More is in flight than the new window allows. */
		own.cwnd_limited = 1;
	}
	before = c2tcp_cwnd(c, over_reno);
	c2tcp_base_on_feedback(c, over_reno, &own);
	if (!f->in_recovery)
		c->timed_out = 0;
	if (f->congestion == CONGESTION_TIMEOUT)
		c->timed_out = 1;
	cwnd = c2tcp_cwnd(c, over_reno);
	grows = f->cwnd_limited && f->may_raise_cwnd && (!f->in_recovery || c->timed_out);
	avoiding = grows && cwnd >= c2tcp_threshold(c, over_reno);
	if (verdict == VERDICT_GOOD && grows) {
		opened = cwnd > before ? cwnd - before : 0;
		counts = c2tcp_counts(target, f->rtt);
		/* At NewReno's pace the counts always count. */
		if (over_reno)
			reno_add_share(&c->reno, counts);
		else
			cubic_set_cwnd(&c->cubic, cwnd + c2tcp_growth(c, counts, f->acked, opened, avoiding));
	}
	return verdict == VERDICT_BAD;
}

#endif
