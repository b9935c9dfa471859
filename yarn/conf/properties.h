/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The properties of Hadoop that nmd supports, with Hadoop's own names, meanings and defaults. rules.h decides about all
 * other properties.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <jansson.h>

#include "yarn/conf/lending.h"

enum nm_yarn_type {
    NM_YARN_BOOL,     /* the field is a bool */
    NM_YARN_NUMBER,   /* the field is an int64_t */
    NM_YARN_MSEC,     /* uint64_t, microseconds; in a file: milliseconds, or with the unit ns, us, ms, s, m, h or d */
    NM_YARN_SPARK_TIME, /* uint64_t, microseconds; in a file: seconds, or with the unit us, ms, s, m, min, h or d */
    NM_YARN_HOST,     /* the field is a char * */
    NM_YARN_ADDRESS,  /* the field is a struct nm_yarn_address */
    NM_YARN_SHARE,    /* the field is a double */
    NM_YARN_QUEUE_POLICY, /* the field is a bool: true for BY_RESOURCES, false for BY_QUEUE_LEN */
    NM_YARN_TEXT,     /* the field is a char * */
    NM_YARN_LIST,     /* the field is a NULL-terminated char **: words, separated by commas in the file */
    NM_YARN_DIRS,     /* the field is a char **: at least one absolute path that needs no quotes in a shell */
    NM_YARN_LENDING_TEXT, /* the field is a char *: "observe", or a rule of lending.h */
};

struct nm_yarn_address {
    char *host;
    uint16_t port;
};

struct nm_config_default;

/* One property of a family: users choose the last part of the name. */
struct nm_yarn_variable {
    char *name, *value; /* name: the property's name without the prefix of the family */
    char *source;       /* the file that set the property */
};

/* The properties of a provider of the node's labels or attributes (yarn/labels/provider.h). */
#define NM_YARN_LABELS_PREFIX "yarn.nodemanager.node-labels."
#define NM_YARN_LABELS_VALUE NM_YARN_LABELS_PREFIX "provider.configured-node-partition"
#define NM_YARN_ATTRIBUTES_PREFIX "yarn.nodemanager.node-attributes."
#define NM_YARN_ATTRIBUTES_VALUE NM_YARN_ATTRIBUTES_PREFIX "provider.configured-node-attributes"
struct nm_yarn_provider_settings {
    char *provider;        /* "config" or "script"; "": no provider */
    char *value, *script;  /* the configured set; the path of the script */
    char **script_args;
    int64_t interval_msec; /* -1: only once */
    int64_t timeout_msec, resync_msec;
};

#define NM_YARN_RESOURCE_PREFIX "yarn.nodemanager.resource-type."
#define NM_YARN_RESOURCE_TYPES_MAX 64u
/* A countable resource beside memory and vcores (settings-parts.h). */
struct nm_yarn_resource_type {
    char *name, *units; /* units: those of the cluster's type, in which containers and the node count; "" if none */
    int64_t amount;     /* amount that this node offers; of NM_YARN_GPU: always 0, because the devices are counted */
    char *value;        /* the amount as the files have it; NULL: the files set none, and the amount is 0 */
    char *source;       /* the file that set the value, or NULL */
};

/* The contents of container-executor.cfg (executor.h). */
#define NM_YARN_N_EXECUTOR_NAMES 5
struct nm_yarn_executor {
    char *file;     /* NULL: the file doesn't exist, so all accounts may run containers */
    char *texts[NM_YARN_N_EXECUTOR_NAMES]; /* the values, in the order of nm_yarn_executor_names; NULL: Hadoop's default
                                              applies */
    uid_t min_uid;
    uint32_t gpu_major;  /* major number of the GPUs' devices; 0: Hadoop's default */
    uint64_t gpu_minors; /* mask of the minor numbers that may be offered; 0: all */
};

/* The GPUs that this node offers (gpus.c). Hadoop's GpuResourcePlugin names a GPU by its index, which is its number in
 * the list of nvidia-smi, and by the minor number of its device /dev/nvidiaMINOR. */
#define NM_YARN_GPU "yarn.io/gpu"
#define NM_YARN_PLUGINS "yarn.nodemanager.resource-plugins"
#define NM_YARN_GPUS_MAX 64u    /* also the limit of minor numbers, because sets of GPUs are masks of 64 bits */
#define NM_YARN_GPU_INDEX_MAX 255u
#define NM_YARN_GPU_MAJOR 195u  /* NVIDIA's driver */
struct nm_yarn_gpu {
    uint8_t index, minor;
};

