/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Reports of the TCP sockets of the user's programs. */
#ifndef PACELINE_OBSERVE_H
#define PACELINE_OBSERVE_H

#include "settings.h"

/* Reports TCP_INFO of the TCP sockets of this host's programs as SOCKET, at most 64 in a call. */
void sample_programs(void);

#endif
