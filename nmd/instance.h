/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What only one nmd at a time may use. All of it is locked before anything is read, changed or removed: a start that is
 * refused has touched nothing of the nmd that runs.
 */

#include <stdbool.h>
#include <sys/types.h>

struct nm_instance {
    const char *state_dir, *runtime_dir, *slice;
};

#define NM_INSTANCE_LOCK_NAME "lock" /* in the state and the runtime directory */

/* Locks until the process ends, and makes the two directories. On failure *ret_message is a sentence that the caller
 * frees (NULL when memory ran out): what is held, by which pid, and what to do. -EBUSY: another nmd has it. */
int nm_instance_lock(const struct nm_instance *i, char **ret_message);
/* The same for the path of a socket, which need not be there. */
int nm_instance_lock_socket(const char *path, char **ret_message);
/* Ends the children that an earlier nmd left in the slice before they executed their program: they hold its sockets. To
 * be called by the holder of the locks, before it opens a socket. */
void nm_instance_end_children(const struct nm_instance *i);
/* Would it be refused since that directory ("state" or "runtime") can't be made or used? Takes no lock, makes
 * nothing. */
int nm_instance_check_dir(const char *what, const char *dir, char **ret_message);
/* Returns the pid of the nmd that holds this state directory, 0 if none does, or -errno. Takes no lock. -EBUSY: that
 * nmd runs in another PID namespace, so that its pid means nothing here. */
pid_t nm_instance_holder(const char *state_dir);
/* Does an nmd hold this state directory? Takes no lock. */
bool nm_instance_is_running(const char *state_dir);
