/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The auxiliary services that are written in Java. They run together in one process (aux-host/README), which is started
 * again whenever it ends. Each new process gets all applications and containers that it must know.
 *
 * While no process runs, containers still start: they get the metadata that the services had last, and the services get
 * the containers' data as soon as they are back. Only before a service was running for the first time since nmd's
 * start, a container with data for it is refused.
 */

#include <jansson.h>
#include <systemd/sd-event.h>

#include "agent/upstream.h"
#include "rpc/hadoop/bytes.h"
#include "yarn/conf/settings.h"

struct nm_yarn_aux_host;

#define NM_YARN_AUX_METADATA_MAX (8u << 10) /* bytes of a service's metadata */

struct nm_yarn_aux_host_params {
    sd_event *event;
    struct nm_manager *manager; /* moves the process to its own cgroup; must outlive the host; NULL: no cgroups */
    const struct nm_yarn_settings *settings;
    const char *state_dir; /* nmd's state directory, which contains the files of the applications */
    void (*report_cb)(int level, const char *sentence);
    /* Records an event of the node, and logs it. */
    void (*on_event)(int level, const char *sentence, void *userdata);
    void *userdata;
};

/* Returns whether any auxiliary service runs in Java. */
bool nm_yarn_aux_host_is_wanted(const struct nm_yarn_settings *s);
/* Checks for the account, Java and the jars without starting the process. */
int nm_yarn_aux_host_check(const struct nm_yarn_settings *s, char **ret_message);

/* Starts the process without waiting for it. *ret_message: the reason for a failure, or NULL. */
int nm_yarn_aux_host_new(const struct nm_yarn_aux_host_params *params, struct nm_yarn_aux_host **ret,
                         char **ret_message);
/* Waits until the services are running. If that takes too long, the node continues without them until they are. Fails
 * with the services' own words if they can't be started. Must not be called from the event loop. */
int nm_yarn_aux_host_wait(struct nm_yarn_aux_host *h, char **ret_message);
struct nm_yarn_aux_host *nm_yarn_aux_host_free(struct nm_yarn_aux_host *h);
NM_DEFINE_CLEANUP(struct nm_yarn_aux_host *, nm_yarn_aux_host_free)

/* Returns whether a service runs in Java. *ret_was_running: it has been running since nmd's start. */
bool nm_yarn_aux_host_has(const struct nm_yarn_aux_host *h, const char *service, bool *ret_was_running);

/* Returns the number of services. nm_yarn_aux_host_metadata() returns the name of the i-th service, and false if the
 * service has no metadata. */
size_t nm_yarn_aux_host_count(const struct nm_yarn_aux_host *h);
bool nm_yarn_aux_host_metadata(const struct nm_yarn_aux_host *h, size_t i, const char **ret_name, struct nm_bytes *ret);

/* A container, as the services see it. */
struct nm_yarn_aux_container {
    const char *container, *application, *submitter;
    int64_t memory_mib;
    int32_t vcores;
    bool is_master;
};

/* Informs the services about a new container, or about one that an earlier nmd has started. */
void nm_yarn_aux_host_begin_container(struct nm_yarn_aux_host *h, const struct nm_yarn_aux_container *c);
/* Passes the container's data for a service on. The container must have begun. */
void nm_yarn_aux_host_add_data(struct nm_yarn_aux_host *h, const char *application, const char *submitter,
                               const char *service, struct nm_bytes data);
/* Informs the services about the end of a container or an application. Unknown ones are ignored. */
void nm_yarn_aux_host_end_container(struct nm_yarn_aux_host *h, const char *container);
void nm_yarn_aux_host_end_application(struct nm_yarn_aux_host *h, const char *application);
/* Ends the applications that have ended while no nmd was running. is_here: returns whether one is on this node. */
void nm_yarn_aux_host_end_strays(struct nm_yarn_aux_host *h, bool (*is_here)(void *userdata, const char *application),
                                 void *userdata);

struct nm_yarn_aux_host_figures {
    bool is_running;
    uint64_t applications, restarts, memory_bytes; /* memory_bytes: resident memory of the process, or 0 */
};
void nm_yarn_aux_host_get_figures(const struct nm_yarn_aux_host *h, struct nm_yarn_aux_host_figures *ret);
/* Returns a new reference to an object for `nmctl status`. NULL: no memory. */
json_t *nm_yarn_aux_host_to_json(const struct nm_yarn_aux_host *h);
