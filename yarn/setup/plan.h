/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The steps that make this host a node of the cluster, decided from the cluster's settings and the facts; pure. Things
 * that are right already have a step too, so that the output shows them. Files and directories that nmd hasn't made are
 * left unchanged, and reported.
 */

#include "yarn/setup/facts.h"
#include "yarn/setup/unit.h"

enum nm_setup_act {
    NM_SETUP_KEEP,   /* the file or directory is as it should be */
    NM_SETUP_MAKE,   /* create the file or directory */
    NM_SETUP_CHANGE, /* replace the text of a file from a setup; set owner and mode of a directory */
    NM_SETUP_LEAVE,  /* leave a wrong file or directory unchanged, since a setup hasn't made it */
};

struct nm_setup_step {
    enum nm_setup_act act;
    bool is_dir;
    const char *path;
    const char *text; /* of a file: the whole text; the file's mode is 0644 */
    uid_t uid;        /* of a directory: the owner to set; gid and mode likewise */
    gid_t gid;
    mode_t mode;
    uid_t old_uid; /* of a changed directory: the owner before the change; old_gid and old_mode likewise */
    gid_t old_gid;
    mode_t old_mode;
    const char *why;  /* why a step is NM_SETUP_LEAVE; NULL for other steps */
    const char *weak; /* the directories above the path that are the reason, as part of a sentence; may be NULL */
};

/* Advice on decisions that the administrator makes: a sentence or two. */
enum nm_setup_subject {
    NM_SETUP_LACK,     /* a missing thing, or an unusual value */
    NM_SETUP_NETWORK,  /* the addresses of the cluster's other nodes */
    NM_SETUP_JAVA,    /* about JAVA_HOME, if no drop-in sets it */
    NM_SETUP_HADOOP,  /* about HADOOP_HOME, if no drop-in sets it */
    /* Printed even without a problem. --check-config doesn't print reminders, because it warns of such problems
     * itself (launch/doubts.h). */
    NM_SETUP_REMINDER,
};

struct nm_setup_advice {
    enum nm_setup_subject subject;
    const char *text;
};

struct nm_setup_plan {
    struct nm_setup_step *steps; /* in the order of execution: a directory before its contents */
    size_t n_steps;
    size_t n_changes; /* steps that change something */
    size_t n_left;    /* steps that are NM_SETUP_LEAVE */
    struct nm_setup_advice *advice;
    size_t n_advice;
};

int nm_setup_plan_make(const struct nm_setup_wish *w, const struct nm_yarn_settings *s, const struct nm_setup_facts *f,
                       struct nm_arena *a, struct nm_setup_plan *ret);

/* Makes the manifest to be saved before the plan is carried out, or with `done` the manifest to be saved afterwards. */
int nm_setup_plan_note(const struct nm_setup_wish *w, const struct nm_setup_manifest *before,
                       const struct nm_setup_plan *p, bool done, struct nm_arena *a, struct nm_setup_manifest *ret);

/* Return the texts of the two files (texts.c). NULL: no memory. */
const char *nm_setup_unit_text(const struct nm_setup_wish *w, const struct nm_yarn_settings *s,
                               const struct nm_setup_facts *f, struct nm_arena *a);
const char *nm_setup_config_text(const struct nm_setup_wish *w, struct nm_arena *a);

/* Returns the value that the unit should set for the variable. NULL: the variable is not needed, or no value was
 * found. */
const char *nm_setup_value_of(enum nm_setup_variable v, const struct nm_setup_wish *w,
                              const struct nm_yarn_settings *s, const struct nm_setup_facts *f);

/* Makes the advice (advice.c). Reasons of steps are not part of it. */
int nm_setup_advise(const struct nm_setup_wish *w, const struct nm_yarn_settings *s, const struct nm_setup_facts *f,
                    struct nm_arena *a, struct nm_setup_advice **ret, size_t *ret_n);

/* Returns whether the path can be written to a unit file and to nmd.conf without quoting, and leads down from the root
 * directory only. */
bool nm_setup_is_plain(const char *path);

/* ---- carrying out: act.c ------------------------------------------------------------------ */

/* Carries out a plan. The manifest is on the disk before the first change that undo has to revert. */

/* Continues after a step that fails: *ret_message has a sentence for each failure, and the first failure is
 * returned. */
int nm_setup_act(const struct nm_setup_wish *w, const struct nm_setup_facts *f, const struct nm_setup_plan *p,
                 struct nm_arena *a, char **ret_message);
/* Returns the failures that read-only files or directories would cause, without changing anything. */
int nm_setup_act_check(const struct nm_setup_wish *w, const struct nm_setup_plan *p, char **ret_message);
