/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The real HTTP server on a real socket, with a fake manager behind it, and clients in the same
 * thread: whoever waits runs the server's event loop meanwhile.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "fake-manager.h"
#include "rpc/local/server.h"
#include "util/clock.h"

#define DEADLINE_USEC (60 * NM_USEC_PER_SEC)

struct fixture {
    sd_event *event;
    struct nm_manager *m;
    struct nm_local_server *server;
    char dir[64];
    char path[96];
};

struct client {
    struct fixture *f;
    int fd;
    bool eof;
    char *data; /* all that came, NUL-terminated */
    size_t len;
};

/* Group setup and teardown for each test; the server is started by start(). */
int fixture_setup(void **state);
int fixture_teardown(void **state);
/* p NULL: defaults. socket_path and socket_mode are filled in. */
void start(struct fixture *f, const struct nm_local_server_params *p);
void stop(struct fixture *f);

/* What has come for c. */
void take(struct client *c);
/* One turn of the loop, and what has come for c. */
void turn(struct client *c);
/* Turns until cond; fails the test when it takes too long. */
#define until(c, cond) \
    do { \
        uint64_t _end = nm_now_usec() + DEADLINE_USEC; \
        while (!(cond)) { \
            if (nm_now_usec() > _end) \
                fail_msg("too late: %s; so far: %s", #cond, (c)->data); \
            turn(c); \
        } \
    } while (0)
/* Turns for so long. */
void turn_for(struct client *c, uint64_t usec);

void client_connect(struct fixture *f, struct client *c);
/* As another user, with one supplementary group; the caller must be root. */
void client_connect_as(struct fixture *f, struct client *c, uid_t uid, gid_t group);
void client_send(struct client *c, const char *format, ...) nm_printf(2, 3);
void client_close(struct client *c);
/* HTTP status of the answer so far. */
int client_status(const struct client *c);
/* Where the body begins, or NULL. */
const char *client_body(const struct client *c);
/* What all the body's chunks hold (the caller's), for answers that come in chunks. */
char *client_content(const struct client *c);
/* Value of a header, copied into a static buffer, or NULL. */
const char *client_header(const struct client *c, const char *name);

/* A request of its own connection, waited for. body NULL: none. Returns the status, and the body as
 * JSON if asked for (the caller's). */
int request(struct fixture *f, const char *method, const char *target, const char *body,
            json_t **ret);
int request_as(struct fixture *f, uid_t uid, const char *method, const char *target,
               const char *body, json_t **ret);
/* Sends a request of its own connection whose answer may have no end, and waits for its head: 200. */
void follow(struct fixture *f, struct client *c, const char *target);
void assert_content(const struct client *c, const char *expected);
/* To the container's standard output. */
void append_log(struct fixture *f, const struct nm_container *con, const char *text);
/* A whole log that isn't followed. Returns the status. */
int get_logs(struct fixture *f, const char *target, char *buf, size_t size);
/* error.code, error.thing and error.message of an error answer. */
void assert_error(json_t *j, const char *code, const char *thing, const char *message);

unsigned n_open_fds(void);
