/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The user's programs: starts them, reports their output and exit status, and ends them.
 *
 * Output is read at a limited rate. Computing takes no time, so a program that writes without end would
 * otherwise stop the guest's clock.
 */
#include <linux/signal.h>
#include <linux/wait.h>

#include "loop.h"
#include "program.h"

/* Longest time that the set-up waits for programs to listen. */
#define LISTEN_WAIT (400 * MILLISECOND)
/* Time between SIGTERM at `stop` and SIGKILL. */
#define GRACE (5 * SECOND)
/* Bytes of a description, and texts in it. */
#define MAX_DESCRIPTION (1 << 16)
#define MAX_TEXTS 1024
/* Bytes of each output that are reported; of the others only the number is. */
#define MOST_KEPT (256 << 10)
/* Bytes of an output that are read in PACE_INTERVAL. */
#define PACE (256 << 10)
#define PACE_INTERVAL MILLISECOND
/* Time from a byte that is not kept to the report of their number. */
#define TOTAL_INTERVAL (100 * MILLISECOND)
/* Bytes in a pipe, at most. */
#define PIPE (1 << 16)
/* Bytes before the text of an OUTPUT: the output's number, three zeros, the bytes so far. */
#define OUTPUT_HEAD 12
/* Processes of a guest, at most: each is a process of the host. */
#define MAX_PROCESSES "512"

struct output {
	/* Read end of the pipe; 0 if it is closed. */
	int fd;
	u64 total, kept;
	/* Start of the current PACE_INTERVAL, and bytes read in it. */
	u64 since, used;
	/* Time to read again; NEVER while epoll watches the pipe. */
	u64 resumes;
	/* Time to report the total; NEVER if it is reported. */
	u64 reports;
};

static struct program {
	/* Process number; 0 if it does not run. */
	int process;
	u64 starts, ends;
	int terminated;
	struct output outputs[2];
} programs[MAX_CONNECTIONS];

static u8 buffer[PIPE];

int has_programs(void)
{
	for (usize i = 0; i < settings.plan_count; i++)
		if (settings.plans[i].run)
			return 1;
	return 0;
}

/* Mounts a file system. Errors are ignored: most programs do not need it. */
static void mount_at(const char *kind, const char *place)
{
	sys(mkdir, place, 0755);
	sys(mount, kind, place, kind, 0, 0);
}

void mount_for_programs(void)
{
	for (usize i = 0; i < MAX_CONNECTIONS; i++) {
		programs[i].starts = programs[i].ends = NEVER;
		for (int k = 0; k < 2; k++)
			programs[i].outputs[k].resumes = programs[i].outputs[k].reports = NEVER;
	}
	if (!has_programs())
		return;
	mount_at("sysfs", "/sys");
	mount_at("devpts", "/dev/pts");
	write_file("/proc/sys/kernel/threads-max", MAX_PROCESSES);
	for (usize i = 0; i < settings.plan_count; i++)
		if (settings.plans[i].run)
			programs[i].starts = settings.plans[i].start;
}

/* Sends OUTPUT: `length` bytes at `body` + OUTPUT_HEAD. */
static void tell_output(usize index, int which, u8 *body, usize length)
{
	struct output *output = &programs[index].outputs[which];

	memset(body, 0, 4);
	body[0] = (u8)(which + 1);
	memcpy(body + 4, &output->total, 8);
	tell(OUTPUT, (u8)index, body, OUTPUT_HEAD + length);
}

static void tell_total(usize index, int which)
{
	u8 body[OUTPUT_HEAD];

	programs[index].outputs[which].reports = NEVER;
	tell_output(index, which, body, 0);
}

/* Reads up to `most` bytes of an output. Returns their number, 0 at the end, or a negative error. */
static long read_some(usize index, int which, u64 most, u64 time)
{
	struct output *output = &programs[index].outputs[which];
	u64 room = MOST_KEPT - output->kept;
	long got;

	if (!room) {
		got = sys(read, output->fd, buffer, most < sizeof(buffer) ? most : sizeof(buffer));
		if (got > 0) {
			output->total += (u64)got;
			if (output->reports == NEVER)
				output->reports = time + TOTAL_INTERVAL;
		}
		return got;
	}
	if (!telemetry_has_room())
		return -ENOBUFS;
	if (room > MAX_BODY - OUTPUT_HEAD)
		room = MAX_BODY - OUTPUT_HEAD;
	got = sys(read, output->fd, buffer + OUTPUT_HEAD, most < room ? most : room);
	if (got > 0) {
		output->total += (u64)got;
		output->kept += (u64)got;
		tell_output(index, which, buffer, (usize)got);
	}
	return got;
}

