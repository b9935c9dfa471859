/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Locks for the objects that only one nmd at a time may use: directories, slice and socket. nmd takes the locks before
 * it reads, changes or removes anything, so that a refused start does not affect the running nmd.
 */

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct nm_instance {
    const char *state_dir, *runtime_dir, *slice, *socket;
};

/* Creates the two directories, and locks them and the slice until the process ends. On failure *ret_message is a
 * sentence that the caller frees (NULL when memory ran out). The sentence contains the object, the pid of the lock's
 * holder, and advice. -EBUSY: another nmd holds a lock. */
int nm_instance_lock(const struct nm_instance *i, char **ret_message);
/* Locks the path of a socket in the same way. The socket may not exist yet. */
int nm_instance_lock_socket(const char *path, char **ret_message);
#define NM_INSTANCE_LOCKS_MAX 4
/* Stores the real paths of the lock files of directories, slice and socket. "": the lock file doesn't exist. */
void nm_instance_find_locks(const struct nm_instance *i, char ret[NM_INSTANCE_LOCKS_MAX][PATH_MAX]);
/* Kills children of an earlier nmd that have not executed their program, because they keep the earlier nmd's sockets
 * open. The caller must hold the locks of directories and slice, and must call this function before it opens a
 * socket. */
void nm_instance_end_children(const struct nm_instance *i);
/* Checks whether a start could create and use the directory. what: "state" or "runtime". Takes no lock and creates
 * nothing. */
int nm_instance_check_dir(const char *what, const char *dir, char **ret_message);
/* Returns the pid of the nmd that holds the lock of this state directory, 0 if no nmd holds it, or -errno. Takes no
 * lock. -EBUSY: the nmd that holds the lock runs in another PID namespace, so its pid isn't visible here. */
pid_t nm_instance_holder(const char *state_dir);
/* Returns whether an nmd holds the lock of this state directory. Takes no lock. */
bool nm_instance_is_running(const char *state_dir);
