/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The cluster's containers on this node, and their applications: what YARN knows of them beside what the manager does.
 * Requests come from application masters (manage.h, which has looked at their tokens) and from the ResourceManager's
 * answers (yarn.c); both mean the same things here. What becomes of containers is heard from the manager, translated
 * and told to the ResourceManager, until it has acknowledged it.
 *
 * A container is an nm_container of owner NM_YARN_OWNER: its id is YARN's text, its blob a Record of containers.proto.
 * Functions that can refuse give 0, NM_YARN_REFUSED with *why as the other side is to see it, or -errno.
 */

#include <jansson.h>
#include <systemd/sd-event.h>

#include "agent/owners.h"
#include "agent/upstream.h"
#include "rpc/hadoop/arena.h"
#include "rpc/hadoop/security.pb-c.h"
#include "yarn/conf/settings.h"
#include "yarn/containers.pb-c.h"
#include "yarn/exceptions.h"
#include "yarn/ids.h"
#include "yarn/tracker.pb-c.h"

#define NM_YARN_OWNER "yarn"
#define NM_YARN_REFUSED 1

/* ContainerExitStatus of YARN's. */
enum nm_yarn_exit {
    NM_YARN_INVALID = -1000, /* it hasn't ended; or it couldn't be localized */
    NM_YARN_ABORTED = -100,
    NM_YARN_DISKS_FAILED = -101,
    NM_YARN_PREEMPTED = -102,
    NM_YARN_OVER_VIRTUAL_MEMORY = -103,
    NM_YARN_OVER_MEMORY = -104,
    NM_YARN_KILLED_BY_MASTER = -105,
    NM_YARN_KILLED_BY_RM = -106,
    NM_YARN_KILLED_AFTER_APP = -107,
    NM_YARN_KILLED_BY_NODE = -108, /* KILLED_BY_CONTAINER_SCHEDULER */
};

struct nm_yarn_node;
struct nm_yarn_launcher; /* launch/launcher.h */
struct nm_yarn_shuffle;  /* launch/shuffle-service.h */

struct nm_yarn_node_params {
    sd_event *event;
    struct nm_manager *manager;
    const struct nm_yarn_settings *settings;
    struct nm_yarn_launcher *launcher;
    struct nm_yarn_shuffle *shuffle; /* NULL: this cluster has none */
    const char *state_dir;           /* nmd's */
    /* There is something that the ResourceManager should hear now: a container has ended. */
    void (*news)(void *userdata);
    /* An opportunistic start is refused for want of room: the ResourceManager should place the next ones elsewhere.
     * Returns whether it has known that for a while and has sent this one all the same. */
    bool (*no_room)(void *userdata);
    /* An application has ended here: what was remembered for it (keys) isn't needed any more. */
    void (*application_ended)(const struct nm_yarn_application_id *id, void *userdata);
    void *userdata;
    /* Gets a sentence for the log when the node refuses to start a container, since no list or event of nmd's has that
     * container. May be NULL. */
    void (*tell)(int level, const char *sentence);
};

/* Takes over what an earlier nmd has left of this owner's; everything that it points to must outlive it. */
int nm_yarn_node_new(const struct nm_yarn_node_params *params, struct nm_yarn_node **ret);
struct nm_yarn_node *nm_yarn_node_free(struct nm_yarn_node *n);
NM_DEFINE_CLEANUP(struct nm_yarn_node *, nm_yarn_node_free)

/* Does the ResourceManager know that the node is unhealthy, and sends it no containers any more? */
void nm_yarn_node_set_out(struct nm_yarn_node *n, bool is_out);
/* Does it count on more room than a draining node offers, having a size of its own for it? */
void nm_yarn_node_set_counted_on(struct nm_yarn_node *n, bool is_counted_on);

/* How containers are told where they are: the node's name, its port and that of its web pages. Before the first
 * start. */
void nm_yarn_node_set_address(struct nm_yarn_node *n, const char *host, int32_t port, int32_t web_port);

/* ---- requests ------------------------------------------------------------------------------------------------- */

/* Tokens have been verified: they are this cluster's, for this node, and haven't expired. Ids of messages that reach
 * here have all their parts. */
int nm_yarn_node_start(struct nm_yarn_node *n, struct nm_bytes identifier,
                       const Hadoop__ContainerTokenIdentifier *token, const Yarn__LaunchContext *context,
                       struct nm_exception *why);
/* A new size or type, whichever the token has; only one that is newer. */
int nm_yarn_node_update(struct nm_yarn_node *n, struct nm_bytes identifier,
                        const Hadoop__ContainerTokenIdentifier *token, struct nm_exception *why);
