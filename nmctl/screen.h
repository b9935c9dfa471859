/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A picture on the terminal that is redrawn in place. */

#include <stdio.h>

#include "nmctl/nmctl.h"
#include "nmctl/term.h"

#define NM_SCREEN_PERIOD_USEC NM_USEC_PER_SEC

/* Draws one picture. The picture also contains the error messages that were printed meanwhile. Returns an exit
 * status. */
typedef int (*nm_screen_draw_t)(struct nm_ctl *ctl, FILE *f, const struct nm_term *term,
                                void *userdata);

/* A key is the byte that the terminal sends, or one of these values for a key with an escape sequence. */
enum nm_key {
    NM_KEY_FIRST = 256, /* greater than every byte */
    NM_KEY_UP = NM_KEY_FIRST,
    NM_KEY_DOWN,
    NM_KEY_LEFT,
    NM_KEY_RIGHT,
    NM_KEY_PAGE_UP,
    NM_KEY_PAGE_DOWN,
    NM_KEY_HOME,
    NM_KEY_END,
    NM_KEY_ESCAPE, /* the Escape key itself */
    NM_KEY_OTHER,  /* an unknown escape sequence */
};
/* Returns the first key in the data, which must have at least one byte. *ret_used: number of bytes of this key. */
int nm_screen_decode(const char *data, size_t n, size_t *ret_used);

/* Handles a key and returns whether it has a meaning. The key q ends the picture if it has no other meaning. */
typedef bool (*nm_screen_key_t)(int key, void *userdata);

/*
 * Draws pictures on the terminal's alternate screen until q, Ctrl-C or SIGTERM, and restores the terminal at the end.
 * If stdout isn't a terminal, the pictures are printed one after the other, and a failed picture ends the loop.
 * *period_usec: time between two pictures; the callback `key` may change this time. `key` may be NULL. Returns the exit
 * status.
 */
int nm_screen_run(struct nm_ctl *ctl, const uint64_t *period_usec, nm_screen_draw_t draw,
                  nm_screen_key_t key, void *userdata);
