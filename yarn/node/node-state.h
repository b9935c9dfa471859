/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the files of node/ share. They are layers, each using only those above it:
 *
 *   exit-code, rest, item    an end in YARN's terms, and what a NodeManager's pages say in JSON; what is known of
 *                            containers and applications
 *   notes, node-keep         what outlives nmd beside what the manager has
 *   node-recent              those that are gone
 *   node-refuse              what masters hear instead
 *   node-end                 how containers and applications end
 *   node-prepare             what a container needs before it runs
 *   node-again               what runs has more localized for it, or runs again
 *   node-start, node-change  what masters ask for
 *   node-report              what is said of containers
 *   node-rest                what there is to see of them
 *   node                     coming and going, and what the manager tells
 */

#include "agent/owners.h"
#include "agent/status.h"
#include "agent/upstream.h"
#include "yarn/node/container-table.h"
#include "yarn/node/app-store.h"

/* Masters ask about containers that have just been forgotten: they hear of an end from the ResourceManager, and stop
 * the container all the same. So long, and so many. */
#define NM_YARN_RECENT_USEC (600 * NM_USEC_PER_SEC)
#define NM_YARN_RECENT_MAX 2048u
#define NM_YARN_ENDED_APPS_MAX 512u
/* What ended without ever having been in the manager's hands waits here for the ResourceManager. */
#define NM_YARN_ITEMS_MAX 20000u
/* One message's share of what was said by containers. A ResourceManager takes 64 MiB at most, hears thousands of nodes,
 * and the event loop packs it; the rest follows a tenth of a second later. */
#define NM_YARN_RATION_BYTES (1u << 20)

struct nm_yarn_recent {
    uint64_t hash; /* of the container's text */
    uint64_t usec;
};

struct nm_yarn_node {
    struct nm_yarn_node_params p;
    struct nm_subscription *subscription;
    sd_event_source *sweep; /* comes when something is to be forgotten: not while the manager tells of it */
    struct nm_yarn_container_table items;
    struct nm_yarn_app_store notes;
    bool is_out, is_counted_on; /* nm_yarn_node_set_out(), nm_yarn_node_set_counted_on() */
    char host[256]; /* "": not known yet */
    int32_t port, web_port;
    struct nm_yarn_recent recent[NM_YARN_RECENT_MAX];
    size_t next_recent;
    struct nm_yarn_application_id ended[NM_YARN_ENDED_APPS_MAX];
    size_t next_ended;
};

/* For the manager: this part of nmd may do what it likes with its own. */
extern const struct nm_caller nm_yarn_admin;

/* ---- node-keep.c ---- */
/* As nm_yarn_container_table_add(); and that its application is here is noted. */
int nm_yarn_node_add(struct nm_yarn_node *n, struct nm_bytes blob, struct nm_yarn_container **ret);
/* The end of one that ended early. */
void nm_yarn_container_note_end(const struct nm_yarn_container *i);
/* The applications that an earlier nmd has noted. */
int nm_yarn_node_load_apps(struct nm_yarn_node *n);

/* ---- node-recent.c ---- */
void nm_yarn_recent_note(struct nm_yarn_node *n, const char *text, uint64_t now_usec);
bool nm_yarn_recent_has(const struct nm_yarn_node *n, const char *text, uint64_t now_usec);
void nm_yarn_recent_note_app(struct nm_yarn_node *n, const struct nm_yarn_application_id *id);
bool nm_yarn_recent_has_app(const struct nm_yarn_node *n, const struct nm_yarn_application_id *id);

/* ---- node-refuse.c ---- */
/* NM_YARN_REFUSED, with a YarnException. */
nm_printf(2, 3) int nm_yarn_refuse(struct nm_exception *why, const char *format, ...);
/* There is no such container here. */
int nm_yarn_refuse_unknown(const struct nm_yarn_node *n, const char *text, struct nm_exception *why);
/* One that wants to run in a way that this node doesn't have must not run in another one. NULL: it doesn't. */
#define NM_YARN_RUNTIME "YARN_CONTAINER_RUNTIME_TYPE"
const char *nm_yarn_wanted_runtime(const Yarn__LaunchContext *context);
int nm_yarn_refuse_runtime(const Yarn__LaunchContext *context, struct nm_exception *why);

/* ---- node-end.c ---- */
/* The manager's container; NULL: it never had it, or no longer. */
const struct nm_container *nm_yarn_container_core(const struct nm_yarn_container *i);
/* Unpacks the record that the manager has of it, which is the one with the newest token. -ESRCH: it has none. */
int nm_yarn_container_read_record(const struct nm_yarn_container *i, struct nm_yarn_held **ret);
/* It never ran, and is told as ended. */
void nm_yarn_container_end_early(struct nm_yarn_container *i, int32_t status, const char *why);
/* Likewise, as an earlier nmd has noted it. */
void nm_yarn_container_ended_early(struct nm_yarn_container *i, int32_t status, const char *why);
/* The manager says that it has ended. */
void nm_yarn_container_ended(struct nm_yarn_container *i, const struct nm_container *c);
/* Nobody has to hear of it any more. */
void nm_yarn_container_forget(struct nm_yarn_container *i);
/* What has ended of applications that are over: nobody asks for it any more. */
void nm_yarn_node_sweep(struct nm_yarn_node *n);
/* When it is over and nothing of it is left. */
void nm_yarn_app_settle(struct nm_yarn_node *n, struct nm_yarn_app *app);
/* One that lives; or else it is refused. */
int nm_yarn_find_live(struct nm_yarn_node *n, const Hadoop__ContainerId *id, struct nm_yarn_container **ret,
                      struct nm_exception *why);

/* ---- node-prepare.c ---- */
/* A task of this container's, without auxiliary services. */
struct nm_yarn_task nm_yarn_container_task(const struct nm_yarn_container *i, const Yarn__LaunchContext *context);
void nm_yarn_container_prepare(struct nm_yarn_container *i, bool is_running);

/* ---- node-report.c ---- */
/* c: its container, or NULL. */
bool nm_yarn_container_is_opportunistic(const struct nm_yarn_container *i, const struct nm_container *c);

/* ---- node-reinit.c ---- */
/* What it ran has ended, and it is NEW: what it runs next is made ready. */
void nm_yarn_container_begins_again(struct nm_yarn_container *i);
/* It has ended by itself: does it go back to what it was re-initialized from? */
void nm_yarn_container_ask_at_end(struct nm_yarn_container *i, const struct nm_container *c);
