/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Definitions for all files of nmctl: exit statuses, the parsed command line, and the structure of a verb. A verb is
 * one entry of the table in verbs.c. Parsing, help, suggestions and completion use that table.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/macros.h"
#include "util/option.h"

/* Exit statuses. Verb functions return one of these values after printing the reason on stderr. `run` may also return
 * the container's exit status. */
enum nm_ctl_exit {
    NM_CTL_OK = 0,
    NM_CTL_FAILED = 1,       /* nmd refused the request, or the action failed */
    NM_CTL_USAGE = 2,
    NM_CTL_UNREACHABLE = 3,  /* nmd isn't running, or can't answer in its current state */
    NM_CTL_TIMED_OUT = 124,  /* `wait --timeout`; the same value as timeout(1) */
    NM_CTL_NOT_RUN = 125,    /* `run`: the command wasn't started */
};

#define NM_CTL_UNSET UINT64_MAX

/* Strings "K=V". The array and its strings are owned by struct nm_args. */
struct nm_variables {
    const char **list;
    size_t n;
};

/* Values of all options of all verbs, after validation. An option that wasn't given is NULL, false or NM_CTL_UNSET; a
 * memory or CPU amount that wasn't given is 0. */
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
    uint64_t tail, last, after, since_usec, timeout_usec, retry_usec;
    const char *name, *app, *workdir, *user, *sort, *state, *filter;
    struct nm_variables env;
};

struct nm_ctl;

/* The kind of word that can be completed at a position of the command line. */
enum nm_complete {
    NM_COMPLETE_NOTHING,
    NM_COMPLETE_CONTAINER, /* live containers */
    NM_COMPLETE_ANY_CONTAINER, /* live and ended containers */
    NM_COMPLETE_COMMAND,
    NM_COMPLETE_FILE,
    NM_COMPLETE_DIRECTORY,
    NM_COMPLETE_USER,
    NM_COMPLETE_VERB,
    NM_COMPLETE_SORT,
    NM_COMPLETE_STATE,
    NM_COMPLETE_KEY, /* key of the configuration */
};

struct nm_verb {
    const char *name;
    const char *also;                /* names of the verb in other tools, separated by blanks; or NULL */
    const char *operands;            /* operands, as shown by --help */
    const char *summary;             /* description in one line */
    const char *details;             /* additional text for --help; NULL: no additional text */
    const struct nm_option *options; /* ends with an entry without name; NULL: the verb has no options */
    unsigned min_operands, max_operands;
    const char *missing;             /* error message for too few operands */
    bool stops_at_operand; /* the first operand is the beginning of a command, to which all further words belong */
    bool hidden;
    enum nm_complete complete;       /* the kind of the operands */
    int (*run)(struct nm_ctl *ctl);
};

/* Verbs refer to their functions. These functions get the tables as a parameter, so that only cli.c refers to
 * verbs.c. */
struct nm_verb_tables {
    const struct nm_verb *verbs;            /* ends with an entry without name */
    const struct nm_option *global_options; /* options of all verbs; ends with an entry without name */
};

struct nm_ctl {
    const struct nm_verb_tables *tables;
    const struct nm_verb *verb; /* NULL: not known yet */
    struct nm_args args;
    const char *socket_path;
    char socket_buf[128]; /* buffer for a path that nmctl constructs */
    char **operands;
    unsigned n_operands;
};

extern const struct nm_verb_tables nm_verb_tables; /* verbs.c */

/* Functions of the verbs. */
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
