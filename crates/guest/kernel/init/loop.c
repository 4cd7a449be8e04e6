/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The descriptors that the event loop watches. */
#include "loop.h"

static int epoll;

void open_loop(void)
{
	epoll = (int)sys(epoll_create1, 0);
}

static void control(int operation, int fd, u32 events, enum source source, u32 index)
{
	struct epoll_event event = { .events = events, .data = (u64)source << 32 | index };

	sys(epoll_ctl, epoll, operation, fd, &event);
}

void watch(int fd, u32 events, enum source source, u32 index)
{
	control(EPOLL_CTL_ADD, fd, events, source, index);
}

void unwatch(int fd)
{
	control(EPOLL_CTL_DEL, fd, 0, TIMER, 0);
}

void watch_again(int fd, u32 events, enum source source, u32 index)
{
	control(EPOLL_CTL_MOD, fd, events, source, index);
}

long wait_for_events(struct epoll_event *events, usize count)
{
	return sys(epoll_pwait, epoll, events, count, -1, 0, 0);
}
