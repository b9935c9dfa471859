/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Small files, mostly the kernel's. Paths are relative to a directory descriptor (or AT_FDCWD), so that fake
 * trees serve in tests and a recycled path can't be mistaken for the one that was opened.
 */

#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Reads a whole small file into buf, NUL-terminated. Returns 0 (and the length), -E2BIG if it does not fit, or
 * -errno. -ENOENT and -ENODEV mean that the cgroup or process has gone: a normal result. */
int nm_read_file_at(int dir_fd, const char *name, char *buf, size_t size, size_t *ret_len);

/* The same from a descriptor that stays open, from offset 0 (pread: kernfs renders the file anew). */
int nm_pread_file(int fd, char *buf, size_t size, size_t *ret_len);

/* Reads a regular file of at most max bytes, of whatever size, into memory that the caller frees. -EBADMSG: it isn't
 * regular, or larger. */
int nm_read_regular_at(int dir_fd, const char *name, size_t max, uint8_t **ret, size_t *ret_size);

/* A regular file to be read and written, made where there is none. No link is followed, no pipe's other end waited for.
 * Returns a descriptor that the caller owns, -EBADMSG: what has the name isn't regular, or -errno. */
int nm_open_regular_at(int dir_fd, const char *name);

/* Writes the text with one write(2), as the kernel's attribute files want it. */
int nm_write_file_at(int dir_fd, const char *name, const char *text);

/* Writes all of it, in as many turns as it takes. */
int nm_write_all(int fd, const char *data, size_t size);
/* Likewise at this offset. What stopped a write that was cut short is known by the next one: no space, or EFBIG. */
int nm_pwrite_all(int fd, const char *data, size_t size, off_t offset);

/* Writes a regular file so that a reader sees the old or the new content, never a part: temporary name, rename.
 * It isn't synced: a crash of the host may leave either, or an empty one. */
int nm_write_bytes_atomic_at(int dir_fd, const char *name, const void *data, size_t size, mode_t mode);
int nm_write_file_atomic_at(int dir_fd, const char *name, const char *text, mode_t mode);

/* Opens a stream of what is in the directory. It has a descriptor of its own, since streams that share one share their
 * position. The caller closes it. */
int nm_opendir_at(int dir_fd, DIR **ret);

/* Opens a stream on fd, which it takes over, also on failure. A negative fd is returned as the error that it is. */
int nm_fdopendir(int fd, DIR **ret);

/* mkdir -p; existing directories are fine. */
int nm_mkdir_p(const char *path, mode_t mode);

/* What nm_mkdir_p() would return, as far as that can be known without making anything. */
int nm_check_mkdir_p(const char *path);

/* Opens what there is at path beneath root_fd: no "..", no absolute path, no symlink or mount crossing that leads out
 * of it (openat2 with RESOLVE_BENEATH). Returns a descriptor that the caller owns, or -errno (-EXDEV: led outside). */
int nm_open_beneath(int root_fd, const char *path, int flags);

/* The same without any symlink or mount crossing on the way (-ELOOP, -EXDEV): a look into what a user may have arranged
 * leads to no other file system, which could keep us waiting. */
int nm_open_plain_beneath(int root_fd, const char *path, int flags);

/* The same where path is as seen by somebody whose root directory is root_fd: absolute paths and symlinks begin
 * there, ".." ends there, and the links of /proc to descriptors, roots and working directories lead nowhere
 * (-ELOOP). */
int nm_open_in_root(int root_fd, const char *path, int flags);

/* An absolute path of which no part is a symlink (-ELOOP): whoever may write in one of its directories can't lead
 * elsewhere with it. */
int nm_open_no_links(const char *path, int flags);

/* Is the open directory nmd's, or root's, and can nobody else put anything into it? -EPERM: no. */
int nm_check_private_dir(int fd);
/* Can nobody but root and nmd put something else into this directory, or another in its place or that of one above it?
 * Where others may write, the sticky bit must keep them from what isn't theirs. -EPERM: somebody can. */
int nm_check_way(int dir_fd);

/* Closes this descriptor and all above it, whatever libc there is. */
void nm_closefrom(int fd);
