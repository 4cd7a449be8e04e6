/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * ABC's sender: a window that follows accelerates and brakes, and beside it Cubic's, which follows
 * drops and CE. The smaller one is used. See `crates/schemes/src/abc`.
 */
#ifndef PACELINE_ABC_H
#define PACELINE_ABC_H

#include "cubic.h"

#define ABC_MIN_WINDOW (2 * ONE)
/* Packets by which a window may exceed twice the packets in flight. */
#define ABC_SLACK (5 * ONE)

struct abc {
	/* ABC's window in packets (Q16). */
	u64 w;
	struct cubic cubic;
	/* Most packets in flight in this round trip and in the previous one (Q16). */
	u64 flight[2];
	/* RTT for the pacing rate, in microseconds. */
	u64 rtt;
};

inline_always void abc_init(struct abc *a)
{
	a->w = INITIAL_WINDOW;
	cubic_init(&a->cubic, INITIAL_WINDOW);
	a->flight[0] = 0;
	a->flight[1] = 0;
	a->rtt = 0;
}

/* Moves ABC's window by the marks, and by one packet per round trip (paper, equation 3). */
inline_always void abc_obey(struct abc *a, const struct feedback *f)
{
	u64 more = smaller(scale(smaller(f->acked, MOST_ACKED), ONE, a->w), ONE);
	u64 sum = a->w + f->accelerates + more;

	sum = sum > f->brakes ? sum - f->brakes : 0;
	a->w = smaller(larger(sum, ABC_MIN_WINDOW), MOST_WINDOW);
}

/*
 * Caps both windows, so that neither grows without limit while the other one is smaller (paper,
 * section 4.1).
 */
inline_always void abc_cap(struct abc *a, const struct feedback *f)
{
	u64 most;

	if (f->round_start) {
		a->flight[1] = a->flight[0];
		a->flight[0] = f->prior_in_flight;
	}
	a->flight[0] = larger(a->flight[0], f->prior_in_flight);
	most = 2 * larger(a->flight[0], a->flight[1]) + ABC_SLACK;
	cubic_cap(&a->cubic, most);
	a->w = smaller(a->w, most);
}

inline_always void abc_on_feedback(struct abc *a, const struct feedback *f)
{
	if (f->rtt)
		a->rtt = smaller(f->rtt, f->srtt);
	if (f->acked || f->accelerates || f->brakes)
		abc_obey(a, f);
	cubic_on_feedback(&a->cubic, f);
	abc_cap(a, f);
}

/* Returns the window in use, in packets (Q16). */
inline_always u64 abc_window(const struct abc *a)
{
	return smaller(a->w, a->cubic.cwnd);
}

/*
 * Returns the pacing rate in bytes per second: two windows per round trip; 0 before the first RTT.
 */
inline_always u64 abc_pacing(const struct abc *a, u64 mss)
{
	u64 bytes = (abc_window(a) * smaller(mss, 65536)) >> 16;

	return a->rtt ? smaller(bytes, 1ULL << 42) * 2000000 / a->rtt : 0;
}

#endif
