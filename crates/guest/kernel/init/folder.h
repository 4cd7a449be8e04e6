/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The simulator's private folder, and the modules in it. */
#ifndef PACELINE_FOLDER_H
#define PACELINE_FOLDER_H

#include "settings.h"

/*
 * Loads the modules that `settings` names from the simulator's private folder. The folder is mounted only
 * meanwhile, so that programs do not see it. Returns 0, or 1 with the reason in *problem.
 */
int load_modules(struct text *problem);

#endif
