/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What one command may have. The kernel's MAX_ARG_STRLEN, with the NUL; and for all strings and the
 * pointers to them, which count as much there as here. */
#define NM_COMMAND_STRING_MAX (128u << 10)
#define NM_COMMAND_BYTES_MAX (512u << 10)
/* Of both together. Each costs nmd about a microsecond wherever it passes, while all others wait; a
 * command line that xargs has filled has fewer. */
#define NM_COMMAND_STRINGS_MAX 16384u

/* What a container runs. Owned strings; argv and env are NULL-terminated, and each is one piece of
 * memory together with its strings (nm_strv_pack()), so that a hundred thousand empty words cost no
 * more than their bytes and pointers. */
struct nm_command {
    char **argv;
    char **env;    /* "NAME=value"; the container's whole environment besides PATH, HOME, USER, LOGNAME, SHELL */
    char *workdir; /* "" = the user's home, or / */
    char *user;    /* login name */
    uid_t uid;
    gid_t gid;
    bool no_new_privs;
};

/* n strings and their vector as one piece of memory, for free(); NULL: out of memory. */
char **nm_strv_pack(const char *const *v, size_t n);

void nm_command_done(struct nm_command *c);
int nm_command_copy(const struct nm_command *c, struct nm_command *ret);

/* Strings and pointers of a vector, as execve() counts them. */
uint64_t nm_strv_bytes(const char *const *v);
/* What it holds, all in all. */
uint64_t nm_command_bytes(const struct nm_command *c);
/* How much execve() would take of argv and env under our own stack's limit, which containers
 * inherit; never more than NM_COMMAND_BYTES_MAX. */
uint64_t nm_command_room(void);

/* For what has run: no environment, and of a long command line the first max_bytes, with "..." for
 * the rest. Out of memory it stays as it is. */
void nm_command_shorten(struct nm_command *c, size_t max_bytes);
