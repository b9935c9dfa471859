/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The real HTTP server on a real socket, with a fake manager behind it, and clients in the same
 * thread. Functions that wait for an answer therefore run the server's event loop.
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
    char *data; /* all that was received, NUL-terminated */
    size_t len;
};

/* Setup and teardown of each test. start() starts the server. */
int fixture_setup(void **state);
int fixture_teardown(void **state);
/* Starts the server. p NULL: defaults. The fixture sets socket_path, and socket_mode and timeout_usec if they are 0. */
void start(struct fixture *f, const struct nm_local_server_params *p);
void stop(struct fixture *f);

/* Reads the data that has arrived for c, without waiting. */
void take(struct client *c);
/* Runs one turn of the loop, and reads the data for c. */
void turn(struct client *c);
/* Runs turns until cond is true. Fails the test after DEADLINE_USEC. */
#define until(c, cond) \
    do { \
        uint64_t _end = nm_now_usec() + DEADLINE_USEC; \
        while (!(cond)) { \
            if (nm_now_usec() > _end) \
                fail_msg("not true in time: %s; received: %s", #cond, (c)->data); \
            turn(c); \
        } \
    } while (0)
/* Runs turns for `usec`. */
void turn_for(struct client *c, uint64_t usec);

void client_connect(struct fixture *f, struct client *c);
/* Connects as another user with one supplementary group. The test must run as root. */
void client_connect_as(struct fixture *f, struct client *c, uid_t uid, gid_t group);
void client_send(struct client *c, const char *format, ...) nm_printf(2, 3);
void client_close(struct client *c);
/* Returns the HTTP status of the answer, or 0 if the status has not arrived yet. */
int client_status(const struct client *c);
/* Returns the beginning of the body, or NULL. */
const char *client_body(const struct client *c);
/* Returns the content of a chunked body. The caller frees it. */
char *client_content(const struct client *c);
/* Returns the value of a header in a static buffer, or NULL. */
const char *client_header(const struct client *c, const char *name);

/* Sends a request on a new connection and waits for the answer. body NULL: the request has no body. Returns the status,
 * and in ret, unless it is NULL, the body as JSON, which the caller frees. */
int request(struct fixture *f, const char *method, const char *target, const char *body,
            json_t **ret);
int request_as(struct fixture *f, uid_t uid, const char *method, const char *target,
               const char *body, json_t **ret);
/* Sends a request on a new connection whose answer may have no end. Waits for its head, which must have status 200. */
void follow(struct fixture *f, struct client *c, const char *target);
void assert_content(const struct client *c, const char *expected);
/* Appends to the container's standard output. */
void append_log(struct fixture *f, const struct nm_container *con, const char *text);
/* Gets a whole log, without following it. Returns the status. */
int get_logs(struct fixture *f, const char *target, char *buf, size_t size);
/* Asserts error.code, error.thing and, unless message is NULL, error.message of an answer. Frees j. */
void assert_error(json_t *j, const char *code, const char *thing, const char *message);

unsigned n_open_fds(void);
