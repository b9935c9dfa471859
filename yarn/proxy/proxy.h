/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The proxy for application masters (AMRMProxy). On its own port, it implements the ResourceManager's protocol for the
 * masters that were started on this node, and calls the ResourceManager on their behalf. Stages process the calls
 * (stage.h).
 */

#include "yarn/containers.pb-c.h"
#include "yarn/proxy/pipeline.h"

#define NM_YARN_PROXY_ADDRESS "yarn.nodemanager.amrmproxy.address"

struct nm_yarn_proxy;

struct nm_yarn_proxy_params {
    sd_event *event;
    const struct nm_yarn_settings *settings;
    const struct nm_yarn_cluster_keys *keys;
    const char *state_dir, *runtime_dir; /* nmd's own directories */
    void (*report_cb)(int level, const char *sentence);
};

/* Returns whether the proxy must run: the configuration enables it, or masters from before still need it. A master has
 * a token of the proxy, with which it can't call the ResourceManager itself. */
bool nm_yarn_proxy_is_needed(const struct nm_yarn_settings *s, const char *runtime_dir);

/* All objects that params point to must outlive the proxy. *ret_message: the reason for a failure, or NULL. */
int nm_yarn_proxy_new(const struct nm_yarn_proxy_params *p, struct nm_yarn_proxy **ret, char **ret_message);
/* Checks whether nm_yarn_proxy_new() would fail. may_be_ours: as in nm_yarn_port_check(). */
int nm_yarn_proxy_check(const struct nm_yarn_settings *s, bool may_be_ours, char **ret_message);
struct nm_yarn_proxy *nm_yarn_proxy_free(struct nm_yarn_proxy *p);
NM_DEFINE_CLEANUP(struct nm_yarn_proxy *, nm_yarn_proxy_free)

/* Sets the id of the ResourceManager on whose behalf the proxy signs tokens (0 while the node is registering), and the
 * ResourceManager's limit of the nodes' queues (-1: no limit, as in a new proxy). */
void nm_yarn_proxy_set_rm(struct nm_yarn_proxy *p, int64_t rm_identifier, int32_t queue_max_length);

/* Prepares the start of a master. *ret is the master's launch context, in the arena. In it, a token of the proxy
 * replaces the ResourceManager's token. Returns 0, a positive outcome with *why, or -errno. */
int nm_yarn_proxy_begin(struct nm_yarn_proxy *p, const Hadoop__ContainerTokenIdentifier *token,
                        const Yarn__LaunchContext *context, struct nm_arena *a, const Yarn__LaunchContext **ret,
                        struct nm_exception *why);
/* Reverts nm_yarn_proxy_begin() after a failed start. */
void nm_yarn_proxy_abandon(struct nm_yarn_proxy *p, const Hadoop__ContainerTokenIdentifier *token);
void nm_yarn_proxy_end_application(struct nm_yarn_proxy *p, const struct nm_yarn_application_id *id);
/* Drops the saved state of applications that the node doesn't have. Must be called after a start of nmd. */
void nm_yarn_proxy_end_strays(struct nm_yarn_proxy *p, nm_pipelines_lives_t lives, void *userdata);

/* Returns the figures (proxy-stats.h). */
void nm_yarn_proxy_show(const struct nm_yarn_proxy *p, struct nm_yarn_master_stats *ret);
/* Returns the figures, and the pipelines whose masters the viewer may see, as an object for the status. NULL: no
 * memory. */
json_t *nm_yarn_proxy_to_json(const struct nm_yarn_proxy *p, nm_pipelines_may_see_t may_see, void *userdata,
                              bool with_users);
void nm_yarn_proxy_write_metrics(const struct nm_yarn_proxy *p, const struct nm_metric_writer *w);
/* Returns an array of the pipelines whose masters may_see() accepts. NULL: no memory. */
json_t *nm_yarn_proxy_show_pipelines(const struct nm_yarn_proxy *p, nm_pipelines_may_see_t may_see, void *userdata,
                                     bool with_users);
/* Returns the reason for the container's placement. NULL: there is no memory, or the log has no placement of this
 * container that may_see() accepts. */
json_t *nm_yarn_proxy_show_placement(const struct nm_yarn_proxy *p, const char *container,
                                     nm_pipelines_may_see_t may_see, void *userdata);
/* Returns what is lent as this container, or, for a master's container, to its application. NULL: as above. */
json_t *nm_yarn_proxy_show_lending(const struct nm_yarn_proxy *p, const char *container, nm_pipelines_may_see_t may_see,
                                   void *userdata, bool with_users);
