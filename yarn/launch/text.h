/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Functions that build texts in an arena. */

#include "rpc/hadoop/arena.h"
#include "util/macros.h"

/* Return NULL without memory. */
nm_printf(2, 3) char *nm_yarn_print(struct nm_arena *arena, const char *format, ...);
/* Encodes the bytes in base64 without line breaks, as Java does. */
char *nm_yarn_base64(struct nm_arena *arena, struct nm_bytes bytes);