static void close_output(usize index, int which)
{
	struct output *output = &programs[index].outputs[which];

	/* Closing also ends epoll's watch. */
	sys(close, output->fd);
	output->fd = 0;
	output->resumes = NEVER;
	if (output->reports != NEVER)
		tell_total(index, which);
}

/* Reads an output until it is empty, at its end, or read faster than its pace. */
static void drain(usize index, int which, u64 time)
{
	struct output *output = &programs[index].outputs[which];
	long got;

	if (time - output->since >= PACE_INTERVAL) {
		output->since = time;
		output->used = 0;
	}
	do {
		if (output->used >= PACE) {
			got = -ENOBUFS;
			break;
		}
		got = read_some(index, which, PACE - output->used, time);
		if (got > 0)
			output->used += (u64)got;
	} while (got > 0);
	if (got == -ENOBUFS) {
		if (output->resumes == NEVER)
			unwatch(output->fd);
		output->resumes = time + PACE_INTERVAL;
	} else if (got == -EAGAIN) {
		if (output->resumes != NEVER)
			watch(output->fd, EPOLLIN, PROGRAM, (u32)index * 2 + (u32)which);
		output->resumes = NEVER;
	} else if (got != -EINTR) {
		close_output(index, which);
	}
}

void read_output(u32 index)
{
	if (programs[index / 2].outputs[index % 2].fd)
		drain(index / 2, (int)(index % 2), now());
}

/*
 * Replaces the child by the program that the file at `path` describes: its path, the number of its
 * arguments, the arguments, and its environment. Returns only if that fails.
 */
static long become(const char *path, const int pipes[2])
{
	static char description[MAX_DESCRIPTION];
	static char *texts[MAX_TEXTS + 2];
	const char *count_text;
	u64 count = 0, no_signals = 0;
	usize found = 0;
	long length = read_file(path, description, sizeof(description)), null;

	if (length < 0)
		return length;
	for (char *at = description; at < description + length && found < MAX_TEXTS; at += strlen(at) + 1)
		texts[found++] = at;
	count_text = found > 1 ? texts[1] : "";
	if (found < 3 || !read_number(&count_text, &count) || !count || count > found - 2)
		return -EINVAL;
	/* The environment begins after the arguments, which end with a null pointer. */
	memmove(&texts[2 + count + 1], &texts[2 + count], (found - 2 - count) * sizeof(*texts));
	texts[2 + count] = 0;
	texts[found + 1] = 0;

	sys(setsid);
	sys(rt_sigprocmask, SIG_SETMASK, &no_signals, 0, sizeof(no_signals));
	null = sys(open, "/dev/null", O_RDWR, 0);
	if (null < 0)
		return null;
	sys(dup2, null, 0);
	sys(dup2, pipes[0], 1);
	sys(dup2, pipes[1], 2);
	sys(close_range, 3, ~0u, 4 /* CLOSE_RANGE_CLOEXEC */);
	sys(chdir, "/work");
	return sys(execve, texts[0], &texts[2], &texts[2 + count + 1]);
}

/* Starts a program and watches its outputs. Returns 0, or a negative error. */
static long start(usize index)
{
	struct program *program = &programs[index];
	int errors[2], outputs[2][2], writers[2];
	s32 error = 0;
	long child = sys(pipe2, errors, O_CLOEXEC);

	for (int k = 0; k < 2 && !child; k++) {
		child = sys(pipe2, outputs[k], O_CLOEXEC);
		writers[k] = outputs[k][1];
	}
	if (!child)
		child = sys(fork);
	if (!child) {
		error = (s32)become(settings.plans[index].run, writers);
		sys(write, errors[1], &error, sizeof(error));
		sys(exit_group, 127);
	}
	if (child < 0)
		return child;
	program->process = (int)child;
	/* execve closes the other copy: then the read below returns 0 bytes. */
	sys(close, errors[1]);
	if (sys(read, errors[0], &error, sizeof(error)) != sizeof(error))
		error = 0;
	sys(close, errors[0]);
	for (int k = 0; k < 2; k++) {
		sys(close, outputs[k][1]);
		sys(fcntl, outputs[k][0], F_SETFL, O_NONBLOCK);
		program->outputs[k].fd = outputs[k][0];
		watch(outputs[k][0], EPOLLIN, PROGRAM, (u32)index * 2 + (u32)k);
	}
	return error;
}

