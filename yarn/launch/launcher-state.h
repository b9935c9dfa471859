/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The private state that the files behind launcher.h share. launcher-dirs.c checks and chooses directories, prepare.c
 * prepares containers, launcher.c creates the launcher and queues files for removal, diagnostics.c reads the last
 * output of containers. */

#include <sys/queue.h>

#include "yarn/launch/caches.h"
#include "yarn/launch/dirs.h"
#include "yarn/launch/cleanup-queue.h"
#include "yarn/launch/launcher.h"
#include "yarn/launch/container-dirs.h"
#include "yarn/launch/strays.h"
#include "localize/pattern/pattern.h"
#include "util/fair-queue.h"

TAILQ_HEAD(nm_yarn_preparations, nm_yarn_preparation);

struct nm_yarn_launcher {
    struct nm_yarn_launcher_params params;
    struct nm_yarn_dirs local, log;
    struct nm_yarn_caches caches; /* the stores of resources in the local directories */
    char *localizer_program; /* a directory that is opened later needs it, too */
    json_t *worker_settings;
    char boot_id[64];
    struct nm_yarn_cleanup_queue *cleanup_queue;
    struct nm_yarn_strays *strays;
    struct nm_pattern *user_pattern;
    int64_t java_version;
    bool grants_access; /* auxiliary services in Java have the group aux_gid (aux-access.h) */
    gid_t aux_gid;
    unsigned n_preparations;
    struct nm_yarn_preparations retained; /* preparations of containers that an earlier nmd has started */
    size_t n_retaining;                   /* those with resources left to retain */
    bool may_remove;      /* nm_yarn_launcher_allow_removals() was called */
    bool awaits_removals; /* the caches may remove resources as soon as n_retaining is 0 */
    struct nm_yarn_launcher_figures counted; /* only the members that are counted since the start of nmd */
    struct nm_fair_queue turns; /* preparations with work to do; the queue alternates between submitters */
    sd_event_source *turns_source;
};

/* ---- launcher-dirs.c ---- */
/* Checks the directories if a check is due, and reports changes. */
void nm_yarn_launcher_check_dirs(struct nm_yarn_launcher *l);
/* Returns the open directory with that name. NULL: there is no such directory, or it can't be used. */
const struct nm_yarn_dir *nm_yarn_launcher_dir(const struct nm_yarn_dirs *dirs, const char *name);

/* ---- prepare.c ---- */
/* Works on the first preparation in the queue, and on further preparations until the turn of the event loop ends. A
 * turn handles several preparations because an application master may start hundreds of containers with one request. */
int nm_yarn_launcher_on_turns(sd_event_source *source, void *userdata);
/* Retains the resources of adopted containers in the caches that were opened since, and then allows removals there. */
void nm_yarn_launcher_retain_again(struct nm_yarn_launcher *l);
