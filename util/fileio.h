/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Small files, mostly the kernel's attribute files, and directories. Paths are relative to a directory descriptor (or
 * AT_FDCWD), so that tests can use fake trees and a reused path isn't mistaken for the directory that was opened.
 */

#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Reads a whole small file into buf and terminates it with NUL. Returns 0 and the length, -E2BIG if the file doesn't
 * fit, or -errno. -ENOENT and -ENODEV mean that the cgroup or process no longer exists, which is a normal result. */
int nm_read_file_at(int dir_fd, const char *name, char *buf, size_t size, size_t *ret_len);

/* Reads a file as nm_read_file_at() does, but only a regular file. For paths of operators, at which there may be
 * anything: the function doesn't wait for the other end of a pipe. -EISDIR: a directory; -EBADMSG: another file that
 * isn't regular. */
int nm_read_plain_file_at(int dir_fd, const char *name, char *buf, size_t size, size_t *ret_len);
/* Reads an open file like that. It must have been opened with O_NONBLOCK. */
int nm_pread_plain_file(int fd, char *buf, size_t size, size_t *ret_len);

/* Reads an open file as nm_read_file_at() does, from offset 0: pread() at offset 0 makes kernfs generate the content
 * again. */
int nm_pread_file(int fd, char *buf, size_t size, size_t *ret_len);

/* Reads a regular file of at most max bytes into memory that the caller frees. Returns -EBADMSG if the file isn't
 * regular or is larger. */
int nm_read_regular_at(int dir_fd, const char *name, size_t max, uint8_t **ret, size_t *ret_size);

/* Reads a stream to its end, so that text that was cut off isn't mistaken for the whole. The caller frees *ret, which
 * has no final NUL. -E2BIG: the stream has more than max bytes. */
int nm_read_to_end(int fd, size_t max, char **ret, size_t *ret_size);

/* Opens a regular file for reading and writing, and creates it if it doesn't exist. Doesn't follow symlinks or wait
 * for the other end of a pipe. Returns a descriptor that the caller owns, -EBADMSG if the file isn't regular, or
 * -errno. */
int nm_open_regular_at(int dir_fd, const char *name);

/* Writes the text with a single write(2), as the kernel's attribute files require. */
int nm_write_file_at(int dir_fd, const char *name, const char *text);

/* Writes all data with as many write(2) calls as necessary. */
int nm_write_all(int fd, const char *data, size_t size);
/* Writes all data at an offset, as nm_write_all() does. If a write was short, the next write returns the reason, such
 * as ENOSPC or EFBIG. */
int nm_pwrite_all(int fd, const char *data, size_t size, off_t offset);

/* Replaces a regular file atomically through a temporary file and rename(2): readers see the old or the new content.
 * The file isn't synced, so after a crash of the host it may have the old, the new or no content. */
int nm_write_bytes_atomic_at(int dir_fd, const char *name, const void *data, size_t size, mode_t mode);
int nm_write_file_atomic_at(int dir_fd, const char *name, const char *text, mode_t mode);

/* Opens a directory stream. The stream gets a separate descriptor, because streams that share a descriptor share their
 * position. The caller closes the stream. */
int nm_opendir_at(int dir_fd, DIR **ret);

/* Opens a stream on fd and takes ownership of fd, also on failure. A negative fd is returned as the error. */
int nm_fdopendir(int fd, DIR **ret);

/* Creates a directory and its parents as mkdir -p does. Succeeds if they exist. */
int nm_mkdir_p(const char *path, mode_t mode);

/* Predicts the result of nm_mkdir_p() as far as possible without creating anything. */
int nm_check_mkdir_p(const char *path);

/* Opens path beneath root_fd. The path can't leave root_fd through "..", absolute paths, symlinks or mounts
 * (openat2(2) with RESOLVE_BENEATH). Returns a descriptor that the caller owns, or -errno (-EXDEV: the path leaves
 * root_fd). */
int nm_open_beneath(int root_fd, const char *path, int flags);

/* Opens path as nm_open_beneath() does, but fails on any symlink (-ELOOP) or mount crossing (-EXDEV). A path that a
 * user prepared then can't lead to another file system, which might block. */
int nm_open_plain_beneath(int root_fd, const char *path, int flags);

/* Opens path as a process with the root directory root_fd would: absolute paths and symlinks start there, ".." stops
 * there, and the magic links of /proc to descriptors, roots and working directories fail (-ELOOP). */
int nm_open_in_root(int root_fd, const char *path, int flags);

/* Opens an absolute path without any symlink in it (-ELOOP). A user who may write to one of its directories then can't
 * redirect the path. */
int nm_open_no_links(const char *path, int flags);

/* Checks that the open directory belongs to nmd's user or root and that only its owner can write to it. Returns 0,
 * -EPERM or another -errno. */
int nm_check_private_dir(int fd);
/* Checks that only root and nmd's user can replace entries of this directory, the directory itself or one of its
 * parents. A directory that others may write to is accepted if it has the sticky bit. Returns 0, -EPERM or
 * another -errno. */
int nm_check_parent_dirs(int dir_fd);

/* Closes this descriptor and all higher descriptors. Doesn't depend on closefrom() of the C library. */
void nm_closefrom(int fd);
