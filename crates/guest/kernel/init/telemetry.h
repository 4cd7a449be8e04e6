/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Reports of /init to the simulator: Ethernet frames that the simulator takes out before the
 * network.
 */
#ifndef PACELINE_TELEMETRY_H
#define PACELINE_TELEMETRY_H

#include "base.h"

enum kind { HELLO = 1, SAMPLE = 2, END = 3, ERROR = 4, NOTE = 5, EXIT = 6, SOCKET = 7, TRACE = 8, OUTPUT = 16 };
#define HOST 255
/* EtherType of reports and orders. */
#define TELEMETRY_TYPE 0x88b5
/* Bytes of a body: the frame has at most 1400 bytes after the Ethernet header. */
#define MAX_BODY (1400 - 16)

/* Opens the socket for the frames on the device with this index. Returns 0 or a negative error. */
long open_telemetry(int index);

/*
 * Sends a frame, or keeps it while the device is busy. Drops samples when too many frames are kept.
 */
void tell(enum kind kind, u8 connection, const void *body, usize length);
void tell_text(enum kind kind, u8 connection, const struct text *text);

/* True if a frame that is sent now is not dropped, and leaves room for more important ones. */
int telemetry_has_room(void);

/* Sends the kept frames. Returns the time for the next try; NEVER if none is left. */
u64 flush_telemetry(void);

/* Reports why this guest cannot continue, and powers it off. */
void fail(u8 connection, const struct text *problem) __attribute__((noreturn));
void power_off(void) __attribute__((noreturn));

#endif
