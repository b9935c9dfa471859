/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The pipelines: one for each attempt whose master was started on this node. Each pipeline has its own chain of stages.
 * A pipeline begins when the master is started. It ends when the application ends, or when a later attempt begins on
 * this node. State that must not be lost is saved before the proxy uses it (proxy-store.h), and a restarted nmd
 * restores it.
 */

#include "yarn/proxy/local-tokens.h"
#include "yarn/proxy/stage.h"

struct nm_pipelines;
struct nm_pipeline;

/* Creates the pipelines, and restores the saved ones. context, keys and the objects that they point to must outlive
 * *ret. -EOPNOTSUPP and *ret_message: the configuration names unknown stages. */
int nm_pipelines_new(struct nm_stage_context *context, const struct nm_yarn_local_keys *keys, struct nm_pipelines **ret,
                     char **ret_message);
/* Refuses all waiting calls, and frees the pipelines. */
struct nm_pipelines *nm_pipelines_free(struct nm_pipelines *all);
NM_DEFINE_CLEANUP(struct nm_pipelines *, nm_pipelines_free)

/* Makes the pipeline of a master that is about to be started, and ends the pipelines of earlier attempts. wish:
 * NMD_LEND of the master, or NULL. `theirs` is the ResourceManager's token. On success, the function takes ownership of
 * it. Returns 0 or -errno. */
int nm_pipeline_begin(struct nm_pipelines *all, const struct nm_yarn_container_id *master, const char *submitter,
                      const char *wish, struct nm_token **theirs);
void nm_pipelines_end_attempt(struct nm_pipelines *all, const struct nm_yarn_attempt_id *attempt);
void nm_pipelines_end_application(struct nm_pipelines *all, const struct nm_yarn_application_id *application);
/* Ends the pipelines of applications that no longer exist. A crash of nmd may have left such pipelines. */
typedef bool (*nm_pipelines_lives_t)(void *userdata, const struct nm_yarn_application_id *application);
void nm_pipelines_end_strays(struct nm_pipelines *all, nm_pipelines_lives_t lives, void *userdata);

/* Finds a pipeline. Returns NULL if no master of that attempt was started on this node, or if the attempt is over. */
struct nm_pipeline *nm_pipelines_find(const struct nm_pipelines *all, const struct nm_yarn_attempt_id *attempt);
/* Returns the key of a token of the master, even if the proxy's current keys no longer contain it. The master has used
 * this token on this node, or the proxy has given it to the master last. Otherwise returns NULL. */
const struct nm_yarn_master_key *nm_pipeline_find_key(const struct nm_pipeline *p, int32_t id);

/* Handles a call of the master. key_id: the key of the master's token. The call is answered or refused, possibly after
 * this function has returned. */
void nm_pipeline_call(struct nm_pipeline *p, enum nm_masters_method method, int32_t key_id,
                      struct nm_hadoop_call *call);

/* nm_pipelines_to_json() returns an array of the pipelines that the viewer may see, or NULL without memory.
 * nm_pipelines_sum() adds up the figures of all pipelines. */
typedef bool (*nm_pipelines_may_see_t)(void *userdata, const char *master);
json_t *nm_pipelines_to_json(const struct nm_pipelines *all, nm_pipelines_may_see_t may_see, void *userdata,
                             bool with_users);
void nm_pipelines_sum(const struct nm_pipelines *all, struct nm_yarn_master_stats *ret);
/* Returns the answer of /v1/lending/{id} for the container of a master, or for a container that was lent to its
 * attempt. with_names: as in lend-view.h. NULL: no memory, or there is none that the viewer may see. */
json_t *nm_pipelines_explain_lending(const struct nm_pipelines *all, const char *container,
                                     nm_pipelines_may_see_t may_see, void *userdata, bool with_names);
