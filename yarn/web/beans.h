/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The answers of /jmx, with the names and types of the beans of Hadoop 3.4.2's NodeManager. A bean contains only
 * attributes whose values nmd has. docs/monitoring.md lists the others. The code is pure. Each function that returns
 * JSON returns a new reference, or NULL without memory.
 */

#include <jansson.h>

#include "agent/status.h"
#include "yarn/launch/launcher.h"
#include "yarn/launch/shuffle-process.h"
#include "yarn/node/node.h"

/* nmd's own process. */
struct nm_yarn_process_figures {
    int pid;
    uint64_t anonymous_bytes, file_bytes;           /* resident memory: of the process alone, and of mapped files */
    uint64_t data_bytes, mapped_bytes;              /* address space: writable memory, and the rest */
    uint64_t cpu_usec;
    uint64_t log_fatal, log_error, log_warn, log_info; /* lines that were logged */
};

struct nm_yarn_beans {
    const char *host; /* the node's name; "" while it is not known yet */
    int64_t memory_mib, vcores; /* the node's size */
    const struct nm_status *status;
    const struct nm_yarn_node_figures *node;
    const struct nm_yarn_launcher_figures *launcher;
    const struct nm_yarn_shuffle_figures *shuffle; /* NULL: the cluster doesn't use nm-shuffle */
    const struct nm_yarn_shuffle_figures *spark;   /* NULL: the cluster doesn't use nm-spark-shuffle */
    const char *spark_name; /* the name of its bean */
    struct nm_yarn_process_figures process;
    uint64_t realtime_usec;
};

/* Returns {"beans":[...]} with the beans that match the pattern (object-name.h), which must be valid. */
json_t *nm_yarn_beans_query(const struct nm_yarn_beans *b, const char *pattern);
/* Returns {"beans":[...]}: one attribute of each bean that matches the pattern. If a bean doesn't have the
 * attribute, the list ends with this bean, whose members describe the error. */
json_t *nm_yarn_beans_get(const struct nm_yarn_beans *b, const char *pattern, const char *attribute);
