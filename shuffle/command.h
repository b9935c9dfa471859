/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The commands of nmd, which a server reads from its standard input, each a line of JSON. It writes a line of JSON for
 * each to its standard output. The end of the input ends the server. */

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include <jansson.h>

#define NM_SHUFFLE_LINE_MAX 4096u

/* The commands of a server. Each line is an object with one member: the command, with an object. add() and remove()
 * return a negative errno if the command is refused, with *ret_message as in nm_fail(). */
struct nm_shuffle_commands {
    int (*add)(void *userdata, const json_t *what, char **ret_message);
    /* *ret_reply stays NULL, or becomes the answer, one line without newline. */
    int (*remove)(void *userdata, const json_t *what, char **ret_reply, char **ret_message);
    /* Returns the answer with the server's figures, one line without newline. NULL: out of memory. */
    char *(*count)(void *userdata);
};

/* Executes a command line. The caller frees *ret_reply; NULL: out of memory. */
void nm_shuffle_command(const struct nm_shuffle_commands *commands, void *userdata, const char *line, size_t size,
                        char **ret_reply);
/* Executes commands until `in` ends. Returns 0, or -errno if out cannot be written. */
int nm_shuffle_commands_run(const struct nm_shuffle_commands *commands, void *userdata, FILE *in, FILE *out);

/* Copies a member that is a string and fits; otherwise copies an empty string, which later checks reject. */
void nm_shuffle_command_text(const json_t *from, const char *name, char *ret, size_t size);
/* Reads the members user, whose name becomes a part of a path, and uid, the owner of the user's files. size is the size
 * of ret_user. */
int nm_shuffle_command_user(const json_t *from, char *ret_user, size_t size, uid_t *ret_uid, char **ret_message);
/* Reads hexadecimal of at most `size` bytes. Returns -EINVAL if it is not hexadecimal, or too long. */
int nm_shuffle_command_bytes(const char *hexadecimal, uint8_t *ret, size_t size, size_t *ret_size);
