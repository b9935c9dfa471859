/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Writes the JSON of requests. The writer omits members that are 0, NULL or false, so that nmd's defaults apply instead
 * of defaults of the client's version. The server's reader is rpc/local/messages-parse.c.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The part that the requests for a container and for a session have in common. */
struct nm_client_command {
    const char *const *argv; /* NULL-terminated */
    const char *const *env;  /* n_env strings "NAME=value" */
    size_t n_env;
    const char *term;        /* value of TERM if env doesn't set TERM; NULL or "": TERM is not set, since an empty value
                                means a terminal without capabilities */
    uint16_t rows, columns;  /* size of the command's terminal; 0: no terminal */
};

struct nm_client_submit {
    struct nm_client_command command;
    bool opportunistic, replace, exempt, allow_new_privs;
    uint64_t memory_bytes, vcores_milli, min_runtime_usec, expected_usec;
    const char *name, *app, *user, *workdir;
};

struct nm_client_exec {
    struct nm_client_command command;
    bool input; /* the connection carries the command's standard input */
};

/* A string that JSON can't contain. The pointers are valid as long as the request's strings. */
struct nm_client_bad_string {
    const char *what, *string;
};

/* Return 0 and the text, which the caller frees; -EILSEQ and *ret_bad if a string is not valid UTF-8; or -ENOMEM.
 * If memory runs out for a string, they may also return -EILSEQ. */
int nm_client_submit_body(const struct nm_client_submit *s, char **ret, struct nm_client_bad_string *ret_bad);
int nm_client_exec_body(const struct nm_client_exec *e, char **ret, struct nm_client_bad_string *ret_bad);