struct nm_yarn_gpu_settings {
    char **plugins;    /* the names of all resource plugins */
    char *allowed;     /* "auto", or INDEX:MINOR,... */
    char *executables; /* nvidia-smi, or its directory; "": a default directory */
    uint64_t timeout_usec;
    int64_t max_errors; /* failed attempts after which the discovery is given up; -1: never */
    char *fail_fast_text; /* "true", "false" or "": true */
    /* Derived from the properties and from container-executor.cfg. Only valid if `enabled`. */
    bool enabled;
    bool fail_fast;     /* the node doesn't join the cluster without its GPUs */
    bool discovers;     /* `list` is not known before the discovery */
    uint32_t major;
    uint64_t minors;    /* mask of the minor numbers that may be offered */
    struct nm_yarn_gpu list[NM_YARN_GPUS_MAX]; /* sorted by index */
    size_t n;
};

/* The aggregation of the logs of containers (log-aggregation.c). */
struct nm_yarn_log_settings {
    bool enabled;
    char **formats;                 /* names of formats; the first one is written */
    char *base_dir, *base_suffix;   /* the remote directory of formats that have no directory of their own */
    char *group;                    /* group of the remote directory; "": not set */
    int64_t roll_sec, roll_min_sec; /* roll_sec <= 0: logs are uploaded only at the end of an application */
    int64_t max_files;              /* TFile: files of one application and node, if it rolls */
    char *policy, *policy_parameters;
    bool cleans_up;      /* the local logs are removed after their upload */
    int64_t retain_sec;  /* age at which the JobHistory server deletes remote logs; <= 0: never */
    int64_t uploads, retry_sec;
    char *owner;         /* owner of the remote directory */
    /* Derived from the properties above. Only valid if `enabled`. */
    bool is_indexed;     /* the format is IndexedFile instead of TFile */
    char *remote;        /* the remote directory as a URI */
    char *suffix;        /* suffix of the format's directories */
    uint64_t roll_usec;  /* interval between two uploads of a running application; 0: none */
};

/* The default of nonsecure-mode.user-pattern. It matches all names that nm_user_name_is_valid() permits. */
#define NM_YARN_USER_PATTERN "^[_.A-Za-z0-9][-@_.A-Za-z0-9]{0,255}?[$]?$"

/* The values of all properties. */
struct nm_yarn_settings {
    struct nm_yarn_address tracker; /* the ResourceManager's address, if the cluster has only one */
    bool ha;                        /* the cluster has several ResourceManagers, which the next fields list */
    char **rm_ids;
    struct nm_yarn_address *trackers;
    size_t n_trackers;
    uint64_t any_retry_usec, retry_usec, connect_usec, rpc_timeout_usec; /* any_retry_usec: default of retry_usec */
    struct nm_yarn_address node, web; /* host "0.0.0.0": the name of this host */
    int64_t memory_mib, vcores;       /* -1: not set; see defaults.c */
    bool detects_hardware;
    int64_t reserved_memory_mib;      /* -1: not set, nmd's default applies */
    int64_t queue_max_length;
    bool queue_by_resources;
    double general_alpha, memory_alpha, cpu_alpha, memory_beta, cpu_beta; /* <= 0: not set */
    int64_t cpu_samples;              /* 0: not set */
    bool pauses;
    uint64_t term_usec;
    char *health_script;              /* "": the cluster has no script; health_*_usec are then unused */
    uint64_t health_period_usec, health_timeout_usec;
    uint64_t any_health_period_usec, any_health_timeout_usec; /* the defaults of health_*_usec */
    bool recovery, supervised, rm_recovers;
    char *bind_host;    /* "": listen on all addresses */
    char **aux_services;

    /* Users and directories of containers. */
    char *executor, *local_user, *user_pattern;
    struct nm_yarn_executor executor_rules;
    bool limit_users, allow_root, serves_web;

    /* The logs of containers over TCP. */
    bool serves_logs, has_acls;
    char *admin_acl;
    char *log_server, *log_web_service; /* "": not configured */
    char **sensitive_keys; /* regular expressions for the names of properties whose values are not shown */

    char *tmp_dir, *base_log_dir;     /* the default parents of local_dirs and log_dirs */
    char **local_dirs, **log_dirs;
    double max_disk_percent, low_disk_percent, min_healthy_disks; /* low_*: a full disk is then usable again */
    int64_t min_free_disk_mib, high_free_disk_mib;
    bool checks_disks, checks_disk_use, checks_disk_room;
    uint64_t check_disks_usec;

