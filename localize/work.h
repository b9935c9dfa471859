/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What nm-localizer is told to do: one JSON object on its standard input, which nmd writes. Much in it comes from
 * whoever submitted the job: each word is checked here, before anything is asked of anybody.
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
 * or {"removals": ["/data/usercache/alice/filecache/10", ...], "resources": []}, which are removed first, each with
 * what an unfinished fetch has left beside it; or {"checks": ["/data/usercache/alice/filecache/10", ...],
 * "resources": []}, targets that have lists (listing.h), which are compared with these. Only "resources" must be there,
 * and of a resource "uri", "type", "timestamp" and "target". A target is a directory that isn't there yet; those above
 * it are made: in it will stand the resource, under its own name.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/macros.h"

#define NM_WORK_MAX_BYTES (4U << 20)
#define NM_WORK_MAX_RESOURCES 8192U
#define NM_WORK_TIME_USEC (24 * 3600 * NM_USEC_PER_SEC) /* of one resource, where the limits name no other */

enum nm_resource_type {
    NM_RESOURCE_FILE,
    NM_RESOURCE_ARCHIVE,
    NM_RESOURCE_PATTERN, /* a jar: itself, and those of its entries whose whole name matches */
};

/* All strings belong to the work. */
struct nm_resource {
    const char *uri;
    enum nm_resource_type type;
    const char *pattern;     /* of a PATTERN, which needn't have one: NULL matches all */
    uint64_t timestamp_msec; /* when the source was modified last, as whoever submitted it saw it */
    bool is_public;          /* for everybody's use, so everybody must be allowed to read the source */
    const char *target;
};

/* What one resource may cost. */
struct nm_work_limits {
    uint64_t fetch_bytes;
    uint64_t unpacked_bytes;
    uint64_t entries; /* of an archive, and directories that it implies */
    uint64_t ratio;   /* how many bytes may come out of one; the first 64 MiB don't count */
    uint64_t time_usec;
    uint64_t command_memory_bytes; /* that each process of a command may reserve for writing; 0: any */
    uint64_t idle_usec; /* how long a server may send next to nothing */
    unsigned attempts;
};

struct nm_work {
    json_t *json;
    const char *user; /* for SIMPLE authentication at a name node; NULL: none is named */
    json_t *name_nodes, *commands; /* as they came, but checked; may be NULL */
    json_t *environment; /* of commands, beside our own: strings; may be NULL */
    bool https;          /* name nodes that aren't in name_nodes are asked with TLS */
    const char *ca_file; /* PEM: who vouches for name nodes and data nodes; NULL: the system's store */
    struct nm_work_limits limits;
    json_t *removals, *checks; /* absolute names; may be NULL */
    struct nm_resource *resources;
    size_t n_resources;
};

/* -EBADMSG and a sentence (freed by the caller) when it isn't such an object. */
int nm_work_parse(const char *text, size_t size, struct nm_work *ret, char **ret_message);
void nm_work_done(struct nm_work *work);
