/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The work of nm-localizer: one JSON object, which nmd writes to nm-localizer's standard input. Much of the object
 * comes from the user who submitted the job, so each word is checked here, before any server is contacted.
 *
 *   {"user": "alice",
 *    "name_nodes": {"cluster1": ["http://nn1:9870", "http://nn2:9870"]},
 *    "webhdfs": {"https": true, "ca_file": "/etc/pki/hadoop.pem"},
 *    "commands": {"s3a": ["/usr/local/bin/s3-get", "{uri}", "{target}"]},
 *    "environment": {"JAVA_HOME": "/usr/lib/jvm/default", "HADOOP_CONF_DIR": "/etc/hadoop/conf"},
 *    "limits": {"fetch_bytes": ..., "unpacked_bytes": ..., "entries": ..., "ratio": ..., "seconds": ...,
 *               "idle_seconds": ..., "attempts": ...},
 *    "resources": [{"uri": "hdfs://cluster1/user/alice/job.jar", "type": "PATTERN", "pattern": "(?:classes/|lib/).*",
 *                   "timestamp": 1700000000123, "public": false, "target": "/data/usercache/alice/filecache/10"}]}
 *
 * or {"removals": ["/data/usercache/alice/filecache/10", ...], "resources": []}: each target is removed together with
 * the files that an unfinished fetch has left beside it. Or {"checks": ["/data/usercache/alice/filecache/10", ...],
 * "resources": []}: each target has a list (install.h), and is compared with that list. Only "resources" is required,
 * and in a resource "uri", "type", "timestamp" and "target". The target of a resource is a directory that doesn't exist
 * yet. The worker makes the target with the directories above it, and puts the resource into it under the resource's
 * own name.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/macros.h"

#define NM_WORK_MAX_BYTES (4U << 20)
#define NM_WORK_MAX_RESOURCES 8192U

enum nm_work_resource_type {
    NM_WORK_RESOURCE_FILE,
    NM_WORK_RESOURCE_ARCHIVE,
    NM_WORK_RESOURCE_PATTERN, /* a jar: the jar itself, and the jar's entries whose whole name matches */
};

/* The work owns all strings. */
struct nm_work_resource {
    const char *uri;
    enum nm_work_resource_type type;
    const char *pattern;     /* only for the type PATTERN; NULL if all entries match */
    uint64_t timestamp_msec; /* mtime of the source when the job was submitted */
    bool is_public;          /* all users share the resource, so all users must be allowed to read the source */
    const char *target;
};

/* Limits for one resource. */
struct nm_work_limits {
    uint64_t fetch_bytes;
    uint64_t unpacked_bytes;
    uint64_t entries; /* entries of an archive, including the directories that the names of entries imply */
    uint64_t ratio;   /* unpacked bytes allowed per byte read; the first 64 MiB don't count */
    uint64_t time_usec;
    uint64_t command_memory_bytes; /* writable memory of each process of a command; 0: no limit */
    uint64_t idle_usec; /* maximum time during which a server may send almost no data */
    unsigned attempts; /* 0: the default, which depends on the source (nm_fetch_attempts()) */
};

struct nm_work {
    json_t *json;
    const char *user; /* for SIMPLE authentication at a name node; NULL if the work names no user */
    json_t *name_nodes, *commands; /* the work's members, checked; may be NULL */
    json_t *environment; /* strings, added to nm-localizer's own environment for commands; may be NULL */
    bool https;          /* TLS is used for name nodes that aren't in name_nodes */
    const char *ca_file; /* PEM: CA certificates for name nodes and data nodes; NULL: the system's */
    struct nm_work_limits limits;
    json_t *removals, *checks; /* absolute paths; may be NULL */
    struct nm_work_resource *resources;
    size_t n_resources;
};

/* Parses the work. -EBADMSG with a sentence (freed by the caller) if the text isn't valid work. */
int nm_work_parse(const char *text, size_t size, struct nm_work *ret, char **ret_message);
void nm_work_done(struct nm_work *work);
