/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The host's network device, through rtnetlink. */
#ifndef PACELINE_NETWORK_H
#define PACELINE_NETWORK_H

#include "base.h"

/*
 * Sets lo and eth0 up as `settings` says, and stores eth0's index in *index. Returns 0, or 1 with
 * the reason in *problem.
 */
int set_network_up(struct text *problem, int *index);
/*
 * Sets eth0 up without an address, so that a failed set-up can be reported. Returns its index, or
 * 0.
 */
int find_device(void);

#endif
