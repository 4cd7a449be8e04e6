/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Reads the kernel's trace events of TCP. The kernel stamps them with CLOCK_MONOTONIC; within its
 * network code, reading this clock takes no virtual time, so that recording changes no packet.
 */
#include "probe.h"
#include "telemetry.h"

/* Mount point of tracefs, which is there only while the files are opened. */
#define TRACING "/tracing"

static int pipe = -1;

static int set(const char *name, const char *value, struct text *problem)
{
	struct text path = { .length = 0 };
	long result;

	put(&path, TRACING "/");
	put(&path, name);
	result = write_file(path.bytes, value);
	if (result && problem) {
		put(problem, "pl.probe: trace events cannot be set up (");
		put(problem, name);
		put(problem, "): ");
		put_error(problem, result);
	}
	return result != 0;
}

int start_probe(struct text *problem)
{
	long result;

	sys(mkdir, TRACING, 0700);
	result = sys(mount, "tracefs", TRACING, "tracefs", 0, 0);
	if (result < 0) {
		put(problem, "pl.probe: this guest's kernel has no trace events (CONFIG_FTRACE, CONFIG_ENABLE_DEFAULT_TRACERS): ");
		put_error(problem, result);
		return 1;
	}
	/* Room for the events of 10 ms at any rate that a guest reaches. */
	if (set("trace_clock", "mono", problem) || set("buffer_size_kb", "4096", problem) ||
	    set("events/tcp/tcp_probe/enable", "1", problem) ||
	    set("events/tcp/tcp_retransmit_skb/enable", "1", problem))
		return 1;
	/* Since Linux 5.19. */
	set("events/tcp/tcp_cong_state_set/enable", "1", 0);
	result = sys(open, TRACING "/trace_pipe", O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0);
	if (result < 0) {
		put(problem, "pl.probe: trace_pipe: ");
		put_error(problem, result);
		return 1;
	}
	pipe = (int)result;
	/* Programs do not see it. */
	sys(umount2, TRACING, 2 /* MNT_DETACH */);
	sys(rmdir, TRACING);
	return 0;
}

void read_probe(void)
{
	static char text[MAX_BODY];
	long got;

	while (telemetry_has_room() && (got = sys(read, pipe, text, sizeof(text))) > 0)
		tell(TRACE, HOST, text, (usize)got);
}
