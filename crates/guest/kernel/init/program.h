/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Programs of the user's, which run in place of the built-in sender or receiver. */
#ifndef PACELINE_PROGRAM_H
#define PACELINE_PROGRAM_H

#include "settings.h"

/* Where the simulator's private folder is mounted. */
#define FOLDER "/host"

/* Mounts the private folder, and what programs expect to find. Returns 0, or 1 with the reason in *problem. */
int mount_folder(struct text *problem);
/* Loads the modules that `settings` names. Returns 0, or 1 with the reason in *problem. */
int load_modules(struct text *problem);
/*
 * Starts the plan's program as `program ADDRESS PORT ARGS...`. Returns its process number, or a negative number with the
 * reason in *problem.
 */
int start_program(const struct plan *plan, struct text *problem);
/* Collects a process that has ended. Returns its number and its exit status (128 + N: ended by signal N), or 0. */
int collect_process(s32 *status);
/* True if a socket listens on this port. */
int is_listening(u16 port);

#endif
