/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The delivery rate of Remy's sender, the averages that refer to it, and what a rule of a table with
 * actions on the rate makes of it. See `RateTracker` and `Action::apply_to_rate` in
 * `crates/schemes/src/remy`.
 *
 * The rate is kept as its inverse, the time per packet I. With C = minimum RTT + 4 I, n packets
 * acknowledged `gap` after the ones before give
 *
 *	I (C + gap) / (C + n I)  =  I + share (gap - n I),  share = I / (C + n I).
 *
 * The share needs few digits: an error in it changes how fast I reaches gap / n, not its limit.
 *
 * A group counts once, with its n packets: as if they had been acknowledged at equal intervals, so
 * that the latest time between acknowledgements is gap / n.
 */
#ifndef PACELINE_REMY_RATE_H
#define PACELINE_REMY_RATE_H

#include "fixed.h"

/* Longest time: 2^27 microseconds, 134 s. Times have 32 fraction bits. */
#define REMY_MOST_TIME (1ULL << 27)
#define REMY_FRACTION 32
#define REMY_MOST_PACKETS 1000000
/* Shortest and longest time per packet: 2^-12 and 2^23 microseconds, with 32 fraction bits. */
#define REMY_LEAST_PACE (1ULL << 20)
#define REMY_MOST_PACE (1ULL << 55)
/* Most packets of a group, and most of a group's packets times the time per packet. */
#define REMY_MOST_IN_GROUP 1024
#define REMY_MOST_OF_GROUP (1ULL << 61)
/* Longest time between packets in nanoseconds. */
#define REMY_MOST_RATE_GAP 1000000000ULL

/*
 * Action of a rule. For a negative number its size is in `less`, `take` or `queue_less`, and the
 * positive field is 0.
 */
struct remy_action {
	/*
	 * Multiple of the window, with 40 fraction bits and below 4; of the minimum RTT if the table
	 * acts on the rate, with 24 fraction bits and below 16, never negative.
	 */
	u64 times;
	u64 times_less;
	/* Packets to add or to take away after the multiplication. */
	u64 add;
	u64 take;
	/*
	 * Minimum time between packets in nanoseconds; if the table acts on the rate, the pacing rate as
	 * a multiple of the delivery rate, with 28 fraction bits. 0: no pacing.
	 */
	u64 gap;
	/* Queueing delay to aim at in microseconds, with 24 fraction bits, if the table acts on the rate. */
	u64 queue;
	u64 queue_less;
};

/* Times in microseconds with 32 fraction bits. */
struct remy_rate {
	/* Time per packet at the delivery rate, and at its slow average; 0 before the first RTT. */
	u64 pace;
	u64 slow_pace;
	u64 average_rtt;
	/* Packets acknowledged since the last RTT. */
	u64 packets;
};

/*
 * Returns a / b with 32 fraction bits, digit by digit and rounded down, for `a` at most `b` and `b`
 * below 2^62. All ones if they are equal. Without branches, for the verifier.
 */
inline_always u64 remy_share(u64 a, u64 b)
{
	u64 share = 0;
	int bit;

	for (bit = 0; bit < REMY_FRACTION; bit++) {
		u64 fits;

		a <<= 1;
		fits = 1 - ((a - b) >> 63);
		a -= b * fits;
		share = (share << 1) + fits;
	}
	return share;
}

/* Returns a / b with 32 fraction bits, for numbers below 2^62; at most 2^29. */
inline_always u64 remy_ratio(u64 a, u64 b)
{
	b = larger(b, 1);
	return (smaller(a / b, 1ULL << 29) << REMY_FRACTION) + remy_share(a % b, b);
}

/* Returns a share of a value below 2^62. */
inline_always u64 remy_part(u64 share, u64 value)
{
	return share * (value >> REMY_FRACTION) +
	       ((share * (value & 0xffffffff)) >> REMY_FRACTION);
}

inline_always u64 remy_bounded_pace(u64 pace)
{
	return smaller(larger(pace, REMY_LEAST_PACE), REMY_MOST_PACE);
}

/*
 * Returns the time per packet after `packets` packets that took `gap` microseconds. The average has
 * the time constant 2^slower * `constant`.
 */
inline_always u64 remy_next_pace(u64 pace, u64 constant, int slower, u64 packets, u64 gap)
{
	u64 took, share;

	pace = remy_bounded_pace(pace);
	took = smaller(packets, REMY_MOST_OF_GROUP / pace) * pace;
	share = remy_share(pace >> slower, constant + (took >> slower));
	return remy_bounded_pace(pace + share * gap - remy_part(share, took));
}

/* Begins with the first RTT, in microseconds: the rate is `packets` packets per RTT. */
inline_always void remy_rate_begin(struct remy_rate *rate, u64 rtt, u64 packets)
{
	rate->pace = remy_bounded_pace((rtt << REMY_FRACTION) / larger(packets, 1));
	rate->slow_pace = rate->pace;
	rate->average_rtt = rtt << REMY_FRACTION;
}

/*
 * Takes in `packets` packets, acknowledged `gap` microseconds after the ones before. Both RTTs are
 * in microseconds.
 */
inline_always void remy_rate_on_ack(struct remy_rate *rate, u64 packets, u64 gap, u64 rtt,
				    u64 min_rtt)
{
	u64 constant = (min_rtt << REMY_FRACTION) + 4 * rate->pace;
	u64 average = rate->average_rtt;
	u64 share = remy_share(gap << REMY_FRACTION, constant + (gap << REMY_FRACTION));

	rate->pace = remy_next_pace(rate->pace, constant, 0, packets, gap);
	rate->slow_pace = remy_next_pace(rate->slow_pace, constant, 3, packets, gap);
	rtt <<= REMY_FRACTION;
	rate->average_rtt = average + remy_part(share, larger(rtt, average) - average) -
			    remy_part(share, average - smaller(rtt, average));
}

/*
 * Returns the window: the packets that the delivery rate delivers in `times` minimum RTTs plus the
 * queueing delay, and `add`, rounded towards zero. Without a rate these are `add` packets.
 */
inline_always u64 remy_rate_window(const struct remy_action *a, u64 pace, u64 min_rtt)
{
	u64 more = a->times * min_rtt + a->queue, less = a->queue_less;
	u64 step = larger(pace >> 8, 1);
	u64 known = pace > 0;
	u64 add = known * ((larger(more, less) - less) / step) + a->add;
	u64 take = known * ((larger(less, more) - more + step - 1) / step) + a->take;

	return smaller(larger(add, take) - take, REMY_MOST_PACKETS);
}

/*
 * Returns the time between packets in nanoseconds at `gap` times the sum of the delivery rate and
 * `add` packets per minimum RTT. 0 is no pacing.
 */
inline_always u64 remy_rate_gap(const struct remy_action *a, u64 pace, u64 min_rtt)
{
	u64 rtt = min_rtt << 16;
	u64 share = remy_share(rtt, rtt + a->add * (pace >> 16));
	u64 time = remy_part(share, pace) >> 4;
	u64 gap = smaller(time * 1000 / larger(a->gap, 1), REMY_MOST_RATE_GAP);

	return gap * (a->gap > 0);
}

#endif
