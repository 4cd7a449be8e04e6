/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Remy's sender: a memory of signals, and a table of rules that gives for each memory the change of
 * the window and the time between packets, or both as the delivery rate has them (`remy_rate.h`).
 * See `crates/schemes/src/remy`, and for a table's layout in integers `src/remy_table.rs`.
 *
 * The file that includes this one defines three functions that read the table: `remy_end(i)`,
 * `remy_rule(i)` and `remy_action(i)`. In the kernel they read maps, on the host arrays.
 */
#ifndef PACELINE_REMY_H
#define PACELINE_REMY_H

#include "feedback.h"
#include "remy_rate.h"

#define REMY_SIGNALS 12
/* Most packets for which one acknowledgement counts, except for the delivery rate. */
#define REMY_MOST_ACKED 64
/*
 * Most packets that a window at the delivery rate has for those that wait at the receiver for the
 * others of their group. Acknowledgements of more packets, as after a repair, may be rare ones.
 */
#define REMY_MOST_WAITING 3
/* Halvings of the search for an interval: an axis has at most 4095 ends. */
#define REMY_STEPS 12
/* Marks memories for which the table has no rule. */
#define REMY_NONE 0xffff

enum remy_signal {
	REMY_SEND_EWMA,
	REMY_REC_EWMA,
	REMY_RTT_RATIO,
	REMY_SLOW_REC_EWMA,
	REMY_RTT_DIFF,
	REMY_QUEUEING_DELAY,
	/* Stays 0: the kernel's Remy hears no marks. */
	REMY_ACCEL_SHARE,
	/* The following ones stay 0 unless the table follows the rate. */
	REMY_MIN_RTT,
	REMY_QUEUE_EWMA,
	REMY_RTT_TREND,
	REMY_RATE_TREND,
	REMY_ACK_GAP,
};

/* Ends of a signal's intervals, and the distance between neighbours in the cells. */
struct remy_axis {
	u64 first;
	u64 count;
	u64 stride;
};

struct remy_shape {
	/* Microseconds by which an RTT may exceed the minimum RTT and still count as the minimum. */
	u64 resolution;
	/* 1 if the table needs the delivery rate, and if its actions refer to it; else 0. */
	u64 follows_rate;
	u64 acts_on_rate;
	struct remy_axis axis[REMY_SIGNALS];
};

static u64 remy_end(u64 at);
static u64 remy_rule(u64 cell);
static const struct remy_action *remy_action(u64 rule);

struct remy {
	/* The memory; times in microseconds, all with 32 fraction bits. */
	u64 values[REMY_SIGNALS];
	/* Times at which the newest acknowledged packet was sent and its acknowledgement arrived. */
	u64 sent;
	u64 received;
	/* Whether there was an acknowledgement. */
	u64 begun;
	u64 min_rtt;
	/* The window in packets. */
	u64 window;
	/* Minimum time between packets in nanoseconds. */
	u64 gap;
	/* The packets that this acknowledgement counts for. */
	u64 packets;
	struct remy_rate rate;
};

/*
 * Returns `packets`, read from memory each time, so that the kernel's verifier does not know its
 * value. Otherwise the verifier would follow the code after a loop once per possible number of
 * packets.
 */
inline_always u64 remy_packets(const struct remy *r)
{
	return *(const volatile u64 *)&r->packets;
}

/* Returns the number of ends of an axis that are at most `value`. */
inline_always u64 remy_interval(const struct remy_axis *axis, u64 value)
{
	u64 place = 0;
	int step;

	for (step = REMY_STEPS - 1; step >= 0; step--) {
		u64 next = place + (1ULL << step);
		/*
		 * `there`: the axis has at least `next` ends. `below`: the `next`th of them is at most `value`.
		 * Both are 0 or 1.
		 */
		u64 there = 1 - ((axis->count - next) >> 63);
		u64 end = remy_end(axis->first + smaller(next, larger(axis->count, 1)) - 1);
		u64 below = 1 - ((value - end) >> 63);

		place += (there & below) << step;
	}
	return place;
}

/* Returns the rule for the present memory, in an equal number of steps for every table. */
inline_always u64 remy_find(const struct remy *r, const struct remy_shape *shape)
{
	u64 cell = 0;
	int signal;

	for (signal = 0; signal < REMY_SIGNALS; signal++) {
		const struct remy_axis *axis = &shape->axis[signal];

		if (axis->count)
			cell += remy_interval(axis, r->values[signal]) * axis->stride;
	}
	return remy_rule(cell);
}

/*
 * Returns the window that follows `window`, rounded towards zero. The multiple is increased by
 * 2^-40, so that products which are whole numbers in decimals are not rounded down to the next
 * lower one.
 */
inline_always u64 remy_apply(const struct remy_action *a, u64 window)
{
	u64 more = window * (a->times + (a->times > 0)) + (a->add << 40);
	u64 less = window * (a->times_less - (a->times_less > 0)) + (a->take << 40);

	return smaller((larger(more, less) - less) >> 40, REMY_MOST_PACKETS);
}

/*
 * Applies the rule for the present memory, once per packet. A rule that acts on the delivery rate
 * does not depend on the window before it, and so is applied once; a receiver that acknowledges n
 * packets at once keeps up to n - 1 of them back, which the window has in addition.
 */
inline_always void remy_act(struct remy *r, const struct remy_shape *shape)
{
	u64 rule = remy_find(r, shape), done;
	const struct remy_action *action;

	if (rule == REMY_NONE)
		return;
	action = remy_action(rule);
	if (!action)
		return;
	if (shape->acts_on_rate) {
		r->window = remy_rate_window(action, r->rate.pace, r->min_rtt) +
			    smaller(r->packets - 1, REMY_MOST_WAITING);
		r->gap = remy_rate_gap(action, r->rate.pace, r->min_rtt);
		return;
	}
	for (done = 0; done < REMY_MOST_ACKED; done++) {
		if (done >= remy_packets(r))
			break;
		r->window = remy_apply(action, r->window);
	}
	r->gap = action->gap;
}

