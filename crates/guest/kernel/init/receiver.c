/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The built-in receivers: read all bytes of several connections, and answer requests.
 *
 * A connection without requests has a process of its own, which waits inside the kernel until a
 * megabyte has arrived. TCP then takes each segment as for a program that reads at once, but the
 * process makes one system call for a megabyte: system calls, which the guest's kernel traces, would
 * be half of the time that a run takes.
 */
#include <linux/tcp.h>

#include "loop.h"

/* Connections at one time; further ones wait in the listening socket's queue. */
#define MAX_INCOMING 1024
#define BACKLOG 4096
/* Most bytes of one read. */
#define READ (1 << 20)
/* Connections that have a process of their own at one time; epoll watches further ones. */
#define MAX_READERS 16

struct incoming {
	/* Descriptor; 0 if this slot is free. */
	int fd;
	u8 index;
	/* The process that reads; 0 if epoll watches the connection. */
	int reader;
	int waits_to_write;
	/* Bytes read here. REQUESTS: bytes of the request that is not complete, and answers not yet written. */
	u64 read, towards_answer, owed;
};

static struct incoming incoming[MAX_INCOMING];
static int listeners[MAX_CONNECTIONS];
static u32 open_count, reader_count;

static void watch_listeners(u32 events)
{
	for (usize i = 0; i < settings.plan_count; i++)
		if (listeners[i] > 0)
			watch_again(listeners[i], events, LISTENER, (u32)i);
}

void start_receivers(void)
{
	int one = 1;

	for (usize i = 0; i < settings.plan_count; i++) {
		struct endpoint own = endpoint_of(&settings.plans[i]);
		long result;

		if (settings.plans[i].run)
			continue;
		listeners[i] = make_socket(i);
		sys(setsockopt, listeners[i], SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		result = sys(bind, listeners[i], &own, sizeof(own));
		if (!result)
			result = sys(listen, listeners[i], BACKLOG);
		if (result) {
			struct text problem = { .length = 0 };

			put(&problem, "pl.");
			put_number(&problem, i);
			put(&problem, ".port: ");
			put_error(&problem, result);
			fail((u8)i, &problem);
		}
		watch(listeners[i], EPOLLIN, LISTENER, (u32)i);
	}
}

/* Starts a process that reads from a connection until it ends. Returns its number, or a negative error. */
static long start_reader(int fd)
{
	long got, process = sys(fork);

	if (process)
		return process;
	/* Copies of other connections would keep these open after /init has closed them. */
	sys(close_range, 3, fd - 1, 0);
	sys(close_range, fd + 1, ~0u, 0);
	do {
		/* MSG_TRUNC: the kernel counts the bytes as read, but does not copy them. */
		got = sys(recvfrom, fd, 0, READ, MSG_TRUNC | MSG_WAITALL, 0, 0);
	} while (got > 0 || got == -EINTR);
	for (;;)
		sys(exit_group, 0);
}

void accept_connections(usize index)
{
	int answers = settings.plans[index].work == REQUESTS;

	for (u32 slot = 0; slot < MAX_INCOMING; slot++) {
		int is_watched = answers || reader_count == MAX_READERS;
		long fd, reader = 0;

		if (incoming[slot].fd)
			continue;
		fd = sys(accept4, listeners[index], 0, 0, (is_watched ? SOCK_NONBLOCK : 0) | SOCK_CLOEXEC);
		if (fd <= 0)
			return;
		if (!is_watched)
			reader = start_reader((int)fd);
		if (reader < 0) {
			note_error(index, "reader", reader);
			sys(close, fd);
			continue;
		}
		incoming[slot] = (struct incoming){ .fd = (int)fd, .index = (u8)index, .reader = (int)reader };
		open_count++;
		reader_count += !is_watched;
		if (is_watched)
			watch((int)fd, EPOLLIN, INCOMING, slot);
	}
	watch_listeners(0);
}

/* Returns the bytes that the application has read. A reader reads each byte when it arrives. */
static u64 bytes_read(const struct incoming *c)
{
	struct tcp_info info = {};
	int length = sizeof(info);

	if (!c->reader)
		return c->read;
	sys(getsockopt, c->fd, SOL_TCP, TCP_INFO, &info, &length);
	return info.tcpi_bytes_received;
}

static void end_connection(u32 slot)
{
	struct incoming *c = &incoming[slot];

	tell_state(END, c->index, c->fd, bytes_read(c));
	sys(close, c->fd);
	c->fd = 0;
	if (open_count-- == MAX_INCOMING)
		watch_listeners(EPOLLIN);
}

/* Writes the answers that are due, one byte each. Returns 0, or a negative error. */
static long answer(u32 slot)
{
	static const u8 bytes[256];
	struct incoming *c = &incoming[slot];
	int waits;
	long result = 0;

	while (c->owed && result >= 0) {
		u64 length = c->owed < sizeof(bytes) ? c->owed : sizeof(bytes);

		result = sys(sendto, c->fd, bytes, length, MSG_NOSIGNAL, 0, 0);
		if (result > 0)
			c->owed -= (u64)result;
	}
	waits = c->owed != 0;
	if (waits != c->waits_to_write)
		watch_again(c->fd, waits ? EPOLLIN | EPOLLOUT : EPOLLIN, INCOMING, slot);
	c->waits_to_write = waits;
	return result == -EAGAIN || result >= 0 ? 0 : result;
}

void read_connection(u32 slot, u32 events)
{
	struct incoming *c = &incoming[slot];
	const struct plan *plan = &settings.plans[c->index];
	long got;

	if (!c->fd)
		return;
	if (events & ~(u32)EPOLLOUT) {
		/* MSG_TRUNC: the kernel counts the bytes as read, but does not copy them. */
		got = sys(recvfrom, c->fd, 0, READ, MSG_TRUNC, 0, 0);
		if (got == 0 || (got < 0 && got != -EAGAIN)) {
			end_connection(slot);
			return;
		}
		if (got > 0) {
			c->read += (u64)got;
			c->towards_answer += (u64)got;
		}
	}
	if (plan->work != REQUESTS)
		return;
	c->owed += c->towards_answer / plan->bytes;
	c->towards_answer %= plan->bytes;
	if (answer(slot))
		end_connection(slot);
}

void sample_receivers(void)
{
	for (u32 slot = 0; slot < MAX_INCOMING; slot++)
		if (incoming[slot].fd)
			tell_state(SAMPLE, incoming[slot].index, incoming[slot].fd, bytes_read(&incoming[slot]));
}

void end_reader(int process)
{
	for (u32 slot = 0; slot < MAX_INCOMING; slot++)
		if (incoming[slot].fd && incoming[slot].reader == process) {
			reader_count--;
			end_connection(slot);
			return;
		}
}
