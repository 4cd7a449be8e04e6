/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The sockets of connections: their options, addresses and reports. */
#include <linux/tcp.h>

#include "loop.h"

void refuse(usize index, const char *key, const char *value, long error)
{
	struct text problem = { .length = 0 };

	put(&problem, "pl.");
	if (index != HOST) {
		put_number(&problem, index);
		put(&problem, ".");
	}
	put(&problem, key);
	put(&problem, "=");
	put(&problem, value);
	put(&problem, ": ");
	put_error(&problem, error);
	fail((u8)index, &problem);
}

static void option(usize index, int fd, int level, int name, const void *value, usize length, const char *key,
		   const char *text)
{
	long result = sys(setsockopt, fd, level, name, value, length);

	if (result)
		refuse(index, key, text, result);
}

static void number_option(usize index, int fd, int level, int name, u64 value, const char *key)
{
	struct text text = { .length = 0 };
	u32 narrow = (u32)value;

	if (!value)
		return;
	put_number(&text, value);
	if (name == SO_MAX_PACING_RATE && level == SOL_SOCKET)
		option(index, fd, level, name, &value, sizeof(value), key, text.bytes);
	else
		option(index, fd, level, name, &narrow, sizeof(narrow), key, text.bytes);
}

int make_socket(usize index)
{
	const struct plan *plan = &settings.plans[index];
	long fd = sys(socket, AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		refuse(index, "port", "", fd);
	if (plan->cc)
		option(index, (int)fd, SOL_TCP, TCP_CONGESTION, plan->cc, strlen(plan->cc), "cc", plan->cc);
	number_option(index, (int)fd, SOL_SOCKET, SO_SNDBUFFORCE, plan->sndbuf, "sndbuf");
	number_option(index, (int)fd, SOL_SOCKET, SO_RCVBUFFORCE, plan->rcvbuf, "rcvbuf");
	number_option(index, (int)fd, SOL_TCP, TCP_NOTSENT_LOWAT, plan->lowat, "lowat");
	/* Each frame and each message is to be sent at once, as the simulator's senders do. */
	if (plan->work == ORDERED || plan->work == LIMITED)
		number_option(index, (int)fd, SOL_TCP, TCP_NODELAY, 1, plan->work == LIMITED ? "work" : "ordered");
	number_option(index, (int)fd, SOL_SOCKET, SO_MAX_PACING_RATE, plan->pacing, "pacing");
	return (int)fd;
}

struct endpoint endpoint_of(const struct plan *plan)
{
	struct endpoint endpoint = { .family = AF_INET, .port = __builtin_bswap16(plan->port) };

	memcpy(endpoint.address, settings.is_sender ? settings.peer : settings.address, 4);
	return endpoint;
}

void tell_state(enum kind kind, usize index, int fd, u64 bytes)
{
	u8 body[12 + 1024];
	u32 info = 768, scheme = 256;
	u16 lengths[2];

	if (sys(getsockopt, fd, SOL_TCP, TCP_INFO, body + 12, &info))
		info = 0;
	if (sys(getsockopt, fd, SOL_TCP, TCP_CC_INFO, body + 12 + info, &scheme))
		scheme = 0;
	lengths[0] = (u16)info;
	lengths[1] = (u16)scheme;
	memcpy(body, lengths, 4);
	memcpy(body + 4, &bytes, 8);
	tell(kind, (u8)index, body, 12 + info + scheme);
}

void note_error(usize index, const char *what, long error)
{
	struct text text = { .length = 0 };

	put(&text, what);
	put(&text, ": ");
	put_error(&text, error);
	tell_text(NOTE, (u8)index, &text);
}
