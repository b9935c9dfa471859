/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* LogAggregationContext: the patterns and the policy by which an application selects the logs that are uploaded. The
 * application sets it when it is submitted, and each of its container tokens contains it. */

#include <stdbool.h>

#include <jansson.h>

#include "rpc/hadoop/bytes.h"
#include "util/macros.h"

#define NM_YARN_LOG_TEXT_MAX 8192u /* maximum size of each text, in bytes */

/* A missing member is NULL. Then Hadoop's default applies: all files are included, none is excluded, no running
 * container is uploaded, and the cluster's policy is used. */
struct nm_yarn_log_context {
    char *include, *exclude, *rolled_include, *rolled_exclude; /* regular expressions of Java */
    char *policy, *policy_parameters;
};

/* Unpacks the field log_aggregation of a token. Empty bytes are an empty context. -EBADMSG: it isn't a context, or a
 * text is too long or isn't UTF-8; -ENOMEM. The caller frees the members with nm_yarn_log_context_done(). */
int nm_yarn_log_context_parse(struct nm_bytes bytes, struct nm_yarn_log_context *ret);
void nm_yarn_log_context_done(struct nm_yarn_log_context *c);
static inline void nm_yarn_log_context_donep(struct nm_yarn_log_context *c)
{
    nm_yarn_log_context_done(c);
}

/* Returns whether files of running containers are uploaded, if the cluster has an interval for this. */
bool nm_yarn_log_context_rolls(const struct nm_yarn_log_context *c);

/* Convert a context to JSON and back. Return NULL or -ENOMEM without memory. The object contains only the members that
 * aren't NULL, with the names of this struct. -EBADMSG: the object has a member of another type, or a text is too
 * long. */
json_t *nm_yarn_log_context_to_json(const struct nm_yarn_log_context *c);
int nm_yarn_log_context_from_json(const json_t *o, struct nm_yarn_log_context *ret);
