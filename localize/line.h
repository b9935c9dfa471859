/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Who is next: items of work wait in one line per user, and run in slots that are shared fairly. Pure: no clock, and
 * nothing is started here.
 *
 *  - The user with the fewest running items goes first, and among equals the item that has waited longest.
 *  - Each user has `own` slots that others can't take, beyond `max` if need be, as long as no more than `most` run.
 *  - Beyond its own, a user may have all slots up to `max` but one.
 *
 * So whoever fills slots with work that doesn't end holds up nobody else.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct nm_line_user;

/* Embedded into what waits; zeroes while it is in no line. */
struct nm_line_item {
    TAILQ_ENTRY(nm_line_item) link;
    struct nm_line_user *user;
    uint64_t arrival;
    bool is_running, is_written_off;
};

struct nm_line {
    unsigned max, own, most; /* slots; own <= max <= most */
    TAILQ_HEAD(nm_line_users, nm_line_user) users;
    unsigned n_running;
    uint64_t n_arrived;
};

void nm_line_init(struct nm_line *line, unsigned max, unsigned own, unsigned most);

/* Puts it at the end of the user's line. -ENOMEM. */
int nm_line_put(struct nm_line *line, struct nm_line_item *item, const char *user);
/* The next that may run, which has a slot from now on; NULL: none may. */
struct nm_line_item *nm_line_next(struct nm_line *line);
/* It was told to end, and may take its time: its slot is free for others, but still one of its user's. */
void nm_line_write_off(struct nm_line *line, struct nm_line_item *item);
/* It waits no more, or has ended. */
void nm_line_leave(struct nm_line *line, struct nm_line_item *item);
