/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The programs' arithmetic as a filter for tests: reads feedback as words of 64 bits from standard
 * input, and writes after each three words: the window that marks move, Cubic's window and the pacing rate of
 * `abc`; of `c2tcp` the window twice, and whether it was closed.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef uint64_t u64;
typedef uint32_t u32;

#include "abc.h"
#include "c2tcp.h"

/* A packet size of 0 says that this is an idle period: acked is its length, rtt the timeout. */
static void abc_step(struct abc *abc, const struct feedback *f, u64 out[3])
{
	if (f->mss == 0)
		cubic_on_idle(&abc->cubic, f->now, f->acked, f->rtt);
	else
		abc_on_feedback(abc, f);
	out[0] = abc->w;
	out[1] = abc->cubic.cwnd;
	out[2] = abc_pacing(abc, f->mss);
}

static void c2tcp_step(struct c2tcp *c2tcp, const struct feedback *f, u64 out[3])
{
	out[2] = 0;
	if (f->mss == 0)
		cubic_on_idle(&c2tcp->cubic, f->now, f->acked, f->rtt);
	else
		out[2] = c2tcp_on_feedback(c2tcp, f);
	out[0] = c2tcp->cubic.cwnd;
	out[1] = c2tcp->cubic.cwnd;
}

int main(int argc, char **argv)
{
	static struct abc abc;
	static struct c2tcp c2tcp;
	static struct feedback f;
	int is_c2tcp = argc > 1 && !strcmp(argv[1], "c2tcp");
	u64 out[3];

	abc_init(&abc);
	c2tcp_init(&c2tcp);
	while (fread(&f, sizeof(f), 1, stdin) == 1) {
		if (is_c2tcp)
			c2tcp_step(&c2tcp, &f, out);
		else
			abc_step(&abc, &f, out);
		if (fwrite(out, sizeof(out), 1, stdout) != 1)
			return 1;
	}
	return 0;
}
