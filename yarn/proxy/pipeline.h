/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The pipelines: one per attempt whose master was started on this node, each with its own chain of stages. A pipeline
 * begins with the start of the master. It ends with the application, or when a later attempt begins here. State that
 * must not be lost is saved before the proxy uses it (proxy-store.h), and the next nmd restores it.
 */

#include "yarn/proxy/local-tokens.h"
#include "yarn/proxy/stage.h"

struct nm_pipelines;
struct nm_pipeline;

/* Restores the saved pipelines. world, keys and the objects that they point to must outlive *ret. -EOPNOTSUPP and
 * *ret_message: the configuration requests unknown stages. */
int nm_pipelines_new(struct nm_stage_world *world, const struct nm_yarn_local_keys *keys, struct nm_pipelines **ret,
                     char **ret_message);
/* Refuses all waiting calls. */
struct nm_pipelines *nm_pipelines_free(struct nm_pipelines *all);
NM_DEFINE_CLEANUP(struct nm_pipelines *, nm_pipelines_free)

/* Makes the pipeline of a master that is about to be started, and ends the pipelines of earlier attempts. Takes
 * ownership of `theirs`, the ResourceManager's token, on success. Returns 0 or -errno. */
int nm_pipeline_begin(struct nm_pipelines *all, const struct nm_yarn_container_id *master, const char *submitter,
                      struct nm_token **theirs);
void nm_pipelines_end_attempt(struct nm_pipelines *all, const struct nm_yarn_attempt_id *attempt);
void nm_pipelines_end_application(struct nm_pipelines *all, const struct nm_yarn_application_id *application);
/* Ends the pipelines of applications that don't exist any more, which a crash of nmd may have left. */
typedef bool (*nm_pipelines_lives_t)(void *userdata, const struct nm_yarn_application_id *application);
void nm_pipelines_end_strays(struct nm_pipelines *all, nm_pipelines_lives_t lives, void *userdata);

/* Returns NULL if no master of that attempt was started here, or the attempt is over. */
struct nm_pipeline *nm_pipelines_find(const struct nm_pipelines *all, const struct nm_yarn_attempt_id *attempt);
/* Returns the key of the master's token if the proxy has already replaced this key. The master has used this token
 * here, or the proxy gave it last. Otherwise returns NULL. */
const struct nm_yarn_master_key *nm_pipeline_held_key(const struct nm_pipeline *p, int32_t id);

/* Handles a call of the master, whose token is signed with that key. The call is answered or refused, now or later. */
void nm_pipeline_call(struct nm_pipeline *p, enum nm_masters_method method, int32_t key_id,
                      struct nm_hadoop_call *call);

/* The first function returns an array of the pipelines that may be seen, or NULL without memory. The second function
 * adds up the figures of all pipelines. */
typedef bool (*nm_pipelines_may_see_t)(void *userdata, const char *master);
json_t *nm_pipelines_to_json(const struct nm_pipelines *all, nm_pipelines_may_see_t may_see, void *userdata,
                             bool with_users);
void nm_pipelines_sum(const struct nm_pipelines *all, struct nm_masters *ret);
