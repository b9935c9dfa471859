/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * This node in a YARN cluster: it registers with the ResourceManager, sends its heartbeats, runs the containers that it
 * is given, and comes back by itself after whatever may befall either of them. Nothing of it waits; without a
 * ResourceManager the node goes on with what it has, and keeps trying.
 */

#include <sys/socket.h>

#include "agent/status.h"
#include "agent/upstream.h"
#include "yarn/conf/settings.h"

struct nm_yarn;

/* Something that happened, for the log: a syslog level and a sentence. */
typedef void (*nm_yarn_tell_t)(int level, const char *sentence);

struct nm_yarn_params {
    sd_event *event;
    struct nm_manager *manager;
    const struct nm_yarn_settings *settings;
    const char *localizer_program, *shuffle_program; /* their paths */
    const char *state_dir, *runtime_dir;             /* nmd's */
    nm_yarn_tell_t tell;
    const struct sockaddr_storage *http_address; /* where nmd serves its own pages already; NULL: nowhere */
};

/* Locks the local directories until the process ends: comes before anything else that starts. -EBUSY: another nmd has
 * one. *ret_message as below. */
int nm_yarn_lock(const struct nm_yarn_settings *settings, nm_yarn_tell_t tell, char **ret_message);
/* What params point to must outlive it. On failure *ret_message, the caller's to free, or NULL. */
int nm_yarn_new(const struct nm_yarn_params *params, struct nm_yarn **ret, char **ret_message);
/* Would it be refused? All sentences then, a line each, and nothing is made. Uses `settings`, the
 * programs, http_address and tell of params; may_be_ours: a port that is taken may be so by an nmd that runs. */
int nm_yarn_check(const struct nm_yarn_params *params, bool may_be_ours, char **ret_message);
struct nm_yarn *nm_yarn_free(struct nm_yarn *y);
NM_DEFINE_CLEANUP(struct nm_yarn *, nm_yarn_free)

/* A socket that listens where the cluster has the node's web pages, for the caller to serve and close; once. Negative:
 * there is none. */
int nm_yarn_take_web(struct nm_yarn *y);

/* nmd is about to leave: signs off, if the cluster is to know that it won't be back soon; the cluster's containers end
 * then, for it counts them as lost. True: done() will be called,
 * in two seconds at the latest. False: there is nothing to wait for. */
bool nm_yarn_leave(struct nm_yarn *y, void (*done)(void *userdata), void *userdata);
