/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The user's programs, which run in place of the built-in sender or receiver. */
#ifndef PACELINE_PROGRAM_H
#define PACELINE_PROGRAM_H

#include "settings.h"

/* Mount point of the simulator's private folder. */
#define FOLDER "/host"

/*
 * Mounts the private folder and the file systems that programs expect. Returns 0, or 1 with the
 * reason in *problem.
 */
int mount_folder(struct text *problem);
/* Loads the modules that `settings` names. Returns 0, or 1 with the reason in *problem. */
int load_modules(struct text *problem);
/*
 * Starts the plan's program as `program ADDRESS PORT ARGS...`. Returns its process number, or a negative number with the
 * reason in *problem.
 */
int start_program(const struct plan *plan, struct text *problem);
/*
 * Reaps a process that has ended. Returns its number, with its exit status (128 + N: ended by
 * signal N), or 0 if there is none.
 */
int collect_process(s32 *status);
/* True if a socket listens on this port. */
int is_listening(u16 port);

#endif
