/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The programs' arithmetic as a filter for tests: reads feedback as words of 64 bits from standard
 * input, and writes after each the window that marks move, Cubic's window and the pacing rate.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef uint64_t u64;
typedef uint32_t u32;

#include "abc.h"

int main(void)
{
	static struct abc abc;
	static struct feedback f;
	u64 out[3];

	abc_init(&abc);
	while (fread(&f, sizeof(f), 1, stdin) == 1) {
		/* An idle period: acked is its length, rtt the timeout. */
		if (f.mss == 0)
			cubic_on_idle(&abc.cubic, f.now, f.acked, f.rtt);
		else
			abc_on_feedback(&abc, &f);
		out[0] = abc.w;
		out[1] = abc.cubic.cwnd;
		out[2] = abc_pacing(&abc, f.mss);
		if (fwrite(out, sizeof(out), 1, stdout) != 1)
			return 1;
	}
	return 0;
}
