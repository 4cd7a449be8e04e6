/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The built-in senders: the bytes that an application would write, at its times. */
#include <linux/tcp.h>

#include "loop.h"

/* Bytes of one write, as iperf3. */
#define WRITE (128 * 1024)

enum phase {
	/* Waits until `wakes`, then connects. */
	WAITING,
	CONNECTING,
	/* Writes `left` bytes; LIMITED and ORDERED are always here. */
	WRITING,
	/* Has nothing to write until `wakes`. */
	RESTING,
	/* Waits until all written bytes are acknowledged. */
	DRAINING,
	/* REQUESTS: waits for the answer. */
	ASKING,
	/* BYTES: has shut down writing, and waits until the receiver closes. */
	CLOSING,
	OVER,
};

struct sender {
	int fd;
	enum phase phase;
	/* Bytes written on this connection, and bytes left to write in this phase. */
	u64 written, left;
	/* Time at which the phase ends by itself, or LIMITED writes its next message. */
	u64 wakes;
	/* Time to write again after the socket was writable but took no byte. */
	u64 retries;
	/* ON_OFF_*: the index of the current ON period in `periods`, and the time when it began. */
	usize period;
	u64 began;
	/* Events that epoll watches. */
	u32 watched;
};

static struct sender senders[MAX_CONNECTIONS];
static u8 zeros[WRITE];

static void want(usize index, u32 events)
{
	struct sender *s = &senders[index];

	if (s->watched != events)
		watch_again(s->fd, events, SENDER, (u32)index);
	s->watched = events;
}

static int is_on_off(const struct plan *plan)
{
	return plan->work == ON_OFF_TIME || plan->work == ON_OFF_BYTES;
}

/* Reports the connection's end and closes it. */
static void end(usize index)
{
	struct sender *s = &senders[index];

	if (s->fd < 0)
		return;
	tell_state(END, index, s->fd, s->written);
	sys(close, s->fd);
	s->fd = -1;
	s->watched = 0;
}

static void finish(usize index)
{
	end(index);
	senders[index].phase = OVER;
	senders[index].wakes = senders[index].retries = NEVER;
}

/* Starts the first write of the plan on a new connection, or in a new ON period. */
static void begin_writing(usize index, u64 time)
{
	const struct plan *plan = &settings.plans[index];
	struct sender *s = &senders[index];

	s->phase = WRITING;
	s->wakes = NEVER;
	switch (plan->work) {
	case BULK:
		s->left = NEVER;
		break;
	case BYTES:
	case REQUESTS:
		s->left = plan->bytes;
		break;
	case LIMITED:
		s->left = plan->bytes;
		s->wakes = time + plan->interval;
		break;
	case ORDERED:
		/* What was ordered before the connection was established is left. */
		break;
	case ON_OFF_TIME:
		s->left = NEVER;
		s->wakes = s->began + plan->periods[s->period];
		break;
	case ON_OFF_BYTES:
		s->left = plan->periods[s->period];
		break;
	}
}

/* Ends an ON period: OFF until the next one. */
static void rest(usize index, u64 time)
{
	const struct plan *plan = &settings.plans[index];
	struct sender *s = &senders[index];

	s->left = 0;
	if (plan->fresh)
		end(index);
	if (s->period + 1 >= plan->period_count) {
		finish(index);
		return;
	}
	s->phase = RESTING;
	s->wakes = time + plan->periods[s->period + 1];
	s->period += 2;
}

/* Handles a connection, or its set-up, that has failed. */
static void lose(usize index, const char *what, long error, u64 time)
{
	const struct plan *plan = &settings.plans[index];

	note_error(index, what, error);
	end(index);
	/* If each ON period has its own connection, continue with the next one. */
	if (is_on_off(plan) && plan->fresh)
		rest(index, time);
	else
		finish(index);
}

static void begin_connection(usize index, u64 time)
{
	const struct plan *plan = &settings.plans[index];
	struct endpoint peer = endpoint_of(plan);
	struct sender *s = &senders[index];
	long result;

	s->fd = make_socket(index);
	s->written = 0;
	s->phase = CONNECTING;
	s->wakes = NEVER;
	s->watched = EPOLLOUT;
	watch(s->fd, EPOLLOUT, SENDER, (u32)index);
	result = sys(connect, s->fd, &peer, sizeof(peer));
	if (result && result != -EINPROGRESS)
		lose(index, "connect", result, time);
}

static void established(usize index, u64 time)
{
	struct sender *s = &senders[index];
	int error = 0, length = sizeof(error);

	sys(getsockopt, s->fd, SOL_SOCKET, SO_ERROR, &error, &length);
	if (error) {
		lose(index, "connect", error, time);
		return;
	}
	if (settings.sample)
		tell_state(SAMPLE, index, s->fd, 0);
	begin_writing(index, time);
}

/* Handles the end of a phase's writing. */
static void wrote_all(usize index, u64 time)
{
	struct sender *s = &senders[index];

	switch (settings.plans[index].work) {
	case BYTES:
		/* The receiver closes after it has read all bytes; only then is TCP_INFO complete. */
		sys(shutdown, s->fd, SHUT_WR);
		s->phase = CLOSING;
		want(index, EPOLLIN | EPOLLRDHUP);
		break;
	case REQUESTS:
		s->phase = ASKING;
		want(index, EPOLLIN);
		break;
	case ON_OFF_BYTES:
		s->phase = DRAINING;
		s->wakes = time + MILLISECOND;
		want(index, 0);
		break;
	case BULK:
	case LIMITED:
	case ORDERED:
	case ON_OFF_TIME:
		want(index, 0);
		break;
	}
}

