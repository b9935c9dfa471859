/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Table of everything that a process keeps across fork and exec, with its value in nmd, in nmd's helpers (nm-shim,
 * nm-spawner, nm-localizer, nm-shuffle, health script, fetch commands) and in commands. nmd resets each attribute at
 * its start, so that helpers and commands don't depend on nmd's parent. Helpers and commands undo the changes that nmd
 * makes for itself.
 */

#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

struct nm_inherited {
    const char *name;
    /* nmd calls this function at its start; NULL: nmd doesn't change the attribute */
    void (*reset)(void);
    const char *nmd, *helpers, *commands; /* value for each kind of process */
};

extern const struct nm_inherited nm_inherited_table[];
extern const size_t nm_inherited_rows;

/* Applies the table. nmd calls this first, while it is single-threaded. An attribute whose change isn't permitted
 * stays unchanged. */
void nm_inherited_reset(void);

/* Sets all signals to their default action. Used in a child before it executes a program that keeps signals blocked. */
void nm_inherited_reset_dispositions(void);
/* Also unblocks all signals. Used in a child before it executes any other program. */
void nm_inherited_reset_signals(void);

/* Sets SIGCHLD to its default action, so that children stay zombies until they are reaped. If a parent left SIGCHLD
 * ignored, the kernel would discard exit statuses and reuse pids immediately. Used in main() of programs that start
 * children and aren't helpers of nmd. */
void nm_inherited_keep_children(void);

/* Makes posix_spawn() reset the signals in the command that it starts. other_flags: additional POSIX_SPAWN_ flags,
 * because this function overwrites all flags. Returns 0 or -errno. */
int nm_inherited_spawn_signals(posix_spawnattr_t *attributes, short other_flags);

/* A child that must not outlive its parent calls this function right after fork(): the kernel then kills the child when
 * the thread that forked it ends. Exits immediately if the parent has ended already. The kernel clears the setting
 * (PR_SET_PDEATHSIG) at a change of user or capabilities, so the child must call this function again after such a
 * change. */
void nm_inherited_end_with(pid_t parent);

/* Prints the table as rows of nmd(8). Returns 0 or -EIO. */
int nm_inherited_print_man(FILE *f);
