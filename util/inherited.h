/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * All that a process keeps over fork and exec, in one table, and what becomes of each in nmd, in its helpers (nm-shim,
 * nm-localizer, nm-shuffle, health script, fetch commands) and in commands. nmd starts from a known state whatever its
 * parent left, so that helpers and commands do so too. What nmd then changes for itself, each of them undoes.
 */

#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

struct nm_inherited {
    const char *name;
    void (*reset)(void);                    /* in nmd, at its start; NULL: nothing is changed there */
    const char *nmd, *helpers, *commands; /* what becomes of it */
};

extern const struct nm_inherited nm_inherited_table[];
extern const size_t nm_inherited_rows;

/* Applies the table. nmd calls it first of all, while it has one thread. What isn't allowed stays as it is. */
void nm_inherited_reset(void);

/* Makes all signals have their default action and unblocks them: for a child that is about to execute something. */
void nm_inherited_reset_signals(void);

/* The same of a command that posix_spawn() starts, with its other flags. 0 or -errno. */
int nm_inherited_spawn_signals(posix_spawnattr_t *attributes, short other_flags);

/* In a child that must not outlive its parent, right after the fork: the kernel kills it with the parent's thread, and
 * it ends here if that is gone already. A change of user or of capabilities takes that back, so call it again then. */
void nm_inherited_end_with(pid_t parent);

/* The table as rows of nmd(8). -EIO */
int nm_inherited_print_man(FILE *f);
