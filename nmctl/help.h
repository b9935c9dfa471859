/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* --help, made from the table of verbs. */

#include "nmctl/nmctl.h"

void nm_help_all(void);
void nm_help_verb_usage(const struct nm_verb *verb);
/* Says that there is no such verb and which one may be meant. Returns NM_CTL_USAGE. */
int nm_help_unknown_verb(const char *name);
