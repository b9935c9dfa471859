/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The pipelines: one for each attempt whose master was started on this node, with a chain of stages of its own. An
 * attempt's begins with its master's start, and ends with its application, or when a later attempt of it begins here.
 * What must not be lost is kept beforehand (proxy-store.h), and taken up again by the next nmd.
 */

#include "agent/upstream.h"
#include "yarn/proxy/local-keys.h"
#include "yarn/proxy/stages.h"

struct nm_pipelines;
struct nm_pipeline;

/* world, keys and what they point to must outlive it. Takes up what was kept. -EOPNOTSUPP and *ret_message: the
 * configuration asks for stages that there aren't. */
int nm_pipelines_new(struct nm_stage_world *world, const struct nm_yarn_local_keys *keys, struct nm_pipelines **ret,
                     char **ret_message);
/* All calls that wait are refused. */
struct nm_pipelines *nm_pipelines_free(struct nm_pipelines *all);
NM_DEFINE_CLEANUP(struct nm_pipelines *, nm_pipelines_free)

/* A master is about to be started with `theirs`, which this takes over when it succeeds: there is a pipeline then, in
 * the place of those of earlier attempts. -errno. */
int nm_pipeline_begin(struct nm_pipelines *all, const struct nm_yarn_container_id *master, const char *submitter,
                      struct nm_token **theirs);
void nm_pipelines_end_attempt(struct nm_pipelines *all, const struct nm_yarn_attempt_id *attempt);
void nm_pipelines_end_application(struct nm_pipelines *all, const struct nm_yarn_application_id *application);
/* Those of applications that are not there any more: nmd may have been killed before it noted one, or dropped it. */
typedef bool (*nm_pipelines_lives_t)(void *userdata, const struct nm_yarn_application_id *application);
void nm_pipelines_end_strays(struct nm_pipelines *all, nm_pipelines_lives_t lives, void *userdata);

/* NULL: no master of that attempt was started here, or it is over. */
struct nm_pipeline *nm_pipelines_find(const struct nm_pipelines *all, const struct nm_yarn_attempt_id *attempt);
/* The key of its master's token, if that is none of the proxy's any more: it has borne it here before, or was given it
 * last. Or NULL. */
const struct nm_yarn_master_key *nm_pipeline_held_key(const struct nm_pipeline *p, int32_t id);

/* A call of the master's, which bears a token of that key. It is answered or refused, now or later. */
void nm_pipeline_call(struct nm_pipeline *p, enum nm_masters_method method, int32_t key_id,
                      struct nm_hadoop_call *call);

/* What there is to see: all that may be seen, each as an object, or NULL: no memory; and their sums. */
typedef bool (*nm_pipelines_may_see_t)(void *userdata, const char *master);
json_t *nm_pipelines_to_json(const struct nm_pipelines *all, nm_pipelines_may_see_t may_see, void *userdata,
                             bool with_users);
void nm_pipelines_sum(const struct nm_pipelines *all, struct nm_masters *ret);
