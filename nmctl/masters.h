/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The part of `nmctl status` about application masters: those whose calls pass through this node, the containers that
 * it places for them, and what it lends to their applications. */

#include <jansson.h>
#include <stdio.h>

#include "nmctl/term.h"

#define NM_MASTERS_INDENT 13 /* columns of the labels, as in the whole status */

/* Prints `masters`, a member of the upstream's status, as lines of text. Prints nothing if it isn't an object. */
void nm_masters_print(FILE *f, const struct nm_term *term, const json_t *masters);
