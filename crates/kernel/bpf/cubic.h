/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Cubic's window (RFC 9438), for ABC's second window and for C2TCP. The parameters are the
 * simulator's defaults: c 0.4, beta 0.7, fast convergence, Reno-friendly, probe 0.05.
 */
#ifndef PACELINE_CUBIC_H
#define PACELINE_CUBIC_H

#include "feedback.h"

#define INITIAL_WINDOW (10 * ONE)

/* One congestion epoch. */
struct curve {
	/* The window at which congestion is expected; 0 while unknown. */
	u64 w_max;
	/* Window before the last reduction. */
	u64 prior;
	/* Start of the epoch in microseconds; NEVER outside of one. */
	u64 epoch;
	/* Seconds from the epoch's start to the plateau, and the window there (Q16). */
	u64 k;
	u64 origin;
	/* Window of the Reno-friendly region (RFC 9438 section 4.3). */
	u64 w_est;
};

struct cubic {
	u64 cwnd;
	/* NEVER before the first congestion. */
	u64 ssthresh;
	/* Values before the last reduction; before_cwnd is 0 if there is nothing to undo. */
	u64 before_cwnd;
	u64 before_ssthresh;
	struct curve curve;
	struct curve before;
	/* Time of the last feedback in microseconds. */
	u64 last;
	u64 repairing;
	u64 timed_out;
};

inline_always void cubic_init(struct cubic *c, u64 initial)
{
	struct curve none = { .epoch = NEVER };

	c->cwnd = initial;
	c->ssthresh = NEVER;
	c->before_cwnd = 0;
	c->before_ssthresh = 0;
	c->curve = none;
	c->before = none;
	c->last = 0;
	c->repairing = 0;
	c->timed_out = 0;
}

inline_always void cubic_set_cwnd(struct cubic *c, u64 packets)
{
	c->cwnd = smaller(larger(packets, ONE), MOST_WINDOW);
}

/* Ends the epoch at a congestion, and returns the window to reduce to. */
inline_always u64 curve_reduce(struct curve *curve, u64 cwnd)
{
	/*
	 * Fast convergence (RFC 9438 section 4.7): a flow that lost below its plateau makes room for newer
	 * flows.
	 */
	curve->w_max = cwnd < curve->w_max ? scale(cwnd, 17, 20) : cwnd;
	curve->prior = cwnd;
	curve->epoch = NEVER;
	return scale(cwnd, 7, 10);
}

/* Leaves `span` microseconds, in which the window did not limit sending, out of the epoch. */
inline_always void curve_stand_still(struct curve *curve, u64 now, u64 span)
{
	if (curve->epoch != NEVER)
		curve->epoch = smaller(curve->epoch + span, now);
}

/* Returns the curve's window `t` microseconds after the epoch's start. */
inline_always u64 curve_at(const struct curve *curve, u64 t)
{
	u64 x = seconds(t);

	if (x >= curve->k)
		return curve->origin + scale(cube(x - curve->k), 2, 5);
	x = scale(cube(curve->k - x), 2, 5);
	return curve->origin > x ? curve->origin - x : 0;
}

/* Returns the window after `cwnd` when `acked` packets are acknowledged. */
inline_always u64 curve_advance(struct curve *curve, u64 now, u64 srtt, u64 cwnd, u64 acked)
{
	u64 aim, grown = cwnd;

	if (curve->epoch == NEVER) {
		curve->epoch = now;
		curve->w_est = cwnd;
		curve->origin = larger(curve->w_max, cwnd);
		curve->k = cube_root(scale(curve->origin - cwnd, 5, 2));
	}
	acked = smaller(acked, MOST_ACKED);
	aim = curve_at(curve, (now > curve->epoch ? now - curve->epoch : 0) + srtt);
	if (aim > cwnd)
		grown += scale(acked, smaller(aim - cwnd, cwnd / 2), cwnd);
	if (!curve->w_max)
		grown = larger(grown, cwnd + scale(acked, 1, 20));
	if (curve->w_est < curve->prior)
		curve->w_est += scale(9 * acked, ONE, 17 * cwnd);
	else
		curve->w_est += scale(acked, ONE, cwnd);
	return larger(grown, curve->w_est);
}