/*
 * Begins a connection or a period of sending: with an empty memory, and the rule for it applied
 * once.
 */
inline_always void remy_begin(struct remy *r, const struct remy_shape *shape)
{
	int signal;

	for (signal = 0; signal < REMY_SIGNALS; signal++)
		r->values[signal] = 0;
	r->sent = 0;
	r->received = 0;
	r->begun = 0;
	r->min_rtt = 0;
	r->window = 0;
	r->gap = 0;
	r->packets = 1;
	r->rate.pace = 0;
	r->rate.slow_pace = 0;
	r->rate.average_rtt = 0;
	r->rate.packets = 0;
	remy_act(r, shape);
}

/*
 * Returns the time from `from` to `to` divided by `packets`, with fraction bits; 0 if it is
 * negative.
 */
inline_always u64 remy_gap(u64 from, u64 to, u64 packets)
{
	u64 time = to > from ? smaller(to - from, REMY_MOST_TIME) : 0;

	return (time << REMY_FRACTION) / packets;
}

inline_always u64 remy_average(u64 value, u64 sample, int weight)
{
	return value - (value >> weight) + (sample >> weight);
}

/*
 * Updates the delivery rate and its signals with `packets` packets acknowledged `gap` microseconds
 * after the ones before. `rtt` is at least the minimum RTT, with the resolution.
 */
inline_always void remy_follow_rate(struct remy *r, u64 packets, u64 gap, u64 rtt)
{
	u64 min_rtt = r->min_rtt << REMY_FRACTION;

	remy_rate_on_ack(&r->rate, packets, gap, rtt, r->min_rtt);
	r->values[REMY_MIN_RTT] = min_rtt;
	r->values[REMY_QUEUE_EWMA] = larger(r->rate.average_rtt, min_rtt) - min_rtt;
	r->values[REMY_RTT_TREND] = remy_ratio(rtt << REMY_FRACTION, r->rate.average_rtt);
	r->values[REMY_RATE_TREND] = remy_ratio(r->rate.slow_pace, r->rate.pace);
	r->values[REMY_ACK_GAP] = (gap << REMY_FRACTION) / packets;
}

/* Updates the memory with an acknowledgement whose newest packet has this RTT. */
inline_always void remy_remember(struct remy *r, const struct remy_shape *shape,
				 const struct feedback *f)
{
	u64 rtt = smaller(f->rtt, REMY_MOST_TIME);
	u64 sent = f->now > rtt ? f->now - rtt : 0;
	u64 send = remy_gap(r->sent, sent, r->packets);
	u64 rec = remy_gap(r->received, f->now, r->packets);
	u64 gap = f->now > r->received ? smaller(f->now - r->received, REMY_MOST_TIME) : 0;
	u64 packets = larger(r->rate.packets, 1);
	u64 above, ahead, done;

	r->rate.packets = 0;
	r->sent = sent;
	r->received = f->now;
	if (!r->begun) {
		r->begun = 1;
		r->min_rtt = rtt;
		if (shape->follows_rate) {
			remy_rate_begin(&r->rate, rtt, packets);
			r->values[REMY_MIN_RTT] = rtt << REMY_FRACTION;
		}
		return;
	}
	for (done = 0; done < REMY_MOST_ACKED; done++) {
		if (done >= remy_packets(r))
			break;
		r->values[REMY_SEND_EWMA] = remy_average(r->values[REMY_SEND_EWMA], send, 3);
		r->values[REMY_REC_EWMA] = remy_average(r->values[REMY_REC_EWMA], rec, 3);
		r->values[REMY_SLOW_REC_EWMA] = remy_average(r->values[REMY_SLOW_REC_EWMA], rec, 8);
	}
	r->min_rtt = smaller(r->min_rtt, rtt);
	above = rtt - r->min_rtt;
	above = above > shape->resolution ? above : 0;
	r->values[REMY_RTT_RATIO] = ((r->min_rtt + above) << REMY_FRACTION) / larger(r->min_rtt, 1);
	r->values[REMY_RTT_DIFF] = above << REMY_FRACTION;
	ahead = smaller(larger(f->ahead, 1), 1 << 20);
	r->values[REMY_QUEUEING_DELAY] = smaller(r->values[REMY_REC_EWMA], NEVER / ahead) * ahead;
	if (shape->follows_rate)
		remy_follow_rate(r, packets, gap, r->min_rtt + above);
}

/*
 * Processes an acknowledgement. If it has no RTT (of a retransmitted packet), it changes nothing
 * but the number of packets that the next one has for the delivery rate.
 */
inline_always void remy_on_feedback(struct remy *r, const struct remy_shape *shape,
				    const struct feedback *f)
{
	r->rate.packets = smaller(r->rate.packets + f->acked / ONE, REMY_MOST_IN_GROUP);
	if (f->acked < ONE || !f->rtt)
		return;
	r->packets = smaller(f->acked / ONE, REMY_MOST_ACKED);
	remy_remember(r, shape, f);
	remy_act(r, shape);
}

/* Returns the window for the socket, in packets, at least one. */
inline_always u64 remy_window(const struct remy *r)
{
	return larger(r->window, 1);
}

/* Returns the pacing rate in bytes per second; all ones without a limit, as in the kernel. */
inline_always u64 remy_pacing(const struct remy *r, u64 mss)
{
	return r->gap ? smaller(mss, 65536) * 1000000000ULL / r->gap : ~0ULL;
}

#endif