static void write_some(usize index, int was_writable, u64 time)
{
	struct sender *s = &senders[index];
	int progress = 0;

	while (s->left) {
		u64 length = s->left < WRITE ? s->left : WRITE;
		long result = sys(sendto, s->fd, zeros, length, MSG_NOSIGNAL, 0, 0);

		if (result == -EAGAIN)
			break;
		if (result < 0) {
			lose(index, "write", result, time);
			return;
		}
		progress = 1;
		s->written += (u64)result;
		if (s->left != NEVER)
			s->left -= (u64)result;
		if ((u64)result < length)
			break;
	}
	if (!s->left) {
		wrote_all(index, time);
	} else if (was_writable && !progress) {
		/* TCP is short of memory: polling again at once would stop the virtual clock. */
		s->retries = time + MILLISECOND;
		want(index, 0);
	} else {
		want(index, EPOLLOUT);
	}
}

static int is_all_acknowledged(int fd)
{
	struct tcp_info info = {};
	int length = sizeof(info);

	sys(getsockopt, fd, SOL_TCP, TCP_INFO, &info, &length);
	return !info.tcpi_unacked && !info.tcpi_notsent_bytes;
}

/* Handles the time `wakes` of a phase. */
static void wake(usize index, u64 time)
{
	const struct plan *plan = &settings.plans[index];
	struct sender *s = &senders[index];

	switch (s->phase) {
	case WAITING:
		s->began = s->wakes;
		begin_connection(index, time);
		break;
	case RESTING:
		s->began = s->wakes;
		if (s->fd < 0)
			begin_connection(index, time);
		else
			begin_writing(index, time);
		break;
	case WRITING:
		if (plan->work == LIMITED) {
			u64 due = (time - s->wakes) / plan->interval + 1, bytes;

			s->wakes += due * plan->interval;
			if (__builtin_mul_overflow(due, plan->bytes, &bytes) ||
			    __builtin_add_overflow(s->left, bytes, &s->left))
				s->left = NEVER - 1;
		} else {
			/* ON_OFF_TIME: OFF counts from the planned end of ON. */
			rest(index, s->wakes);
		}
		break;
	case DRAINING:
		if (is_all_acknowledged(s->fd))
			rest(index, time);
		else
			s->wakes = time + MILLISECOND;
		break;
	default:
		break;
	}
}

void step_sender(usize index, u32 events, u64 time)
{
	struct sender *s = &senders[index];
	char answer[64];
	long got;

	if (s->phase == OVER)
		return;
	if (time >= settings.plans[index].stop) {
		finish(index);
		return;
	}
	if (s->fd >= 0 && s->phase != CONNECTING && s->phase != CLOSING && events & (EPOLLERR | EPOLLHUP)) {
		int error = 0, length = sizeof(error);

		sys(getsockopt, s->fd, SOL_SOCKET, SO_ERROR, &error, &length);
		lose(index, "connection", error ? error : EPIPE, time);
		return;
	}
	if (s->phase == CONNECTING && events)
		established(index, time);
	if (s->phase == CLOSING && events) {
		finish(index);
		return;
	}
	if (s->phase == ASKING && events & EPOLLIN) {
		got = sys(recvfrom, s->fd, answer, sizeof(answer), 0, 0, 0);
		if (got == 0 || (got < 0 && got != -EAGAIN)) {
			lose(index, "read", got ? got : EPIPE, time);
			return;
		}
		if (got > 0) {
			s->phase = RESTING;
			s->wakes = time + settings.plans[index].interval;
			want(index, 0);
		}
	}
	while (s->phase != OVER && time >= s->wakes)
		wake(index, time);
	if (time >= s->retries)
		s->retries = NEVER;
	/* An ON period of 0 bytes is written at once. */
	if (s->phase == WRITING && (s->left || settings.plans[index].work == ON_OFF_BYTES) && s->retries == NEVER)
		write_some(index, (events & EPOLLOUT) != 0, time);
	else if (s->phase == WRITING || s->phase == RESTING)
		if (s->fd >= 0)
			want(index, 0);
}

void order(usize index, u64 bytes, u64 time)
{
	struct sender *s = &senders[index];

	if (index >= settings.plan_count || settings.plans[index].work != ORDERED || s->phase == OVER ||
	    __builtin_add_overflow(s->left, bytes, &s->left))
		return;
	if (s->phase == WRITING && s->retries == NEVER)
		write_some(index, 0, time);
	if (s->fd >= 0 && s->phase == WRITING)
		tell_state(SAMPLE, index, s->fd, s->written);
}

u64 sender_wakes(usize index)
{
	const struct sender *s = &senders[index];
	u64 stop = settings.plans[index].stop, least = s->wakes < s->retries ? s->wakes : s->retries;

	return s->phase == OVER ? NEVER : least < stop ? least : stop;
}

void start_senders(void)
{
	for (usize i = 0; i < settings.plan_count; i++) {
		senders[i].fd = -1;
		senders[i].phase = settings.plans[i].run ? OVER : WAITING;
		senders[i].wakes = settings.plans[i].start;
		senders[i].retries = NEVER;
	}
}

void sample_senders(void)
{
	for (usize i = 0; i < settings.plan_count; i++)
		if (senders[i].fd >= 0 && senders[i].phase != CONNECTING)
			tell_state(SAMPLE, i, senders[i].fd, senders[i].written);
}
