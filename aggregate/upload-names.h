/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The names of aggregated logs in the remote file system, as Hadoop's readers expect them:
 *
 *   REMOTE/USER/bucket-SUFFIX/NNNN/APPLICATION/NODE-FILE
 *
 * NNNN is the application's number modulo 10000. NODE-FILE is the node's id with "_" instead of ":". The
 * time of the upload is appended ("_1700000000123") if the cluster also uploads the logs of running containers, or if
 * the node has a file already.
 */

#include <stdbool.h>
#include <stdint.h>

#define NM_UPLOAD_NODE_MAX 300U /* bytes of a node's id */

/* Number of directories below REMOTE, from the user's directory to the application's directory. */
#define NM_UPLOAD_DEPTH 4

/* Returns whether text is the id of an application, such as "application_1700000000000_0001". */
bool nm_upload_names_is_application(const char *text);
/* Returns whether text may be the host:port of a node whose file name needs no other replacement than that of ":". */
bool nm_upload_names_is_node(const char *text);
/* Returns whether text may be a suffix: one part of a path, together with "bucket-". */
bool nm_upload_names_is_suffix(const char *text);

/* Returns the directory of the application, or NULL if memory ran out. depth: the number of directories below remote,
 * from 0 (remote itself) to NM_UPLOAD_DEPTH (the application's directory). The caller frees the path. */
char *nm_upload_names_dir(const char *remote, const char *user, const char *suffix, const char *application,
                          unsigned depth);

/* Returns the name of the node's file, or NULL if memory ran out. upload_msec: 0: the name has no time. */
char *nm_upload_names_file(const char *node, uint64_t upload_msec);

/* Returns whether `name` in an application's directory is a complete file of this node. *ret_msec: the time in the
 * name, or 0. */
bool nm_upload_names_is_file_of(const char *name, const char *node, uint64_t *ret_msec);
