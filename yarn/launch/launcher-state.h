/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the files behind launcher.h share. launcher.c makes it, prepare.c makes containers ready, cleanup.c clears
 * up. */

#include "yarn/launch/caches.h"
#include "yarn/launch/dirs.h"
#include "yarn/launch/cleanup-queue.h"
#include "yarn/launch/launcher.h"
#include "yarn/launch/container-dirs.h"
#include "localize/pattern/pattern.h"
#include "util/fair-queue.h"

struct nm_yarn_launcher {
    struct nm_yarn_launcher_params params;
    struct nm_yarn_dirs local, log;
    struct nm_yarn_caches caches; /* in the local ones */
    json_t *worker_settings;
    char boot_id[64];
    struct nm_yarn_cleanup_queue *ended;
    struct nm_pattern *user_pattern;
    int64_t java_version;
    unsigned n_preparations;
    struct nm_fair_queue turns; /* the preparations that have something to do: submitters take turns */
    sd_event_source *turns_source;
};

/* A turn of the event loop for the first of them, and for those that follow, as long as it lasts: an application master
 * may start hundreds of containers with one request. */
int nm_yarn_launcher_on_turns(sd_event_source *source, uint64_t usec, void *userdata);

/* Checks the directories if a check is due, and reports changes. The second function doesn't wait until one is due. */
void nm_yarn_launcher_look(struct nm_yarn_launcher *l);
void nm_yarn_launcher_look_again(struct nm_yarn_launcher *l);
/* The open directory of that name; NULL: there is none, or it can't be used. */
const struct nm_yarn_dir *nm_yarn_launcher_dir(const struct nm_yarn_dirs *dirs, const char *name);
