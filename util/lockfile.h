/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Lock files that exclude other processes. The lock is a record lock of fcntl(2) because the kernel reports the pid of
 * the lock's holder, children don't inherit the lock, and the lock ends with the process. Record locks have one
 * drawback: closing any descriptor of the file releases the lock. Therefore no other code of the process may open the
 * file.
 */

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

/* Creates the file with mode 0600 if necessary and locks it until the process ends; the descriptor stays open. Waits
 * up to wait_usec for another holder, because the kernel needs time to end a killed process. Returns 0, also if this
 * process already holds the lock. -EBUSY: *ret_holder is the holder's pid, or 0 if the holder is in another PID
 * namespace. Other -errno: the file can't be used. */
int nm_lockfile_take(const char *path, uint64_t wait_usec, pid_t *ret_holder);

/* Locks one byte of a file as nm_lockfile_take() locks a file. The byte at `offset` represents an object that must not
 * contain an open file, such as a file system that is going to be unmounted. All bytes of a file must be locked through
 * one descriptor. */
int nm_lockfile_take_byte(int fd, int64_t offset, uint64_t wait_usec, pid_t *ret_holder);
/* Unlocks the byte if this process holds its lock. */
void nm_lockfile_drop_byte(int fd, int64_t offset);

/* Creates the directory for locks that depend only on the user and not on an option (/run/nmd for root), and stores its
 * path in buf. Returns -EPERM if the directory belongs to another user, or if others may write to it. */
int nm_lockfile_dir(char buf[PATH_MAX]);

/* Returns the pid of another process that holds the lock, 0 if the file isn't locked or doesn't exist, or -errno.
 * -EBUSY: the holder is in another PID namespace. Takes no lock. */
pid_t nm_lockfile_holder(const char *path);

#define NM_LOCKFILE_HOLDER_SIZE 64
/* Formats the holder as "pid 123", or as a text if its pid isn't visible in this PID namespace. Returns buf. */
const char *nm_lockfile_name_holder(pid_t holder, char buf[NM_LOCKFILE_HOLDER_SIZE]);
