/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Lock files: one process at a time. The lock is a record lock of fcntl(2), which belongs to the process: the kernel
 * knows who holds it, children don't inherit it, and it ends with the process, however that ends. The price is
 * that closing any descriptor of the file gives the lock up, so nothing else may open the file.
 */

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

/* Makes the file where there is none, as 0600, and locks it until the process ends: the descriptor stays open. The
 * kernel takes its time to end a killed process, so it waits up to wait_usec for a holder. Returns 0, also where this
 * process holds the lock already. -EBUSY: *ret_holder is the holder's pid, 0 if that is in another PID namespace.
 * Other -errno: the file can't be used. */
int nm_lockfile_take(const char *path, uint64_t wait_usec, pid_t *ret_holder);

/* The same for one byte of a file, for things that may have no open file in them, such as file systems that are to be
 * unmounted: byte `place` stands for one of these. All bytes of a file are taken through one descriptor. */
int nm_lockfile_take_byte(int fd, int64_t place, uint64_t wait_usec, pid_t *ret_holder);
/* Gives the byte back, if this process has it. */
void nm_lockfile_drop_byte(int fd, int64_t place);

/* Makes the directory for locks that depend on the user alone, not on any option: /run/nmd for root. The path is in
 * buf. -EPERM: it belongs to somebody else, or others may write to it. */
int nm_lockfile_dir(char buf[PATH_MAX]);

/* Returns the pid of another process that holds the lock, 0 where there is none or no file, or -errno. It takes no
 * lock. -EBUSY: the holder is in another PID namespace. */
pid_t nm_lockfile_holder(const char *path);

/* "pid 123", or words for a holder that has no pid here. Returns buf. */
#define NM_LOCKFILE_HOLDER_SIZE 64
const char *nm_lockfile_name_holder(pid_t holder, char buf[NM_LOCKFILE_HOLDER_SIZE]);
