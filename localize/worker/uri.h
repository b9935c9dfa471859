/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Where a resource is. */

#include <stdbool.h>
#include <stdint.h>

#include "util/macros.h"

enum nm_uri_scheme {
    NM_URI_FILE,
    NM_URI_HTTP,    /* and https */
    NM_URI_HDFS,    /* the authority is a name node's RPC address, or a name service */
    NM_URI_WEBHDFS, /* and swebhdfs; the authority is a name node's HTTP address, or a name service */
    NM_URI_OTHER,   /* only a configured command can fetch it */
};

struct nm_uri {
    enum nm_uri_scheme scheme;
    bool has_tls;   /* swebhdfs: whatever the cluster's policy is */
    char *word;     /* the scheme itself, in lower case */
    char *host;     /* NULL of FILE, which is on this host, of OTHER, and where HDFS or WEBHDFS name none: then it is in
                     * the file system that is the cluster's default. "[...]" of IPv6 */
    unsigned port;  /* 0: none is named */
    char *path;     /* decoded; NULL if OTHER */
    char *name;     /* of the file: the last part of the path, decoded */
};

/* -EINVAL and a sentence (freed by the caller): it is none, or what it names has no name that a file could bear. */
int nm_uri_parse(const char *text, struct nm_uri *ret, char **ret_message);
void nm_uri_done(struct nm_uri *uri);
