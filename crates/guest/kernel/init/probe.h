/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Events of the kernel's TCP: its trace events, as text. */
#ifndef PACELINE_PROBE_H
#define PACELINE_PROBE_H

#include "settings.h"

/* Time between two readings of the events. */
#define PROBE_INTERVAL (10 * MILLISECOND)

/* Lets the kernel record TCP's events. Returns 0, or 1 with the reason in *problem. */
int start_probe(struct text *problem);
/* Reports the events since the last call as TRACE. */
void read_probe(void);

#endif
