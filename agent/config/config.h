/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The configuration: nmd reads the INI file /etc/nmd/nmd.conf, and then nmd.conf.d/ *.conf in the order of their names.
 * The table in config-keys.c describes each key once (section, name, type, range, default, reason, whether a reload
 * applies it). If a file has an error, the whole configuration is refused, and the current settings stay in force.
 * Messages have the file, line, key, value and allowed values.
 */

#include <jansson.h>

#include "agent/policy/policy.h"
#include "cgroup/cgroup.h"

#define NM_BANNED_USERS_MAX 32

struct nm_config {
    /* [node] */
    uint64_t memory_bytes;          /* capacity; 0 = auto: MemTotal - system_reserved_memory */
    uint32_t vcores;                /* capacity; 0 = auto: number of online CPUs. One vcore is the number of
                                     * online CPUs divided by this number */
    uint64_t system_reserved_memory_bytes; /* UINT64_MAX = auto: 5 % of MemTotal, from 256 MiB to 2 GiB */
    uint32_t system_reserved_vcores_milli; /* default 0 */
    /* [over-allocation] */
    bool over_allocation;
    struct nm_fractions over_allocation_threshold; /* memory 0.8; cpu 0 = auto */
    struct nm_fractions preemption_threshold;      /* memory 0.95; cpu 0 = auto */
    uint64_t warmup_usec;
    uint32_t warmup_samples;
    uint64_t margin_usec; /* how long memory is kept free for a surge of guaranteed containers; 0: never */
    bool shadow;
    /* [queue] */
    uint32_t queue_max_length;
    uint32_t queue_max_per_user; /* limit for users who are not administrators; 0 = auto: three quarters */
    enum nm_queue_policy queue_policy;
    enum nm_queue_order queue_order;
    uint64_t give_back_usec;
    uint64_t backfill_usec;
    /* [preemption] */
    enum nm_victim_order victim_order;
    bool pause;
    uint64_t pause_deadline_usec;
    uint32_t cpu_samples, settle_samples;
    uint32_t kills_per_minute;
    uint64_t breaker_usec;
    bool reclaim;
    uint64_t reclaim_running_usec; /* maximum time of a reclaim of a running container; 0: running containers are not
                                      reclaimed */
    bool squeeze;
    double stall_margin; /* 1: stalls of guaranteed containers never cause a squeeze */
    uint32_t squeeze_floor_vcores_milli; /* minimum CPU of each squeezed container */
    uint64_t kill_grace_usec; /* time from SIGTERM to SIGKILL for kills by users; preemption sends SIGKILL */
    /* [sampling] */
    uint64_t period_usec;
    bool growth_probe; /* measure memory and CPU between samples (growth probe) */
    uint64_t pressure_stall_usec, pressure_window_usec; /* memory PSI trigger */
    uint64_t history_usec;
    double uplink_threshold;  /* 0: off */
    uint64_t uplink_speed_mbit; /* 0: use the link's own value */
    /* [containers] */
    uint64_t default_memory_bytes;   /* memory of a request without a memory size */
    uint32_t default_vcores_milli;
    uint32_t max_containers;         /* number of live containers, including queued ones */
    uint32_t max_per_user;           /* limit for users who are not administrators; 0 = auto: a quarter */
    uint64_t keep_ended_usec;        /* how long ended containers remain in lists */
    uint64_t pids_max;               /* 0 = auto */
    /* maximum size of the log of a container's stdout, and of the log of its stderr */
    uint64_t output_max_bytes;
    double output_share;             /* fraction of the log directory's file system, for the output of all containers */
    uid_t min_uid;
    char *banned_users[NM_BANNED_USERS_MAX];
    unsigned n_banned_users;
    bool no_new_privs;
    bool private_ipc;                /* confined containers also have a separate IPC namespace */
    bool confine;                    /* containers of users other than root have separate namespaces */
    /* [interface] */
    mode_t socket_mode;      /* default 0660 */
    char *admin_group;       /* default "nmd" */
    char *http_address;      /* "127.0.0.1:8042" or "" = off: /metrics and the status page */
    char *http_hosts;        /* names that a Host header may have in addition to the host's own names */
    /* the section of the upstream, which nmd/ evaluates */
    struct {
        bool enabled;    /* nmd joins the upstream */
        char *conf_dir;  /* directory of the upstream's own configuration */
    } upstream;
    /* [health] */
    char *health_script;     /* "" if no script is run */
    uint64_t health_period_usec, health_timeout_usec;
    double disk_min_free;    /* fraction of the file system that must stay free */
    /* [paths] */
    char *log_dir;           /* "" = <state-dir>/logs */

    /* Size of the node that an upstream has set with nm_manager_set_size(). It replaces [node] memory and vcores. 0:
     * the key applies. */
    uint64_t wanted_memory_bytes;
    uint32_t wanted_vcores;

    char **sources; /* for each key, in the order of nm_config_keys: "FILE:LINE", or NULL if the key has its default;
                       NULL if all keys have their defaults */
};

struct nm_config *nm_config_free(struct nm_config *c);
NM_DEFINE_CLEANUP(struct nm_config *, nm_config_free)

int nm_config_new_defaults(struct nm_config **ret);

/* A default that replaces the table's default of one key: its text as in a configuration file, and its source. The
 * section of a list's last entry is NULL. */
struct nm_config_default {
    const char *section, *name, *value, *source;
};

/* Reads the file `path` and its drop-ins (in the directory path + ".d"), then checks the relations between keys (alpha
 * < beta, ...). must_exist: a missing path is an error. defaults: replacements of the table's defaults, or NULL. On
 * failure, returns -errno, and in *ret_message a text that the caller frees. The text has a line "file:line: [section]
 * key = value: what is allowed" for each error. */
int nm_config_load(const char *path, bool must_exist, const struct nm_config_default *defaults, struct nm_config **ret,
                   char **ret_message);
/* Does the same as nm_config_load() for a caller that only shows the configuration. If values were refused, the
 * function still returns a configuration, in which these values have their defaults. *ret is unchanged only with
 * -ENOMEM and after other failures without a message. */
int nm_config_examine(const char *path, bool must_exist, const struct nm_config_default *defaults,
                      struct nm_config **ret, char **ret_message);

struct nm_fractions_cpu {
    double alpha, beta;
};

/* Returns the CPU thresholds alpha and beta, with a number for "auto". guarded: result of nm_settings_cpu_is_guarded().
 * If one threshold is configured and the other is "auto", "auto" becomes a value with alpha < beta, unless alpha is
 * 1. */
struct nm_fractions_cpu nm_config_cpu_thresholds(const struct nm_config *c, bool guarded);

/* The value that "auto" of one key has on this node, and the reason. */
struct nm_config_note {
    const char *section, *name;
    char value[40];
    const char *why;
};

/* Returns an array of all keys with value, default, source, allowed values and meaning, for `nmctl config`. The members
 * `in_force` and `why` have the value and the reason of the key's note, or null if the key has no note. */
json_t *nm_config_to_json(const struct nm_config *c, const struct nm_config_note *notes, size_t n_notes);

/* Writes the names of the keys that differ between a and b and need a restart, separated by commas, into buf ("" if no
 * such key differs). */
const char *nm_config_needs_restart(const struct nm_config *a, const struct nm_config *b, char *buf, size_t size);

/* Prints a commented nmd.conf with every key at its default. packaging/nmd.conf is this output. */
int nm_config_print_template(FILE *f);
