/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Limits of one command. A single string may be as long as the kernel's MAX_ARG_STRLEN, including the NUL.
 * NM_COMMAND_BYTES_MAX limits the size of all strings plus the pointers to the strings, as execve() counts it. */
#define NM_COMMAND_STRING_MAX (128u << 10)
#define NM_COMMAND_BYTES_MAX (512u << 10)
/* Maximum number of strings in argv and env together. A function that reads all strings takes about a microsecond per
 * string, and delays all other events for this time. A command line built by xargs has fewer strings. */
#define NM_COMMAND_STRINGS_MAX 16384u

/* A container's command. The struct owns all strings. argv and env are NULL-terminated. Each of these lists is one
 * allocation together with its strings (nm_strv_pack()), so that a hundred thousand empty strings need only the memory
 * of their bytes and pointers. */
struct nm_command {
    char **argv;
    char **env;    /* "NAME=value"; the container's whole environment besides PATH, HOME, USER, LOGNAME, SHELL */
    char *workdir; /* "" = the user's home, or / */
    char *user;    /* login name */
    uid_t uid;
    gid_t gid;
    bool no_new_privs;
};

/* Copies n strings and their vector into one allocation, to be released with free(). Returns NULL if out of memory. */
char **nm_strv_pack(const char *const *v, size_t n);

void nm_command_done(struct nm_command *c);
int nm_command_copy(const struct nm_command *c, struct nm_command *ret);

/* Returns the size of a vector's strings and pointers, as execve() counts it. */
uint64_t nm_strv_bytes(const char *const *v);
/* Returns the total memory that the command holds. */
uint64_t nm_command_bytes(const struct nm_command *c);
/* Returns how many bytes of argv and env execve() accepts under nmd's own stack limit, which containers inherit; at
 * most NM_COMMAND_BYTES_MAX. */
uint64_t nm_command_room(void);

/* Shortens the command of an ended container: drops the environment, and of a long command line keeps the first words
 * that fit into max_bytes, followed by "...". If out of memory, leaves the command unchanged. */
void nm_command_shorten(struct nm_command *c, size_t max_bytes);
