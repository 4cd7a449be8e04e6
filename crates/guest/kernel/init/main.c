/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The first process of a Linux guest: sets the host up as the kernel's command line says
 * (PROTOCOL.md), then sends or receives. It never polls without sleeping: computing takes no
 * virtual time, so such a loop would never end.
 */
#include <linux/random.h>
#include <linux/resource.h>
#include <linux/signal.h>

#include "folder.h"
#include "loop.h"
#include "network.h"
#include "observe.h"
#include "orders.h"
#include "probe.h"
#include "program.h"

#define TFD_TIMER_ABSTIME 1

static int timer;
/*
 * Time of the next samples: 1 s, and then each multiple of the interval later, equal at all hosts.
 */
static u64 next_sample = NEVER;
/* Time of the next reading of TCP's events. */
static u64 next_probe = NEVER;

/*
 * Seeds the random pool from the command line. Kernels would seed it from the host, but the
 * simulator refuses that, so that runs depend only on the simulator's seed.
 */
static void seed(void)
{
	struct {
		struct {
			int bits, bytes;
		} count;
		u8 bytes[32];
	} entropy = { { 256, 32 }, { 0 } };
	long fd = sys(open, "/dev/urandom", O_RDWR | O_CLOEXEC, 0), result;

	memcpy(entropy.bytes, settings.seed, 32);
	result = fd < 0 ? fd : sys(ioctl, fd, RNDADDENTROPY, &entropy);
	if (result < 0)
		refuse(HOST, "seed", "...", result);
	sys(close, fd);
}

static void set_sysctls(void)
{
	for (usize i = 0; i < settings.sysctl_count; i++) {
		const char *name = settings.sysctls[i].name, *value = settings.sysctls[i].value;
		struct text path = { .length = 0 }, key = { .length = 0 };
		long result;

		put(&path, "/proc/sys/");
		put(&path, name);
		for (char *at = path.bytes + 10; *at; at++)
			if (*at == '.')
				*at = '/';
		result = write_file(path.bytes, value);
		put(&key, "sysctl.");
		put(&key, name);
		if (result)
			refuse(HOST, key.bytes, value, result);
	}
}

/*
 * Writes the kernel's release and its congestion controls to `into`, each with a zero byte at its
 * end. Returns their total length.
 */
static usize read_kernel(char into[MAX_BODY])
{
	static char schemes[1024];
	struct {
		char part[6][65];
	} system = { 0 };
	usize length;

	sys(uname, &system);
	if (read_file("/proc/sys/net/ipv4/tcp_available_congestion_control", schemes, sizeof(schemes)) < 0)
		schemes[0] = 0;
	for (char *at = schemes; *at; at++)
		if (*at == '\n')
			*at = 0;
	length = strlen(system.part[2]) + 1;
	memcpy(into, system.part[2], length);
	memcpy(into + length, schemes, strlen(schemes) + 1);
	return length + strlen(schemes) + 1;
}

static void say_hello(void)
{
	static char body[MAX_BODY + 2];
	u16 version = PROTOCOL;

	memcpy(body, &version, 2);
	tell(HELLO, HOST, body, 2 + read_kernel(body + 2));
}

/*
 * Prints on the console what this guest is, and powers off. Called if the command line has no key
 * of Paceline.
 */
static void describe(void) __attribute__((noreturn));
static void describe(void)
{
	static char kernel[MAX_BODY];
	struct text text = { .length = 0 };

	read_kernel(kernel);
	put(&text, "paceline guest: protocol ");
	put_number(&text, PROTOCOL);
	put(&text, "\npaceline guest: release ");
	put(&text, kernel);
	put(&text, "\npaceline guest: schemes ");
	put(&text, kernel + strlen(kernel) + 1);
	put(&text, "\n");
	sys(write, 1, text.bytes, text.length);
	power_off();
}

/* Sets the host up, and stores its device's index. Returns 0, or 1 with the reason in *problem. */
static int set_up(struct text *problem, int *index)
{
	static char line[LINE + 1];
	long result = read_file("/proc/cmdline", line, sizeof(line));

	if (result < 0) {
		put(problem, "/proc/cmdline: ");
		put_error(problem, result);
		return 1;
	}
	result = read_settings(line, problem);
	if (result < 0)
		describe();
	if (result)
		return 1;
	seed();
	if (load_modules(problem))
		return 1;
	mount_for_programs();
	set_sysctls();
	if (set_network_up(problem, index) || (settings.probe && start_probe(problem)))
		return 1;
	result = open_telemetry(*index);
	if (result) {
		put(problem, "packet socket: ");
		put_error(problem, result);
	}
	return result != 0;
}

