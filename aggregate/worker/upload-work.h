/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The work of nm-log-uploader: one JSON object, which nmd writes to nm-log-uploader's standard input. Part of the
 * object comes from the user who submitted the application, so each word is checked here, before any server is
 * contacted.
 *
 *   {"application": "application_1700000000000_0001", "user": "alice", "node": "node01:8041",
 *    "format": "TFile",                           (or "IndexedFile")
 *    "remote": "hdfs://cluster1/tmp/logs",        (or file:///srv/logs)
 *    "suffix": "logs-tfile",
 *    "name_nodes": {"cluster1": ["http://nn1:9870", "http://nn2:9870"]},
 *    "webhdfs": {"https": true, "ca_file": "/etc/pki/hadoop.pem"},
 *    "log_dirs": ["/data1/logs", "/data2/logs"],  (only LOG-DIR/APPLICATION/CONTAINER is read)
 *    "containers": [{"id": "container_1700000000000_0001_01_000001", "running": false}],
 *    "include": ".*", "exclude": "", "rolled_include": "", "rolled_exclude": "",
 *    "rolling": false, "final": true, "abandoned": false, "upload_msec": 1700000000123, "max_files": 30,
 *    "view_acl": "", "modify_acl": "", "limits": {"seconds": 3600, "idle_seconds": 60}}
 *
 * or, to make or check the remote directory itself,
 *
 *   {"prepare": true, "remote": "hdfs://cluster1/tmp/logs", "remote_owner": "yarn", "remote_group": "",
 *    "name_nodes": {...}, "webhdfs": {...}, "limits": {...}}
 *
 * "application" to "containers" and "upload_msec" are required, except for "name_nodes" and "webhdfs". The patterns are
 * Java's regular expressions, which are found anywhere in a name. An empty or absent "include" finds all names, and the
 * other patterns none. "rolling": the cluster uploads logs of running containers, so names have the upload's time.
 * "upload_msec" identifies the upload: an upload that is repeated with the same value is done once. "abandoned": nmd
 * has given up the upload. If an earlier attempt has completed it, the upload is done. Otherwise the remains of the
 * attempts are removed from the remote directory, and the upload fails. "max_files": number of files of this node and
 * application that are kept if "rolling" is set and the format is TFile; 0: all.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "localize/worker/uri.h"

#define NM_UPLOAD_WORK_MAX_BYTES (4U << 20)
#define NM_UPLOAD_WORK_MAX_CONTAINERS 32768U

struct nm_upload_container {
    const char *id;
    bool is_running;
};

/* The work owns all strings. */
struct nm_upload_work {
    json_t *json;
    bool prepares; /* only the members down to the limits are set */
    struct nm_uri remote;
    const char *remote_owner, *remote_group; /* "": not given */
    json_t *name_nodes;  /* checked; may be NULL */
    bool https;          /* TLS is used for name nodes that aren't in name_nodes */
    const char *ca_file; /* NULL: the system's store */
    uint64_t time_usec, idle_usec;
    const char *application, *user, *node, *suffix;
    bool is_indexed; /* IndexedFile instead of TFile */
    const char *include, *exclude, *rolled_include, *rolled_exclude; /* "": not given */
    const char *view_acl, *modify_acl;
    const char **log_dirs; /* absolute paths */
    size_t n_log_dirs;
    struct nm_upload_container *containers;
    size_t n_containers;
    bool is_rolling, is_final, is_abandoned;
    uint64_t upload_msec, max_files;
};

/* Parses the work. -EBADMSG with a sentence (freed by the caller) if the text isn't valid work. */
int nm_upload_work_parse(const char *text, size_t size, struct nm_upload_work *ret, char **ret_message);
void nm_upload_work_done(struct nm_upload_work *work);
