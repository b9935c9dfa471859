/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Unpacks an archive that is anybody's into a directory. Nothing of it gets outside (inside.h), and only directories,
 * files, and links of both kinds are made; owners, modes and times of the archive don't count. A symlink may lead
 * anywhere, as in stock Hadoop: who follows it does so with rights of his own, and here nothing is written through one
 * but what leads further down (lib64 -> lib). What comes out is bounded in bytes and in entries, and by what went in.
 */

#include <stdbool.h>
#include <stdint.h>

#include "localize/pattern/pattern.h"

enum nm_archive_kind {
    NM_ARCHIVE_NONE,
    NM_ARCHIVE_ZIP, /* .zip */
    NM_ARCHIVE_JAR, /* the same, but a PATTERN means something for it */
    NM_ARCHIVE_TAR, /* .tar, .tar.gz, .tgz, .tar.xz */
};

struct nm_unpack_params {
    enum nm_archive_kind kind;
    bool is_public;              /* everybody may read what comes out; otherwise only we */
    struct nm_pattern *pattern;  /* which files; NULL: all */
    uint64_t most_bytes;
    uint64_t most_entries;
    uint64_t ratio;
    uint64_t deadline_usec; /* by nm_now_usec() */
    void (*progress)(void *userdata, uint64_t bytes);
    void *userdata;
};

/* By its name, whatever the case, as Hadoop decides it. */
enum nm_archive_kind nm_archive_kind(const char *name);

/* The modes of what is localized: nobody is to change it, for others may share it. */
mode_t nm_localized_file_mode(bool is_public);
mode_t nm_localized_dir_mode(bool is_public);

/* From the beginning of the file source_fd into the empty directory dir_fd; *ret_bytes is what came out. On
 * failure, with a sentence's end, a part may stand there. */
int nm_unpack(int source_fd, int dir_fd, const struct nm_unpack_params *p, uint64_t *ret_bytes, char **ret_message);
