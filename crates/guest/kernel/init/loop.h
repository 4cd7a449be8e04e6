/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The event loop: one epoll instance, one timer, and functions shared by senders, receivers and
 * programs.
 */
#ifndef PACELINE_LOOP_H
#define PACELINE_LOOP_H

#include <linux/eventpoll.h>

#include "settings.h"
#include "telemetry.h"

/* Receiver of an event; the lower 32 bits of an event's number are an index. */
enum source { TIMER, CHILD, SENDER, LISTENER, INCOMING, PROGRAM, ORDERS };

/* Creates the epoll instance. Called before all other functions. */
void open_loop(void);
/* Watches a descriptor. With `events` 0, only errors are reported. */
void watch(int fd, u32 events, enum source source, u32 index);
/* Stops watching a descriptor. */
void unwatch(int fd);
/* Changes the watched events of a descriptor. */
void watch_again(int fd, u32 events, enum source source, u32 index);
/* Sleeps until descriptors have events. Returns their number. */
long wait_for_events(struct epoll_event *events, usize count);

/*
 * Powers off because the value of a key cannot be applied. The key is connection `index`'s, or the
 * host's.
 */
void refuse(usize index, const char *key, const char *value, long error) __attribute__((noreturn));
/*
 * Creates the TCP socket of a plan, not yet connected or bound. Ends the guest if an option cannot
 * be set.
 */
int make_socket(usize index);
/* Address of the plan's receiver, for connect() and bind(). */
struct endpoint {
	u16 family;
	u16 port;
	u8 address[4];
	u8 zero[8];
};
struct endpoint endpoint_of(const struct plan *plan);

/* Reports TCP_INFO and TCP_CC_INFO of a socket and the application's bytes, as SAMPLE or END. */
void tell_state(enum kind kind, usize index, int fd, u64 bytes);
/* Reports as NOTE which step of a connection failed. */
void note_error(usize index, const char *what, long error);

/* Senders. */
void start_senders(void);
void step_sender(usize index, u32 events, u64 time);
/* Returns the time at which step_sender() must be called if no event comes before. */
u64 sender_wakes(usize index);
void sample_senders(void);
/* Writes `bytes` more on an ORDERED connection, and reports its state. */
void order(usize index, u64 bytes, u64 time);

/* Receivers. */
void start_receivers(void);
void accept_connections(usize index);
void read_connection(u32 index, u32 events);
void sample_receivers(void);
/* Ends the connection whose reader was this process; does nothing for other processes. */
void end_reader(int process);

#endif
