/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Text in an arena. */

#include "rpc/hadoop/arena.h"
#include "util/macros.h"

/* NULL: no memory. */
nm_printf(2, 3) char *nm_yarn_print(struct nm_arena *arena, const char *format, ...);
/* The bytes in base64, as Java has it without lines. */
char *nm_yarn_base64(struct nm_arena *arena, struct nm_bytes bytes);
