/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The messages of the local interface: conversion between structs and JSON. The code doesn't depend on libmicrohttpd,
 * sockets or the manager. openapi.json documents the members; a test compares the two.
 *
 * Functions that return json_t * return a new reference, or NULL when memory ran out. Invalid UTF-8 (a program's
 * output, a truncated value) is replaced in the output, not omitted.
 */

#include <jansson.h>

#include "agent/agent.h"
#include "agent/status.h"

/* Flags for writing answers: numbers with 12 digits, so that 0.1 isn't written as 0.10000000000000001. */
#define NM_MESSAGES_DUMP_FLAGS (JSON_COMPACT | JSON_REAL_PRECISION(12))

/* ---- errors ------------------------------------------------------------------------------- */

/* Return the HTTP status and error.code of an outcome. For other values they return 500 and "internal". */
unsigned nm_messages_http_status(int outcome);
const char *nm_messages_error_code(int outcome);

/* Fills in a problem. `value` is shortened, and its control characters are replaced. Returns the outcome. */
int nm_messages_problem(struct nm_problem *ret, enum nm_agent_outcome outcome, const char *thing,
                        const char *value, const char *format, ...) nm_printf(5, 6);

/* Returns {"error":{"code","thing","value","message"}}. If `code` is NULL, the outcome's code is used. */
json_t *nm_messages_error(const struct nm_problem *p, const char *code);
/* Returns the error in the format of Hadoop's web services. */
json_t *nm_messages_remote_exception(const struct nm_problem *p);
/* Parses an error answer in the client. Returns 0, or -EBADMSG if j doesn't have this format. An unknown code, such as
 * "internal", becomes outcome 0. */
int nm_messages_parse_error(const json_t *j, struct nm_problem *ret);

/* ---- requests ----------------------------------------------------------------------------- */

/* All nm_messages_parse_*() return 0, NM_AGENT_E_INVALID with *ret_problem filled in, or -ENOMEM. */

/* Returns an upper bound of the memory that a body needs after parsing. Is called before parsing, for the quota.
 * Refuses a body with more values than any valid request has. */
int nm_messages_measure_body(const char *text, size_t len, size_t *ret_tree_bytes,
                             struct nm_problem *ret_problem);
/* Parses a body into an object. An empty body gives an empty object. Syntax errors are reported with line and
 * column. */
int nm_messages_parse_body(const char *text, size_t len, json_t **ret,
                           struct nm_problem *ret_problem);

/* A submit request. Its strings live as long as this struct. */
struct nm_messages_submit {
    struct nm_submit submit;
    json_t *body;
    const char **argv;
    char **env;
};
int nm_messages_parse_submit(json_t *body, struct nm_messages_submit *ret,
                             struct nm_problem *ret_problem);
void nm_messages_submit_done(struct nm_messages_submit *s);

/* A command for a running container. Its strings belong to the body or to this struct. */
struct nm_messages_exec {
    struct nm_exec exec;
    const char **argv;
    char **env;
};
int nm_messages_parse_exec(json_t *body, struct nm_messages_exec *ret, struct nm_problem *ret_problem);
void nm_messages_exec_done(struct nm_messages_exec *e);

struct nm_messages_update {
    uint64_t memory_bytes; /* 0: unchanged */
    uint32_t vcores_milli; /* 0: unchanged */
};
int nm_messages_parse_update(json_t *body, struct nm_messages_update *ret,
                             struct nm_problem *ret_problem);

struct nm_messages_kill {
    bool now;
};
int nm_messages_parse_kill(json_t *body, struct nm_messages_kill *ret,
                           struct nm_problem *ret_problem);

int nm_messages_parse_drain(json_t *body, struct nm_drain_order *ret, struct nm_problem *ret_problem);

/* Checks the body of a request without members: any member is an error. */
int nm_messages_parse_empty(json_t *body, struct nm_problem *ret_problem);

/* ---- answers ------------------------------------------------------------------------------ */

/* Data that the message of a container needs besides the container. */
struct nm_messages_container_extra {
    uint32_t queue_position;        /* 0: not queued */
    enum nm_reason queue_reason;    /* why the container waits; NM_REASON_NONE: the container isn't waiting */
    uint64_t boot_to_realtime_usec; /* add to a CLOCK_BOOTTIME to get CLOCK_REALTIME */
    bool redacted; /* for TCP clients: the JSON has no command, users, pid, cgroup and message */
    bool listed;   /* the JSON is part of a list and has only the beginning of the command */
};
json_t *nm_messages_container(const struct nm_container *c,
                              const struct nm_messages_container_extra *x);

/* Returns the status. `redacted` omits the id of the waiting container, which may belong to another user. details: the
 * object of nm_manager_upstream_details(), whose reference is taken over. */
json_t *nm_messages_status(const struct nm_status *s, uint64_t boot_to_realtime_usec, bool redacted,
                           json_t *details);
/* Returns a decision record with the added members "summary" and "explanation". `redacted` omits the user who requested
 * the decision. */
json_t *nm_messages_decision(const struct nm_decision *d, bool redacted);
json_t *nm_messages_event(const struct nm_event_record *e);
/* Returns an ended application. `redacted` omits its user. */
json_t *nm_messages_ended_app(const struct nm_ended_app *e, bool redacted);
json_t *nm_messages_history_point(const struct nm_history_point *p);

const char *nm_messages_event_kind_name(enum nm_event_kind k); /* "state", "decision", "node" */

/* Copies text for display: replaces control characters, and truncates a text that is too long, with "..." at the end.
 * size is at least 5. */
void nm_messages_shorten(char *to, size_t size, const char *from);
/* Returns CPU in two units: vcores, the unit of requests, and the corresponding CPUs, the unit of measured use. */
json_t *nm_messages_amount(const struct nm_resources *r, uint64_t vcores_milli);
json_t *nm_messages_resources(const struct nm_resources *r);
json_t *nm_messages_fractions(const struct nm_fractions *f);
/* Returns thousandths of a vcore as a number of vcores, such as 2 or 0.5. */
json_t *nm_messages_vcores(uint64_t milli);
