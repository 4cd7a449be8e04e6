/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The programs' arithmetic as a filter for tests. Reads feedback as words of 64 bits from standard
 * input, and writes three words after each. `abc`: the window that marks move, Cubic's window, the
 * pacing rate. `c2tcp`, whose four limits are arguments: the window twice, and 1 if it was reduced.
 * `vegas`: the window twice, and the threshold. `remy`, whose table is in a file: the window in
 * packets, the time between packets, the pacing rate.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t u64;
typedef uint32_t u32;

#include "abc.h"
#include "c2tcp.h"
#include "remy.h"
#include "vegas.h"

/* A table as words: its shape, and three lists, each after its length. */
static struct remy_shape shape;
static u64 *ends, *cells, count_of_ends, count_of_cells, count_of_actions;
static struct remy_action *actions;

static u64 remy_end(u64 at)
{
	return at < count_of_ends ? ends[at] : NEVER;
}

static u64 remy_rule(u64 cell)
{
	return cell / 4 < count_of_cells ? (cells[cell / 4] >> (16 * (cell & 3))) & 0xffff : REMY_NONE;
}

static const struct remy_action *remy_action(u64 rule)
{
	return rule < count_of_actions ? &actions[rule] : 0;
}

/* Reads a list of elements of `size` bytes, and stores their number in `count`. */
static void *read_list(FILE *file, size_t size, u64 *count)
{
	void *list;

	if (fread(count, sizeof(*count), 1, file) != 1 || !(list = calloc(*count, size)) ||
	    fread(list, size, *count, file) != *count)
		exit(2);
	return list;
}

static void read_table(const char *path)
{
	FILE *file = fopen(path, "rb");

	if (!file || fread(&shape, sizeof(shape), 1, file) != 1)
		exit(2);
	ends = read_list(file, sizeof(*ends), &count_of_ends);
	cells = read_list(file, sizeof(*cells), &count_of_cells);
	actions = read_list(file, sizeof(*actions), &count_of_actions);
	fclose(file);
}

/*
 * Processes one event. A packet size of 0 marks an idle period: `acked` is its length, `rtt` the
 * timeout.
 */
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

static u64 limits[C2TCP_LIMITS];

static void read_limits(char **words, int count)
{
	int i;

	if (count != C2TCP_LIMITS)
		exit(2);
	for (i = 0; i < count; i++)
		limits[i] = strtoull(words[i], 0, 10);
}

static void c2tcp_step(struct c2tcp *c2tcp, int over_reno, const struct feedback *f, u64 out[3])
{
	out[2] = 0;
	if (f->mss == 0)
		c2tcp_on_idle(c2tcp, over_reno, f->now, f->acked, f->rtt);
	else
		out[2] = c2tcp_on_feedback(c2tcp, over_reno, limits, f);
	out[0] = c2tcp_cwnd(c2tcp, over_reno);
	out[1] = out[0];
}

static void vegas_step(struct vegas *vegas, const struct feedback *f, u64 out[3])
{
	if (f->mss == 0)
		vegas_on_idle(vegas, f->acked, f->rtt);
	else
		vegas_on_feedback(vegas, f);
	out[0] = vegas->window.cwnd;
	out[1] = out[0];
	out[2] = vegas->window.ssthresh;
}

static void remy_step(struct remy *remy, const struct feedback *f, u64 out[3])
{
	if (f->mss != 0)
		remy_on_feedback(remy, &shape, f);
	else if (f->acked > f->rtt)
		remy_begin(remy, &shape);
	out[0] = remy->window;
	out[1] = remy->gap;
	out[2] = remy_pacing(remy, f->mss);
}

int main(int argc, char **argv)
{
	static struct abc abc;
	static struct c2tcp c2tcp;
	static struct vegas vegas;
	static struct remy remy;
	static struct feedback f;
	const char *scheme = argc > 1 ? argv[1] : "";
	u64 out[3];

	abc_init(&abc);
	c2tcp_init(&c2tcp);
	vegas_init(&vegas);
	if (!strcmp(scheme, "remy") && argc > 2) {
		read_table(argv[2]);
		remy_begin(&remy, &shape);
	}
	if (!strncmp(scheme, "c2tcp", 5))
		read_limits(argv + 2, argc - 2);
	while (fread(&f, sizeof(f), 1, stdin) == 1) {
		if (!strcmp(scheme, "abc"))
			abc_step(&abc, &f, out);
		else if (!strcmp(scheme, "c2tcp"))
			c2tcp_step(&c2tcp, 0, &f, out);
		else if (!strcmp(scheme, "c2tcp-over-reno"))
			c2tcp_step(&c2tcp, 1, &f, out);
		else if (!strcmp(scheme, "vegas"))
			vegas_step(&vegas, &f, out);
		else if (!strcmp(scheme, "remy"))
			remy_step(&remy, &f, out);
		else
			return 2;
		if (fwrite(out, sizeof(out), 1, stdout) != 1)
			return 1;
	}
	return 0;
}
