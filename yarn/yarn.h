/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * This node in a YARN cluster. It registers with the ResourceManager, sends heartbeats, runs the containers that it
 * receives, and reconnects automatically after any failure. No function blocks. If the ResourceManager is unreachable,
 * the node keeps its containers running and tries again.
 */

#include <sys/socket.h>

#include "agent/status.h"
#include "agent/upstream.h"
#include "yarn/conf/settings.h"

struct nm_yarn;

/* Logs an event: a syslog level and a sentence. */
typedef void (*nm_yarn_report_t)(int level, const char *sentence);

struct nm_yarn_params {
    sd_event *event;
    struct nm_manager *manager;
    const struct nm_yarn_settings *settings;
    /* paths of nm-localizer, nm-log-uploader, ... */
    const char *localizer_program, *uploader_program, *shuffle_program, *spark_program, *shim_program;
    const char *state_dir, *runtime_dir;                            /* nmd's own directories */
    nm_yarn_report_t report_cb;
    const struct sockaddr_storage *http_address; /* address of nmd's own HTTP server; NULL if nmd has no HTTP server */
};

/* Locks the local directories until the process exits. Must be called before any other part of nmd starts. -EBUSY:
 * another nmd has locked a directory. *ret_message: as for nm_yarn_new(). */
int nm_yarn_lock(const struct nm_yarn_settings *settings, const char *state_dir, nm_yarn_report_t report_cb,
                 char **ret_message);
/* All objects that params point to must outlive *ret. After a failure, *ret_message is a text that the caller frees, or
 * NULL. */
int nm_yarn_new(const struct nm_yarn_params *params, struct nm_yarn **ret, char **ret_message);
/* Registers the views of a node that belongs to no cluster. Each view answers that the node has no upstream. Returns
 * 0. */
int nm_yarn_none(struct nm_manager *m);
/* Checks whether nm_yarn_new() would fail, without side effects. *ret_message has all reasons, one per line. Uses only
 * these members of params: `settings`, the programs, http_address and report_cb. may_be_ours: ports in use are
 * accepted, because a running nmd may use them. */
int nm_yarn_check(const struct nm_yarn_params *params, bool may_be_ours, char **ret_message);
struct nm_yarn *nm_yarn_free(struct nm_yarn *y);
NM_DEFINE_CLEANUP(struct nm_yarn *, nm_yarn_free)

/* Returns a listening socket at the address of the node's web pages. The caller serves the pages on it, and closes it.
 * Only the first call succeeds. Negative: the port could not be opened, or an earlier call has returned the socket. */
int nm_yarn_take_web(struct nm_yarn *y);

/* Unregisters the node before nmd exits, if nmd will not be restarted soon. Ends the node's containers, because the
 * cluster counts them as lost. True: done() will be called when the containers have ended, at most two seconds after
 * the time between SIGTERM and SIGKILL, of which at most a minute counts. False: the caller need not wait. */
bool nm_yarn_unregister(struct nm_yarn *y, void (*done)(void *userdata), void *userdata);
