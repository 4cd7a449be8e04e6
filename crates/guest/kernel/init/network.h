/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The host's network device, by rtnetlink. */
#ifndef PACELINE_NETWORK_H
#define PACELINE_NETWORK_H

#include "base.h"

/*
 * Sets lo and eth0 up as `settings` says. Returns 0, or 1 with the reason in *problem.
 * *index is then eth0's number.
 */
int set_network_up(struct text *problem, int *index);
/* Sets eth0 up without an address, to tell why the set-up has failed. Returns its number, or 0. */
int find_device(void);

#endif
