/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The messages of the local interface: structs <-> JSON, in one place, so that daemon and client
 * can't disagree. Nothing here knows HTTP's library, a socket or the manager. What the members mean
 * is told to the world in openapi.json; a test holds the two against each other.
 *
 * Functions that return json_t * return a new reference, or NULL when memory ran out. Text that
 * isn't valid UTF-8 (a program's output, a value cut short) is made valid on the way out, never
 * dropped.
 */

#include <jansson.h>

#include "agent/agent.h"
#include "agent/status.h"

/* How answers are written: numbers that people can read (0.1, not 0.10000000000000001). */
#define NM_MESSAGES_DUMP_FLAGS (JSON_COMPACT | JSON_REAL_PRECISION(12))

/* ---- errors ------------------------------------------------------------------------------- */

/* HTTP status and the word in error.code of an outcome; anything that isn't one is 500, "internal". */
unsigned nm_messages_http_status(int outcome);
const char *nm_messages_error_code(int outcome);

/* Fills a problem in. `value` is shortened and its control characters are replaced. Returns the
 * outcome. */
int nm_messages_problem(struct nm_problem *ret, enum nm_agent_outcome outcome, const char *thing,
                        const char *value, const char *format, ...) nm_printf(5, 6);

/* {"error":{"code","thing","value","message"}}. `code` NULL: the outcome's. */
json_t *nm_messages_error(const struct nm_problem *p, const char *code);
/* The same as Hadoop's web services have it. */
json_t *nm_messages_remote_exception(const struct nm_problem *p);
/* The other way, for the client. Returns 0, or -EBADMSG when j has not this shape. An unknown code,
 * such as "internal", becomes outcome 0. */
int nm_messages_parse_error(const json_t *j, struct nm_problem *ret);

/* ---- requests ----------------------------------------------------------------------------- */

/* All nm_messages_parse_*: 0, NM_AGENT_E_INVALID with *ret_problem filled, or -ENOMEM. */

/* What a body's tree would take, at most; to be asked before it is parsed. A body that has more in it
 * than any request needs is refused. */
int nm_messages_measure_body(const char *text, size_t len, size_t *ret_tree_bytes,
                             struct nm_problem *ret_problem);
/* A request's body into an object. An empty body is an empty object. Syntax errors are told with
 * line and column. */
int nm_messages_parse_body(const char *text, size_t len, json_t **ret,
                           struct nm_problem *ret_problem);

/* A submit request; its strings live as long as this struct. */
struct nm_messages_submit {
    struct nm_submit submit;
    json_t *body;
    const char **argv;
    char **env;
};
int nm_messages_parse_submit(json_t *body, struct nm_messages_submit *ret,
                             struct nm_problem *ret_problem);
void nm_messages_submit_done(struct nm_messages_submit *s);
json_t *nm_messages_submit(const struct nm_submit *s);

/* A command for a container that runs; its strings are the body's, or live as long as this struct. */
struct nm_messages_exec {
    struct nm_exec exec;
    const char **argv;
    char **env;
};
int nm_messages_parse_exec(json_t *body, struct nm_messages_exec *ret, struct nm_problem *ret_problem);
void nm_messages_exec_done(struct nm_messages_exec *e);

struct nm_messages_update {
    uint64_t memory_bytes; /* 0: leave */
    uint32_t vcores_milli; /* 0: leave */
};
int nm_messages_parse_update(json_t *body, struct nm_messages_update *ret,
                             struct nm_problem *ret_problem);

struct nm_messages_kill {
    bool now;
};
int nm_messages_parse_kill(json_t *body, struct nm_messages_kill *ret,
                           struct nm_problem *ret_problem);

int nm_messages_parse_drain(json_t *body, struct nm_drain_order *ret, struct nm_problem *ret_problem);

/* For requests that take nothing: any member is an error. */
int nm_messages_parse_empty(json_t *body, struct nm_problem *ret_problem);

/* ---- answers ------------------------------------------------------------------------------ */

/* What a container's message needs beside the container. */
struct nm_messages_container_extra {
    uint32_t queue_position;        /* 0: not queued */
    enum nm_reason hold;            /* why it waits; NM_REASON_NONE: it does not */
    uint64_t boot_to_realtime_usec; /* add to a CLOCK_BOOTTIME to get CLOCK_REALTIME */
    bool redacted; /* for TCP readers: without command, users, pid, cgroup and message */
    bool listed;   /* one of many: its command's beginning instead of all of it */
};
json_t *nm_messages_container(const struct nm_container *c,
                              const struct nm_messages_container_extra *x);

/* `redacted`: without the id of the container that waits, which may be somebody else's. pipelines: the list of
 * nm_manager_pipelines(), whose reference is taken over. */
json_t *nm_messages_status(const struct nm_status *s, uint64_t boot_to_realtime_usec, bool redacted,
                           json_t *pipelines);
/* A record with "summary" and "explanation" beside it. `redacted`: without who asked. */
json_t *nm_messages_decision(const struct nm_decision *d, bool redacted);
json_t *nm_messages_event(const struct nm_event_record *e);
/* `redacted`: without whose it was. */
json_t *nm_messages_ended_app(const struct nm_ended_app *e, bool redacted);
json_t *nm_messages_history_point(const struct nm_history_point *p);

const char *nm_messages_event_kind_name(enum nm_event_kind k); /* "state", "decision", "node" */
const char *nm_messages_master_call_name(enum nm_master_call c);

/* Copies text to be shown: shortened with "..." to fit, and without control characters. size is at
 * least 5. */
void nm_messages_shorten(char *to, size_t size, const char *from);
/* CPU twice: as it is asked for, and what that comes to in CPUs, which is what use is measured in. */
json_t *nm_messages_amount(const struct nm_resources *r, uint64_t vcores_milli);
json_t *nm_messages_resources(const struct nm_resources *r);
json_t *nm_messages_fractions(const struct nm_fractions *f);
/* A JSON string of any bytes. */
json_t *nm_messages_string(const char *s);
/* Thousandths of a vcore as a number of vcores: 2, 0.5. */
json_t *nm_messages_vcores(uint64_t milli);