/* Sets window and threshold to `packets`, at least 2. */
inline_always void cubic_reduce(struct cubic *c, u64 packets)
{
	c->before_cwnd = c->cwnd;
	c->before_ssthresh = larger(c->ssthresh, scale(c->cwnd, 3, 4));
	c->ssthresh = larger(packets, 2 * ONE);
	c->cwnd = smaller(c->ssthresh, c->cwnd);
}

inline_always void cubic_time_out(struct cubic *c)
{
	u64 fresh = !c->repairing || (c->timed_out && c->cwnd > ONE);

	if (fresh) {
		c->before = c->curve;
		cubic_reduce(c, curve_reduce(&c->curve, c->cwnd));
	}
	/* After a timeout the plateau is unknown. */
	c->curve.w_max = 0;
	c->curve.epoch = NEVER;
	c->cwnd = ONE;
	c->repairing = 1;
	c->timed_out = 1;
}

inline_always void cubic_undo(struct cubic *c)
{
	if (!c->before_cwnd)
		return;
	c->cwnd = larger(c->cwnd, c->before_cwnd);
	c->ssthresh = larger(c->ssthresh, c->before_ssthresh);
	c->curve = c->before;
	c->before_cwnd = 0;
}

/* Reacts to a congestion. Returns 1 if it has reduced the window. */
inline_always int cubic_react(struct cubic *c, u64 congestion)
{
	struct curve curve = c->curve;

	switch (congestion) {
	case CONGESTION_LOSS:
	case CONGESTION_ECN:
		cubic_reduce(c, curve_reduce(&c->curve, c->cwnd));
		c->before = curve;
		return 1;
	case CONGESTION_TIMEOUT:
		cubic_time_out(c);
		return 1;
	case CONGESTION_UNDO:
		cubic_undo(c);
		return 0;
	}
	return 0;
}

/* Returns whether this feedback may open the window. */
inline_always int cubic_may_grow(struct cubic *c, const struct feedback *f)
{
	c->repairing = f->in_recovery;
	if (!f->in_recovery)
		c->timed_out = 0;
	if ((c->repairing && !c->timed_out) || !f->may_raise_cwnd)
		return 0;
	return f->cwnd_limited || (c->cwnd < c->ssthresh && c->cwnd < 2 * f->max_in_flight);
}

inline_always void cubic_grow(struct cubic *c, const struct feedback *f)
{
	u64 rest = f->acked;

	if (c->cwnd < c->ssthresh) {
		u64 opened = smaller(c->cwnd + rest, c->ssthresh);

		rest -= opened - c->cwnd;
		cubic_set_cwnd(c, opened);
	}
	if (rest)
		cubic_set_cwnd(c, curve_advance(&c->curve, f->now, f->srtt, c->cwnd, rest));
}

/* Processes an acknowledgement or the expiry of the loss timer. */
inline_always void cubic_on_feedback(struct cubic *c, const struct feedback *f)
{
	int reduced = cubic_react(c, f->congestion);
	u64 since = f->now > c->last ? f->now - c->last : 0;
	int grows = cubic_may_grow(c, f);

	c->last = f->now;
	if (reduced)
		return;
	if (grows)
		cubic_grow(c, f);
	else if (f->may_raise_cwnd)
		curve_stand_still(&c->curve, f->now, since);
}

/* Resumes sending after `idle` microseconds with nothing in flight. */
inline_always void cubic_on_idle(struct cubic *c, u64 now, u64 idle, u64 rto)
{
	u64 cwnd = c->cwnd;
	u64 floor = smaller(INITIAL_WINDOW, cwnd);
	int turn;

	curve_stand_still(&c->curve, now, idle);
	c->last = larger(c->last, now);
	for (turn = 0; turn < 24; turn++) {
		if (idle <= rto || c->cwnd <= floor)
			break;
		idle -= rto;
		c->cwnd = larger(c->cwnd / 2, floor);
	}
	if (c->cwnd < cwnd) {
		c->ssthresh = larger(c->ssthresh, scale(cwnd, 3, 4));
		c->curve.epoch = NEVER;
	}
}

/* Lowers the window to at most `packets`. */
inline_always void cubic_cap(struct cubic *c, u64 packets)
{
	if (packets < c->cwnd) {
		c->cwnd = larger(packets, ONE);
		c->curve.w_est = smaller(c->curve.w_est, c->cwnd);
	}
}

#endif
