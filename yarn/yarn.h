/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * This node in a YARN cluster. It registers with the ResourceManager, sends heartbeats, runs the containers that it
 * receives, and reconnects by itself after any failure. No function blocks. Without a ResourceManager the node keeps
 * its containers running and keeps trying.
 */

#include <sys/socket.h>

#include "agent/status.h"
#include "agent/upstream.h"
#include "yarn/conf/settings.h"

struct nm_yarn;

/* Logs an event: a syslog level and a sentence. */
typedef void (*nm_yarn_tell_t)(int level, const char *sentence);

struct nm_yarn_params {
    sd_event *event;
    struct nm_manager *manager;
    const struct nm_yarn_settings *settings;
    const char *localizer_program, *shuffle_program; /* paths of both programs */
    const char *state_dir, *runtime_dir;             /* nmd's own directories */
    nm_yarn_tell_t tell;
    const struct sockaddr_storage *http_address; /* address of nmd's own pages; NULL if nmd serves no pages */
};

/* Locks the local directories until the process ends. Call this before any other part is started. -EBUSY: another nmd
 * has locked a directory. *ret_message: as for nm_yarn_new(). */
int nm_yarn_lock(const struct nm_yarn_settings *settings, nm_yarn_tell_t tell, char **ret_message);
/* All objects that params point to must outlive *ret. On failure, *ret_message is a text that the caller frees, or
 * NULL. */
int nm_yarn_new(const struct nm_yarn_params *params, struct nm_yarn **ret, char **ret_message);
/* Registers the views for a node that belongs to no cluster. The views answer that the node has no upstream. Returns
 * 0. */
int nm_yarn_none(struct nm_manager *m);
/* Checks whether nm_yarn_new() would fail, without side effects. *ret_message has all reasons, one per line. Uses
 * `settings`, the programs, http_address and tell of params. may_be_ours: ports in use are accepted, because a running
 * nmd may use them. */
int nm_yarn_check(const struct nm_yarn_params *params, bool may_be_ours, char **ret_message);
struct nm_yarn *nm_yarn_free(struct nm_yarn *y);
NM_DEFINE_CLEANUP(struct nm_yarn *, nm_yarn_free)

/* Returns a listening socket at the address of the node's web pages. The caller serves and closes it. Only the first
 * call succeeds. Negative: the pages have no socket, or an earlier call has returned it. */
int nm_yarn_take_web(struct nm_yarn *y);

/* Unregisters the node before nmd exits, if the node won't be back soon. The node's containers are then ended, because
 * the cluster counts them as lost. True: done() will be called, after two seconds at the latest. False: no wait is
 * necessary. */
bool nm_yarn_leave(struct nm_yarn *y, void (*done)(void *userdata), void *userdata);