/* code and message: what it ends with. One that is known to have ended already is no error. */
int nm_yarn_node_stop(struct nm_yarn_node *n, const Hadoop__ContainerId *id, enum nm_yarn_exit code,
                      const char *message, struct nm_exception *why);
/* A SignalContainerCommand, as Hadoop has it: whoever can't hear it is passed over, and that is no error. */
int nm_yarn_node_signal(struct nm_yarn_node *n, const Hadoop__ContainerId *id, int32_t command,
                        struct nm_exception *why);
int nm_yarn_node_status(struct nm_yarn_node *n, const Hadoop__ContainerId *id, struct nm_arena *arena,
                        Yarn__ContainerStatus **ret, struct nm_exception *why);
/* What YARN's services ask for: more resources, another command, the former one again. */
int nm_yarn_node_localize(struct nm_yarn_node *n, const Yarn__LocalizeRequest *r, struct nm_exception *why);
int nm_yarn_node_localization(struct nm_yarn_node *n, const Hadoop__ContainerId *id, struct nm_arena *arena,
                              Yarn__ContainerLocalization **ret, struct nm_exception *why);
int nm_yarn_node_restart(struct nm_yarn_node *n, const Hadoop__ContainerId *id, struct nm_exception *why);
int nm_yarn_node_reinitialize(struct nm_yarn_node *n, const Yarn__ReinitializeRequest *r, struct nm_exception *why);
int nm_yarn_node_roll_back(struct nm_yarn_node *n, const Hadoop__ContainerId *id, struct nm_exception *why);
int nm_yarn_node_commit(struct nm_yarn_node *n, const Hadoop__ContainerId *id, struct nm_exception *why);

/* What each auxiliary service tells those who start containers. */
int nm_yarn_node_services(struct nm_yarn_node *n, struct nm_arena *arena, Yarn__Data ***ret, size_t *ret_n);

/* ---- what there is to see ------------------------------------------------------------------------------------- */

/* Who looks: at all that there is, or else at the containers of which may_see() says so; with_users: also whose they
 * are and what they have said. */
struct nm_yarn_look {
    bool all, with_users;
    bool (*may_see)(void *userdata, const char *container);
    void *userdata;
};
/* As a NodeManager's web services say it (rest.h), new references; NULL: no memory. A list has so many at most, those
 * that live before those that have ended, and says if there are more. state, user: only those, or NULL: any. */
#define NM_YARN_LIST_MAX 500u
json_t *nm_yarn_node_show_containers(struct nm_yarn_node *n, const struct nm_yarn_look *look);
json_t *nm_yarn_node_show_applications(struct nm_yarn_node *n, const struct nm_yarn_look *look, const char *state,
                                       const char *user);
/* Those of an id. False: there is none that may be seen. */
bool nm_yarn_node_show_container(struct nm_yarn_node *n, const struct nm_yarn_look *look, const char *id, json_t **ret);
bool nm_yarn_node_show_application(struct nm_yarn_node *n, const struct nm_yarn_look *look,
                                   const struct nm_yarn_application_id *id, json_t **ret);

/* ---- with the ResourceManager --------------------------------------------------------------------------------- */

/* Has it something of this application: containers, or what was kept for some? */
bool nm_yarn_node_has_application(const struct nm_yarn_node *n, const struct nm_yarn_application_id *id);
/* It is over here: its containers are ended, and when they are gone all that was kept for it. Any number of times. */
void nm_yarn_node_end_application(struct nm_yarn_node *n, const Hadoop__ApplicationId *id);
/* The ResourceManager has passed on how it ended, or doesn't know it. */
void nm_yarn_node_acknowledge(struct nm_yarn_node *n, const Hadoop__ContainerId *id);
/* All containers, into a heartbeat's status. The ends that don't fit into one message come with the next. */
int nm_yarn_node_report(struct nm_yarn_node *n, struct nm_arena *arena, Yarn__NodeStatus *status);
/* That heartbeat was answered, and not as one that had been heard before. If it didn't have all, there are news. */
void nm_yarn_node_reported(struct nm_yarn_node *n);
/* Has every container of the cluster ended, and been told of in a heartbeat that was answered? */
bool nm_yarn_node_is_empty(const struct nm_yarn_node *n);
/* What the ResourceManager has allocated to guaranteed containers that haven't ended; not to those that are being
 * ended, since for it they are gone. */
uint64_t nm_yarn_node_promised_mib(const struct nm_yarn_node *n);
/* All containers and applications, into a registration. */
int nm_yarn_node_report_all(struct nm_yarn_node *n, struct nm_arena *arena, Yarn__RegisterRequest *request);
/* It wants nothing of what runs here any more: without recovery all of it ends. */
void nm_yarn_node_end_all(struct nm_yarn_node *n, enum nm_yarn_exit code, const char *message);
