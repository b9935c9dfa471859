/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The parts of a resource's URI. */

#include <stdbool.h>
#include <stdint.h>

#include "util/macros.h"

enum nm_uri_scheme {
    NM_URI_FILE,
    NM_URI_HTTP,    /* http and https */
    NM_URI_HDFS,    /* the authority is a name node's RPC address, or a name service */
    NM_URI_WEBHDFS, /* webhdfs and swebhdfs; the authority is a name node's HTTP address, or a name service */
    NM_URI_OTHER,   /* only a configured command can fetch this scheme */
};

struct nm_uri {
    enum nm_uri_scheme scheme;
    bool has_tls;   /* swebhdfs: TLS regardless of the cluster's policy */
    char *word;     /* the scheme itself, in lower case */
    char *host;     /* NULL for FILE (this host) and OTHER. Also NULL for HDFS or WEBHDFS without a host, which means
                       the cluster's default file system. An IPv6 address is in "[...]" */
    unsigned port;  /* 0 if the URI has no port */
    char *path;     /* decoded; NULL for OTHER */
    char *name;     /* name of the file: the last part of the path, decoded */
};

/* Parses a URI. -EINVAL and a sentence (freed by the caller): the text is not a URI, or its last part can't be a file
 * name. */
int nm_uri_parse(const char *text, struct nm_uri *ret, char **ret_message);
void nm_uri_done(struct nm_uri *uri);
