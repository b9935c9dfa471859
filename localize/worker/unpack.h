/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Unpacks an untrusted archive into a directory. All files stay inside the directory (entry-name.h). Only directories,
 * files, hard links and symlinks are created. Owners, modes and times of the archive are ignored. A symlink may have
 * any target, as in stock Hadoop, because a process that follows the symlink has only its own rights. The unpacking
 * itself writes through a symlink only if the symlink leads further down (lib64 -> lib). The output has limits on bytes
 * and entries, and on the ratio to the input.
 */

#include <stdbool.h>
#include <stdint.h>

#include "localize/pattern/pattern.h"

enum nm_archive_kind {
    NM_ARCHIVE_NONE,
    NM_ARCHIVE_ZIP, /* .zip */
    NM_ARCHIVE_JAR, /* a zip to which a PATTERN applies */
    NM_ARCHIVE_TAR, /* .tar, .tar.gz, .tgz, .tar.xz */
};

struct nm_unpack_params {
    enum nm_archive_kind kind;
    bool is_public;              /* the files are readable for all users; otherwise only for the owner */
    struct nm_pattern *pattern;  /* selects files; NULL: all files are unpacked */
    uint64_t most_bytes;
    uint64_t most_entries;
    uint64_t ratio;
    uint64_t deadline_usec; /* deadline of the unpacking, by nm_now_usec() */
    void (*progress)(void *userdata, uint64_t bytes);
    void *userdata;
};

/* Returns the kind of an archive by its name, ignoring case, as Hadoop does. */
enum nm_archive_kind nm_archive_kind(const char *name);

/* Return the modes of localized files and directories. They are read-only, because several containers may share
 * them. */
mode_t nm_localized_file_mode(bool is_public);
mode_t nm_localized_dir_mode(bool is_public);

/* Unpacks the file source_fd from its beginning into the empty directory dir_fd. *ret_bytes is the unpacked size. On
 * failure *ret_message is the end of a sentence, and a part may have been unpacked. */
int nm_unpack(int source_fd, int dir_fd, const struct nm_unpack_params *p, uint64_t *ret_bytes, char **ret_message);

/* ---- copy.c ---------------------------------------------------------------------------------- */

/*
 * Copies the whole file from_fd to the empty file to_fd. If the file system supports it, the files share blocks on the
 * disk. *ret_bytes is the number of bytes copied. -EFBIG: the file has more than most_bytes. -ETIMEDOUT: the deadline
 * (by nm_now_usec()) has passed. progress is called from time to time.
 */
int nm_copy_file(int from_fd, int to_fd, uint64_t most_bytes, uint64_t deadline_usec,
                 void (*progress)(void *userdata, uint64_t bytes, uint64_t total_bytes), void *userdata,
                 uint64_t *ret_bytes);
