/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The event loop: one epoll instance, one timer, and what senders, receivers and programs share. */
#ifndef PACELINE_LOOP_H
#define PACELINE_LOOP_H

#include <linux/eventpoll.h>

#include "settings.h"
#include "telemetry.h"

/* Whose event it is; the lower 32 bits of an event's number are an index. */
enum source { TIMER, CHILD, SENDER, LISTENER, INCOMING };

/* Watches a descriptor. `events` 0 reports errors alone. */
void watch(int fd, u32 events, enum source source, u32 index);
/* Changes what is reported. */
void watch_again(int fd, u32 events, enum source source, u32 index);

/* A TCP socket of a plan, not yet connected or bound. Ends the guest if it cannot be made as the plan says. */
int make_socket(usize index);
/* Where the plan's receiver is, for connect() and bind(). */
struct endpoint {
	u16 family;
	u16 port;
	u8 address[4];
	u8 zero[8];
};
struct endpoint endpoint_of(const struct plan *plan);

/* TCP_INFO and TCP_CC_INFO of a socket, with the bytes of the application, as SAMPLE or END. */
void tell_state(enum kind kind, usize index, int fd, u64 bytes);
/* A NOTE: what failed at a connection. */
void note_error(usize index, const char *what, long error);

/* Senders. */
void start_senders(void);
void step_sender(usize index, u32 events, u64 time);
/* When step_sender() is next to be called without an event. */
u64 sender_wakes(usize index);
void sample_senders(void);

/* Receivers. */
void start_receivers(void);
void accept_connections(usize index);
void read_connection(u32 index, u32 events);
void sample_receivers(void);

#endif
