/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What all of nmctl's files share: the exit statuses, the parsed command line, and the shape of a
 * verb. A verb is one line of the table in verbs.c; parsing, help, suggestions and completion are
 * all made from that table.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/macros.h"

/* Exit statuses. Verb functions return one of them (`run` also the container's own) after having
 * said why on stderr. */
enum nm_ctl_exit {
    NM_CTL_OK = 0,
    NM_CTL_FAILED = 1,       /* nmd refused, or the action failed */
    NM_CTL_USAGE = 2,
    NM_CTL_UNREACHABLE = 3,  /* no nmd there, or not in a state to answer */
    NM_CTL_TIMED_OUT = 124,  /* `wait --timeout`, as timeout(1) has it */
    NM_CTL_NOT_RUN = 125,    /* `run`: the command was never started */
};

#define NM_CTL_UNSET UINT64_MAX

/* Every option of every verb, parsed and checked. What was not given: NULL, false, NM_CTL_UNSET, or
 * 0 for amounts. */
struct nm_args {
    bool help, version, no_color;
    const char *socket;
    bool json, all, follow, watch, wait, now;
    bool guaranteed, opportunistic, detach, exempt, allow_new_privs;
    bool interactive, tty, force;
    bool only_stdout, only_stderr, kill_opportunistic, until_restart, reload;
    bool changed, quiet, dry_run, replace, timestamps, reverse;
    uint64_t memory_bytes, vcores_milli;
    uint64_t min_runtime_usec, expected_usec, deadline_usec, interval_usec;
    uint64_t tail, last, after, since_usec, timeout_usec;
    const char *name, *app, *workdir, *user, *sort, *state, *filter;
    const char **env; /* n_env strings "K=V", ours to free */
    size_t n_env;
};

struct nm_ctl;

/* What can be completed at a place of the command line. */
enum nm_complete {
    NM_COMPLETE_NOTHING,
    NM_COMPLETE_CONTAINER, /* live ones */
    NM_COMPLETE_ANY_CONTAINER, /* ended ones too */
    NM_COMPLETE_COMMAND,
    NM_COMPLETE_FILE,
    NM_COMPLETE_DIRECTORY,
    NM_COMPLETE_USER,
    NM_COMPLETE_VERB,
    NM_COMPLETE_SORT,
    NM_COMPLETE_STATE,
    NM_COMPLETE_KEY, /* of the configuration */
};

enum nm_option_kind {
    NM_OPTION_FLAG,
    NM_OPTION_STRING,   /* not empty: that is a variable of a script that wasn't set */
    NM_OPTION_NAME,     /* a valid container or application name */
    NM_OPTION_SORT,     /* a key to sort by */
    NM_OPTION_STATE,    /* a container's state, in letters of any case */
    NM_OPTION_SIZE,     /* uint64_t, bytes */
    NM_OPTION_VCORES,   /* uint64_t, thousandths */
    NM_OPTION_DURATION, /* uint64_t, usec */
    NM_OPTION_INTERVAL, /* uint64_t, usec: how often something is drawn */
    NM_OPTION_COUNT,    /* uint64_t */
    NM_OPTION_LAST,     /* uint64_t: so many as nmd gives at once */
    NM_OPTION_ENV,      /* appended to env */
};

struct nm_option {
    char brief;        /* '\0' if it has no short form */
    const char *name;
    const char *arg;   /* what --help calls its value; NULL for flags */
    enum nm_option_kind kind;
    size_t offset;     /* of its member of struct nm_args */
    const char *help;
    enum nm_complete complete;
};

struct nm_verb {
    const char *name;
    const char *also;                /* what fingers that know other tools type, with a blank between them; or NULL */
    const char *operands;            /* as --help shows them */
    const char *summary;             /* one line */
    const char *details;             /* more for --help, NULL if there is none */
    const struct nm_option *options; /* ends with one that has no name; NULL if there are none */
    unsigned min_operands, max_operands;
    const char *missing;             /* what to say when there are too few */
    bool stops_at_operand; /* from the first operand on, everything belongs to a command */
    bool hidden;
    enum nm_complete complete;       /* what the operands are */
    int (*run)(struct nm_ctl *ctl);
};

struct nm_ctl {
    const struct nm_verb *verb;
    struct nm_args args;
    const char *socket_path;
    char socket_buf[128]; /* holds a path that was put together */
    char **operands;
    unsigned n_operands;
};

extern const struct nm_verb nm_verbs[]; /* ends with one that has no name */
extern const struct nm_option nm_global_options[];

/* By its name, or what else it is called. */
const struct nm_verb *nm_verb_find(const char *name);

/* The verbs. */
int nm_run_verb(struct nm_ctl *ctl);
int nm_exec_verb(struct nm_ctl *ctl);
int nm_status_verb(struct nm_ctl *ctl);
int nm_list_verb(struct nm_ctl *ctl);
int nm_show_verb(struct nm_ctl *ctl);
int nm_inspect_verb(struct nm_ctl *ctl);
int nm_wait_verb(struct nm_ctl *ctl);
int nm_top_verb(struct nm_ctl *ctl);
int nm_logs_verb(struct nm_ctl *ctl);
int nm_events_verb(struct nm_ctl *ctl);
int nm_explain_verb(struct nm_ctl *ctl);
int nm_act_verb(struct nm_ctl *ctl); /* pause, resume, promote, demote */
int nm_remove_verb(struct nm_ctl *ctl);
int nm_kill_verb(struct nm_ctl *ctl);
int nm_update_verb(struct nm_ctl *ctl);
int nm_drain_verb(struct nm_ctl *ctl);
int nm_undrain_verb(struct nm_ctl *ctl);
int nm_close_breaker_verb(struct nm_ctl *ctl);
int nm_config_verb(struct nm_ctl *ctl);
int nm_version_verb(struct nm_ctl *ctl);
int nm_help_verb(struct nm_ctl *ctl);
int nm_complete_verb(struct nm_ctl *ctl);