    /* The environment of containers. */
    char **env_whitelist;
    char *admin_env, *user_home_dir, *force_path;
    struct nm_yarn_variable *admin_variables; /* yarn.nodemanager.admin-env.NAME, by their names */
    size_t n_admin_variables;
    int64_t java_version;             /* 0: use the version in $JAVA_HOME */
    int64_t cache_target_mib, localizer_threads, localizer_memory_mib, command_memory_mib;
    uint64_t localizer_timeout_usec;
    json_t *name_nodes, *webhdfs, *commands; /* input of nm-localizer, from nm_yarn_sources_read() */
    json_t *lacking_name_nodes;               /* *ret_lacking of nm_yarn_sources_read() */
    char *webhdfs_ca_file;
    char *default_fs; /* the default file system's URI; NULL: not configured */
    char *dir; /* the directory of the cluster's files; NULL if the settings weren't read from one */
    int64_t log_retain_sec, delete_delay_sec;
    int64_t stderr_tail_bytes;
    char *stderr_pattern;
    bool debug_info;

    struct nm_yarn_provider_settings labels, attributes;
    struct nm_yarn_resource_type *resource_types; /* sorted by name */
    size_t n_resource_types;
    struct nm_yarn_gpu_settings gpus;

    struct nm_yarn_spark_settings {
        char *name; /* the service's name; NULL: the node doesn't have it (native-services.h) */
        char *bean; /* the name of its bean at /jmx */
        int64_t port, crypto_version;
        int64_t max_chunks, backlog; /* backlog <= 0: that of nm-spark-shuffle */
        uint64_t network_timeout_usec, timeout_usec;
        bool authenticates, has_crypto, falls_back, must_encrypt, keeps_alive, must_start;
    } spark; /* the auxiliary service of Spark */
    bool has_shuffle; /* the auxiliary service mapreduce_shuffle (native-services.h) */
    struct nm_yarn_aux_settings {
        char **java_services; /* names of services that run in Java although nmd has a program for them */
        char *java, *class_path, *jar, *options, *user; /* java, class_path: ""; the default of launch/aux-command.h */
        int64_t heap_mib, memory_mib;
        uint64_t start_usec;
        char **names; /* derived: the names of all services that run in the process of Java */
    } aux; /* the process for auxiliary services that are written in Java */
    int64_t shuffle_port, shuffle_max_connections;
    bool shuffle_drops_cache;

    /* The proxy for application masters. */
    bool proxy_possible; /* if it is not: its other settings are valid, so that it can serve masters from before */
    bool proxy;       /* the proxy is enabled; always true if `distributed` or `lending.enabled` is true */
    bool distributed; /* the proxy on this node allocates opportunistic containers itself */
    bool fill_nodes;
    struct nm_yarn_address proxy_address;
    char **proxy_stages; /* class names, as in Java; proxy/stages.c has the supported ones */
    struct nm_yarn_address scheduler; /* the only ResourceManager's address for application masters */
    struct nm_yarn_address *schedulers; /* the addresses for masters, in the order of rm_ids; only with a proxy */
    size_t n_schedulers;
    struct nm_yarn_address rm_client;   /* the only ResourceManager's address for clients */
    struct nm_yarn_address *rm_clients; /* those of several ResourceManagers, only with a proxy. Ids without an address
                                           are left out. */
    size_t n_rm_clients;
    int64_t amrm_roll_sec;    /* interval between two keys of the proxy's AMRM tokens */
    uint64_t am_expiry_usec;  /* a master that sends no call for this time is considered dead */
    int64_t per_am_heartbeat; /* number of containers; <= 0: no limit */
    struct nm_yarn_lending lending;
    struct nm_yarn_log_settings logs;

    char **values, **sources; /* each key's value, and the file that set it or NULL; in the order of nm_yarn_keys */
    bool *finals;             /* whether the file declares the value final; in the same order */
    struct nm_config_default *defaults; /* defaults that the cluster's files set for nmd's own keys (defaults.c) */
};

struct nm_yarn_key {
    const char *name;
    enum nm_yarn_type type;
    size_t offset;        /* offset of the field in struct nm_yarn_settings */
    const char *fallback; /* the default, written like a value in a file */
    int64_t min, max;     /* limits of a number; limits in milliseconds for a time */
    bool unlisted;        /* Hadoop 3.4.2's files of defaults have no value, so /conf shows the property only if set */
    const char *meaning;
};

extern const struct nm_yarn_key nm_yarn_keys[];
extern const size_t nm_yarn_n_keys;
