/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Finds assignments in a shell script without running it. Pure. */

#include <stddef.h>

enum nm_setup_line {
    NM_SETUP_LINE_OTHER,   /* the line doesn't change the variable */
    NM_SETUP_LINE_VALUE,   /* the line sets the variable */
    NM_SETUP_LINE_DEFAULT, /* the line sets the variable if it isn't set: ${NAME:-VALUE} */
    NM_SETUP_LINE_UNCLEAR, /* the line may set the variable, but only a shell can determine whether, or the value */
};

/* Examines a line without its newline. *ret is a part of the line, of *ret_size bytes. */
enum nm_setup_line nm_setup_script_line(const char *line, size_t size, const char *name, const char **ret,
                                        size_t *ret_size);
