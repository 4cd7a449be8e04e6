/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The built-in receivers: read all bytes of several connections, and answer requests. */
#include "loop.h"

/* Connections at one time; further ones wait in the listening socket's queue. */
#define MAX_INCOMING 1024
#define BACKLOG 4096
/* Most bytes of one read. */
#define READ (1 << 20)

struct incoming {
	/* Descriptor; 0 if this slot is free. */
	int fd;
	u8 index;
	int waits_to_write;
	/* Bytes read. REQUESTS: bytes of the request that is not complete, and answers not yet written. */
	u64 read, towards_answer, owed;
};

static struct incoming incoming[MAX_INCOMING];
static int listeners[MAX_CONNECTIONS];
static u32 open_count;

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

		if (settings.plans[i].program)
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

void accept_connections(usize index)
{
	for (u32 slot = 0; slot < MAX_INCOMING; slot++) {
		long fd;

		if (incoming[slot].fd)
			continue;
		fd = sys(accept4, listeners[index], 0, 0, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd <= 0)
			return;
		incoming[slot] = (struct incoming){ .fd = (int)fd, .index = (u8)index };
		open_count++;
		watch((int)fd, EPOLLIN, INCOMING, slot);
	}
	watch_listeners(0);
}

static void end_connection(u32 slot)
{
	struct incoming *c = &incoming[slot];

	tell_state(END, c->index, c->fd, c->read);
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
			tell_state(SAMPLE, incoming[slot].index, incoming[slot].fd, incoming[slot].read);
}
