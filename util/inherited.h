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

/* Has children wait to be reaped: where SIGCHLD is ignored, as a parent may have left it, the kernel
 * forgets at once how they ended and gives their numbers to others. For the main() of a program that starts some and
 * isn't nmd's own helper. */
void nm_inherited_keep_children(void);

/* Has posix_spawn() do the same for the command that it starts. other_flags: more POSIX_SPAWN_ flags, since this
 * function sets all of them. Returns 0 or -errno. */
int nm_inherited_spawn_signals(posix_spawnattr_t *attributes, short other_flags);

/* Called by a child that must not outlive its parent, right after fork(): the kernel then kills the child when the
 * thread that forked it ends. Exits at once if the parent has ended already. The kernel clears the setting
 * (PR_SET_PDEATHSIG) at a change of user or capabilities, so the child must call this again after one. */
void nm_inherited_end_with(pid_t parent);

/* The table as rows of nmd(8). -EIO */
int nm_inherited_print_man(FILE *f);
