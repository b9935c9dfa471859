/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A picture that is redrawn in place. */

#include <stdio.h>

#include "nmctl/nmctl.h"
#include "nmctl/term.h"

#define NM_SCREEN_PERIOD_USEC NM_USEC_PER_SEC

/* Draws one picture; errors said meanwhile land in it. Returns an exit status. */
typedef int (*nm_screen_draw_t)(struct nm_ctl *ctl, FILE *f, const struct nm_term *term,
                                void *userdata);
/* A key was pressed ('q' is not handed on). */
typedef void (*nm_screen_key_t)(char key, void *userdata);

/*
 * Draws until q, Ctrl-C or SIGTERM, on a terminal's alternate screen, which is left as it was
 * found. Where stdout is no terminal the pictures simply follow each other, and one that fails ends
 * it. Returns the exit status.
 */
int nm_screen_run(struct nm_ctl *ctl, uint64_t period_usec, nm_screen_draw_t draw,
                  nm_screen_key_t key, void *userdata);
