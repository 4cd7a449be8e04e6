/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Fixed-point numbers: unsigned, 64 bits, 16 of them fraction bits ("Q16").
 *
 * The same code runs in the kernel as eBPF and on the host in tests. eBPF has neither floating
 * point nor signed division, so everything here is unsigned. `src/integer/fixed.rs` is the same
 * in Rust, and `tests/differential.rs` holds the two together.
 */
#ifndef PACELINE_FIXED_H
#define PACELINE_FIXED_H

#define ONE (1ULL << 16)
/* Largest window: 2^20 packets. */
#define MOST_WINDOW (1ULL << 36)
/* Most packets for which one acknowledgement counts where it is multiplied: 2^10. */
#define MOST_ACKED (1ULL << 26)
/* A time or a threshold that is never reached. */
#define NEVER (1ULL << 62)

#define inline_always static inline __attribute__((always_inline))

/*
 * Return the smaller and the larger of two numbers below 2^63. They have no branches: the kernel's
 * verifier follows both sides of each branch, and a dozen branches in a row exceed its limit.
 */
inline_always u64 smaller(u64 a, u64 b)
{
	u64 below = a - b;

	return b + (below & (0 - (below >> 63)));
}

inline_always u64 larger(u64 a, u64 b)
{
	u64 below = a - b;

	return a - (below & (0 - (below >> 63)));
}

/* Returns a * b / c rounded to the nearest; 0 if c is 0. The caller keeps a * b below 2^63. */
inline_always u64 scale(u64 a, u64 b, u64 c)
{
	return c ? (a * b + c / 2) / c : 0;
}

/* Converts microseconds, at most 1000 s, to seconds in Q16. */
inline_always u64 seconds(u64 micros)
{
	return (smaller(micros, 1000000000ULL) << 10) / 15625;
}

/* Returns the cube in Q16 of seconds in Q16, at most 1000 s. */
inline_always u64 cube(u64 x)
{
	x = smaller(x, 1000 * ONE);
	return (((x * x) >> 16) * x) >> 16;
}

/*
 * Returns the cube root in Q16 of a Q16 number, digit by digit, rounded down to 2^-15. Without
 * branches, as above.
 */
inline_always u64 cube_root(u64 value)
{
	u64 rest = smaller(value, (1ULL << 34) - 1) << 29;
	u64 root = 0;
	int shift;

	for (shift = 63; shift >= 0; shift -= 3) {
		u64 digit, fits;

		root <<= 1;
		digit = 3 * root * (root + 1) + 1;
		fits = 1 - (((rest >> shift) - digit) >> 63);
		rest -= (digit * fits) << shift;
		root += fits;
	}
	return root << 1;
}

#endif
