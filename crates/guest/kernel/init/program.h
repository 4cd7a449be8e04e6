/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The user's programs, which run in place of the built-in sender or receiver. */
#ifndef PACELINE_PROGRAM_H
#define PACELINE_PROGRAM_H

#include "settings.h"

/* Returns 1 if a plan of this host has a program. */
int has_programs(void);
/* Mounts the file systems that programs expect. Does nothing if no plan has a program. */
void mount_for_programs(void);
/*
 * Starts the programs that have no start time, and waits until they listen, or for 400 ms. `signals`
 * reports ended processes.
 */
void start_listening_programs(int signals);
/* Starts and ends programs, and reads their output again, as it is due. */
void step_programs(u64 time);
/* Returns the time at which step_programs() must be called. */
u64 programs_wake(void);
/* Reaps the processes that have ended, and reports the exit status of programs. */
void collect_programs(int signals);
/* Reads output: `index` is twice the plan's number, plus 1 for standard error. */
void read_output(u32 index);

#endif
