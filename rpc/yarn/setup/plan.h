/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What has to be done for this host to be a node of the cluster: pure, from the cluster's settings and what there is. A
 * step is planned also where all is as it should be, so that a person sees what holds; what isn't ours is left, and
 * said.
 */

#include "rpc/yarn/setup/facts.h"

enum nm_setup_act {
    NM_SETUP_KEEP,   /* it is as it should be */
    NM_SETUP_MAKE,   /* it isn't there */
    NM_SETUP_CHANGE, /* a file that we wrote gets another text; a directory, owner and mode */
    NM_SETUP_LEAVE,  /* it should be otherwise, but isn't ours */
};

struct nm_setup_step {
    enum nm_setup_act act;
    bool is_dir;
    const char *path;
    const char *text; /* of a file, whole; mode 0644 */
    uid_t uid;        /* of a directory, as it is to be; so are the next two */
    gid_t gid;
    mode_t mode;
    uid_t old_uid; /* of one that is changed */
    gid_t old_gid;
    mode_t old_mode;
    const char *why; /* it is left; or NULL */
};

/* What is an administrator's to decide: a sentence or two. */
enum nm_setup_subject {
    NM_SETUP_LACK,     /* something is missing, or as few want it */
    NM_SETUP_NETWORK,  /* the cluster's other nodes */
    NM_SETUP_REMINDER, /* it holds where nothing is wrong as well; or a check says it already (launch/doubts.h) */
};

struct nm_setup_advice {
    enum nm_setup_subject subject;
    const char *text;
};

struct nm_setup_plan {
    struct nm_setup_step *steps; /* in the order in which they are done: directories before what comes into them */
    size_t n_steps;
    size_t n_changes; /* steps that do something */
    size_t n_left;    /* steps that would have to, but don't */
    struct nm_setup_advice *advice;
    size_t n_advice;
};

int nm_setup_plan_make(const struct nm_setup_wish *w, const struct nm_yarn_settings *s, const struct nm_setup_facts *f,
                       struct nm_arena *a, struct nm_setup_plan *ret);

/* What is in the manifest while the plan is carried out, and, `done`, afterwards. */
int nm_setup_plan_note(const struct nm_setup_wish *w, const struct nm_setup_manifest *before,
                       const struct nm_setup_plan *p, bool done, struct nm_arena *a, struct nm_setup_manifest *ret);

/* The texts of the two files (texts.c). NULL: no memory. */
const char *nm_setup_unit_text(const struct nm_setup_wish *w, const struct nm_yarn_settings *s,
                               const struct nm_setup_facts *f, struct nm_arena *a);
const char *nm_setup_config_text(const struct nm_setup_wish *w, struct nm_arena *a);

/* Sentences for an administrator (advice.c), but those about steps. */
int nm_setup_advise(const struct nm_setup_wish *w, const struct nm_yarn_settings *s, const struct nm_setup_facts *f,
                    struct nm_arena *a, struct nm_setup_advice **ret, size_t *ret_n);

/* Can it stand in a unit's file and in nmd.conf as it is? */
bool nm_setup_is_plain(const char *path);