/* Returns the time of the next event: of a frame to retry, a sample, a sender, a program or a reading of TCP's events. */
static u64 next_time(u64 retry)
{
	u64 least = retry < next_sample ? retry : next_sample, wakes = programs_wake();

	if (wakes < least)
		least = wakes;
	if (next_probe < least)
		least = next_probe;
	for (usize i = 0; i < settings.plan_count && settings.is_sender; i++) {
		wakes = sender_wakes(i);
		if (wakes < least)
			least = wakes;
	}
	return least;
}

/* Arms the timer, unless it is armed for this time. Time 0 disarms it. */
static void arm(u64 time)
{
	static u64 armed;
	struct __kernel_timespec setting[2] = { { 0, 0 }, { 0, 0 } };

	time = time == NEVER ? 0 : time ? time : 1;
	if (time == armed)
		return;
	armed = time;
	setting[1].tv_sec = (s64)(time / SECOND);
	setting[1].tv_nsec = (s64)(time % SECOND);
	sys(timerfd_settime, timer, TFD_TIMER_ABSTIME, setting, 0);
}

static void sample(u64 time)
{
	if (time < next_sample)
		return;
	if (settings.is_sender)
		sample_senders();
	else
		sample_receivers();
	sample_programs();
	next_sample += ((time - next_sample) / settings.sample + 1) * settings.sample;
}

static void probe(u64 time)
{
	if (time < next_probe)
		return;
	read_probe();
	next_probe += ((time - next_probe) / PROBE_INTERVAL + 1) * PROBE_INTERVAL;
}

/* Runs all events up to `time`. */
static void step_all(u64 time)
{
	if (settings.is_sender)
		for (usize i = 0; i < settings.plan_count; i++)
			if (time >= sender_wakes(i))
				step_sender(i, 0, time);
	step_programs(time);
	sample(time);
	probe(time);
}

static void handle(const struct epoll_event *event, int signals)
{
	u32 index = (u32)event->data;
	u64 expirations;

	switch ((enum source)(event->data >> 32)) {
	case TIMER:
		sys(read, timer, &expirations, sizeof(expirations));
		step_all(now());
		break;
	case CHILD:
		collect_programs(signals);
		break;
	case PROGRAM:
		read_output(index);
		break;
	case ORDERS:
		read_orders();
		break;
	case SENDER:
		step_sender(index, event->events, now());
		break;
	case LISTENER:
		accept_connections(index);
		break;
	case INCOMING:
		read_connection(index, event->events);
		break;
	}
}

static void run(int signals) __attribute__((noreturn));
static void run(int signals)
{
	struct epoll_event events[64];

	for (;;) {
		long count;

		arm(next_time(flush_telemetry()));
		count = wait_for_events(events, COUNT(events));
		for (long i = 0; i < count; i++)
			handle(&events[i], signals);
	}
}

static void mount_basics(void)
{
	sys(mkdir, "/proc", 0755);
	sys(mount, "proc", "/proc", "proc", 0, 0);
}

int main(void)
{
	struct {
		u64 current, most;
	} files = { 4096, 4096 };
	u64 child_signal = 1ull << (SIGCHLD - 1);
	struct text problem = { .length = 0 };
	int signals, index;

	mount_basics();
	sys(prlimit64, 0, RLIMIT_NOFILE, &files, 0);
	if (set_up(&problem, &index))
		fail(HOST, &problem);
	open_loop();
	timer = (int)sys(timerfd_create, CLOCK_MONOTONIC, 0);
	sys(rt_sigprocmask, SIG_BLOCK, &child_signal, 0, sizeof(child_signal));
	signals = (int)sys(signalfd4, -1, &child_signal, sizeof(child_signal), SOCK_NONBLOCK | SOCK_CLOEXEC);
	watch(timer, EPOLLIN, TIMER, 0);
	watch(signals, EPOLLIN, CHILD, 0);
	open_orders(index);
	if (settings.is_sender)
		start_senders();
	else
		start_receivers();
	start_listening_programs(signals);
	if (settings.sample)
		next_sample = SECOND;
	if (settings.probe)
		next_probe = SECOND + PROBE_INTERVAL;
	say_hello();
	run(signals);
}

/* Entry point. The ABI needs a stack aligned to 16 bytes at each call. */
asm(".globl _start\n_start:\n\txor %ebp, %ebp\n\tand $-16, %rsp\n\tcall main\n\thlt\n");
