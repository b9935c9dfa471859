/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* --help, generated from the table of verbs. */

#include "nmctl/nmctl.h"

void nm_help_all(void);
void nm_help_verb_usage(const struct nm_verb *verb);
/* Prints that the verb doesn't exist and suggests a similar verb. Returns NM_CTL_USAGE. */
int nm_help_unknown_verb(const char *name);
