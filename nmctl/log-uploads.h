/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The part of `nmctl status` about log aggregation. */

#include <jansson.h>
#include <stdio.h>

#include "nmctl/term.h"

/* Prints `logs`, a member of the upstream's status, as lines of text. Prints nothing if it isn't an object. */
void nm_log_uploads_print(FILE *f, const struct nm_term *term, const json_t *logs);