static void start_program(usize index)
{
	struct text problem = { .length = 0 };
	long error;

	programs[index].starts = NEVER;
	programs[index].ends = settings.plans[index].stop;
	error = start(index);
	if (!error)
		return;
	put(&problem, "the program of connection ");
	put_number(&problem, index);
	put(&problem, " cannot be started: ");
	put_error(&problem, error);
	fail((u8)index, &problem);
}

/* True if a socket listens on this port. */
static int is_listening(u16 port)
{
	/* Lines of "  0: 0100000A:1389 00000000:0000 0A ...": state 0A is LISTEN. */
	static char table[1 << 14];
	static const char hex[] = "0123456789ABCDEF";
	char wanted[] = { ':', hex[port >> 12], hex[port >> 8 & 15], hex[port >> 4 & 15], hex[port & 15] };

	long length = read_file("/proc/net/tcp", table, sizeof(table));

	for (long i = 0; i + 22 <= length; i++)
		if (!memcmp(table + i, wanted, sizeof(wanted)) && table[i + 5] == ' ' && !memcmp(table + i + 19, " 0A", 3))
			return 1;
	return 0;
}

void start_listening_programs(int signals)
{
	u64 patience = now() + LISTEN_WAIT;

	for (usize i = 0; i < settings.plan_count; i++)
		if (settings.plans[i].run && settings.plans[i].start == NEVER)
			start_program(i);
	for (usize i = 0; i < settings.plan_count; i++)
		while (programs[i].process && !is_listening(settings.plans[i].port) && now() < patience) {
			sleep_until(now() + MILLISECOND);
			collect_programs(signals);
		}
}

void step_programs(u64 time)
{
	for (usize i = 0; i < settings.plan_count; i++) {
		struct program *program = &programs[i];

		if (time >= program->starts)
			start_program(i);
		for (int k = 0; k < 2; k++) {
			if (time >= program->outputs[k].resumes)
				drain(i, k, time);
			if (time >= program->outputs[k].reports)
				tell_total(i, k);
		}
		if (time < program->ends)
			continue;
		/* The process group, because the program may have started others. */
		sys(kill, -program->process, program->terminated ? SIGKILL : SIGTERM);
		program->ends = program->terminated ? NEVER : time + GRACE;
		program->terminated = 1;
	}
}

u64 programs_wake(void)
{
	u64 least = NEVER;

	for (usize i = 0; i < settings.plan_count; i++) {
		const struct program *program = &programs[i];
		u64 times[] = { program->starts, program->ends, program->outputs[0].resumes, program->outputs[0].reports,
				program->outputs[1].resumes, program->outputs[1].reports };

		for (usize k = 0; k < COUNT(times); k++)
			if (times[k] < least)
				least = times[k];
	}
	return least;
}

/* Reports the end of a program, after the output that it has left in its pipes. */
static void end_program(usize index, s32 status)
{
	struct program *program = &programs[index];
	u64 time = now();

	for (int k = 0; k < 2; k++) {
		u64 left = PIPE;
		long got = 1;

		while (program->outputs[k].fd && left && got > 0) {
			got = read_some(index, k, left, time);
			left -= got > 0 ? (u64)got : 0;
		}
		if (program->outputs[k].reports != NEVER)
			tell_total(index, k);
	}
	tell(EXIT, (u8)index, &status, sizeof(status));
	program->process = 0;
	program->ends = NEVER;
}

void collect_programs(int signals)
{
	u8 ignored[128 * 4];
	long process;
	s32 word;

	sys(read, signals, ignored, sizeof(ignored));
	while ((process = sys(wait4, -1, &word, WNOHANG, 0)) > 0) {
		s32 status = word & 0x7f ? 128 + (word & 0x7f) : word >> 8 & 0xff;

		end_reader((int)process);
		for (usize i = 0; i < settings.plan_count; i++)
			if (programs[i].process == process)
				end_program(i, status);
	}
}
