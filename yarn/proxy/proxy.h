/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The proxy of application masters (AMRMProxy): on a port of its own it is the ResourceManager to the masters that were
 * started on this node, and to the ResourceManager it is they. What happens to their calls is in stages (stage.h).
 */

#include "yarn/containers.pb-c.h"
#include "yarn/proxy/pipeline.h"

#define NM_YARN_PROXY_ADDRESS "yarn.nodemanager.amrmproxy.address"

struct nm_yarn_proxy;

struct nm_yarn_proxy_params {
    sd_event *event;
    const struct nm_yarn_settings *settings;
    const struct nm_yarn_state *state; /* has the cluster's keys */
    const char *state_dir, *runtime_dir; /* nmd's */
    void (*tell)(int level, const char *sentence);
};

/* What params point to must outlive it. *ret_message: why not, or NULL. */
int nm_yarn_proxy_new(const struct nm_yarn_proxy_params *p, struct nm_yarn_proxy **ret, char **ret_message);
/* Would it be refused? may_be_ours: as nm_yarn_port_check(). */
int nm_yarn_proxy_check(const struct nm_yarn_settings *s, bool may_be_ours, char **ret_message);
struct nm_yarn_proxy *nm_yarn_proxy_free(struct nm_yarn_proxy *p);
NM_DEFINE_CLEANUP(struct nm_yarn_proxy *, nm_yarn_proxy_free)

/* A master is about to be started: *ret is its launch context with a token of the proxy's in the place of the
 * ResourceManager's, in the arena. 0, a positive outcome with *why, or -errno. */
int nm_yarn_proxy_begin(struct nm_yarn_proxy *p, const Hadoop__ContainerTokenIdentifier *token,
                        const Yarn__LaunchContext *context, struct nm_arena *a, const Yarn__LaunchContext **ret,
                        struct nm_exception *why);
/* It couldn't be started. */
void nm_yarn_proxy_abandon(struct nm_yarn_proxy *p, const Hadoop__ContainerTokenIdentifier *token);
void nm_yarn_proxy_end_application(struct nm_yarn_proxy *p, const struct nm_yarn_application_id *id);
/* After a start: what was kept of applications that the node doesn't have is dropped. */
void nm_yarn_proxy_end_strays(struct nm_yarn_proxy *p, nm_pipelines_lives_t lives, void *userdata);

/* What there is to see (proxy-stats.h): figures; pipelines of the masters that may be seen, an array, or NULL: no
 * memory; and why a container is where it is: NULL: there is nothing that may be seen. */
void nm_yarn_proxy_show(const struct nm_yarn_proxy *p, struct nm_masters *ret);
json_t *nm_yarn_proxy_show_pipelines(const struct nm_yarn_proxy *p, nm_pipelines_may_see_t may_see, void *userdata,
                                     bool with_users);
json_t *nm_yarn_proxy_show_placement(const struct nm_yarn_proxy *p, const char *container,
                                     nm_pipelines_may_see_t may_see, void *userdata);
