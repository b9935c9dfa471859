/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The steps that make this host a node of the cluster. The plan is made from the cluster's settings and the facts. The
 * code is pure. A file or directory that is already correct also has a step, so that the output shows it. Files and
 * directories that no setup has made are left unchanged, and reported.
 */

#include "yarn/setup/facts.h"
#include "yarn/setup/unit.h"

enum nm_setup_act {
    NM_SETUP_KEEP,   /* the file or directory is already correct */
    NM_SETUP_MAKE,   /* create the file or directory */
    NM_SETUP_CHANGE, /* replace the text of a file that a setup has written; set owner and mode of a directory */
    NM_SETUP_LEAVE,  /* the file or directory is wrong, but is left unchanged, because no setup has made it */
};

struct nm_setup_step {
    enum nm_setup_act act;
    bool is_dir;
    const char *path;
    const char *text; /* for a file: the complete text; the mode of the file is 0644 */
    uid_t uid;        /* for a directory: the owner to set; gid and mode: the group and mode to set */
    gid_t gid;
    mode_t mode;
    uid_t old_uid; /* for a changed directory: the owner before the change; old_gid and old_mode: its group and mode */
    gid_t old_gid;
    mode_t old_mode;
    const char *why;  /* reason for NM_SETUP_LEAVE; NULL for other actions */
    const char *weak; /* the directories above the path that are the reason, as a part of a sentence; may be NULL */
};

/* Advice on decisions that the administrator makes. Each piece of advice is one or two sentences. */
enum nm_setup_subject {
    NM_SETUP_PROBLEM, /* a missing file, host or variable, or an unusual value */
    NM_SETUP_NETWORK, /* advice about the addresses of the cluster's other nodes */
    NM_SETUP_JAVA,    /* advice about JAVA_HOME, if no drop-in sets it */
    NM_SETUP_HADOOP,  /* advice about HADOOP_HOME, if no drop-in sets it */
    /* Advice that is printed even if there is no problem. --check-config doesn't print reminders, because it
     * warns of these problems itself (launch/config-warnings.h). */
    NM_SETUP_REMINDER,
};

struct nm_setup_advice {
    enum nm_setup_subject subject;
    const char *text;
};

struct nm_setup_plan {
    struct nm_setup_step *steps; /* in the order of execution: a directory comes before its contents */
    size_t n_steps;
    size_t n_changes; /* number of steps that change a file or directory */
    size_t n_left;    /* number of steps with NM_SETUP_LEAVE */
    struct nm_setup_advice *advice;
    size_t n_advice;
};

int nm_setup_plan_make(const struct nm_setup_request *w, const struct nm_yarn_settings *s,
                       const struct nm_setup_facts *f,
                       struct nm_arena *a, struct nm_setup_plan *ret);

/* Makes the manifest. done false: the manifest that is saved before the plan is carried out. done true: the manifest
 * that is saved afterwards. */
int nm_setup_plan_note(const struct nm_setup_request *w, const struct nm_setup_manifest *before,
                       const struct nm_setup_plan *p, bool done, struct nm_arena *a, struct nm_setup_manifest *ret);

/* Return the texts of the two files that the setup writes (texts.c). NULL: no memory. */
const char *nm_setup_unit_text(const struct nm_setup_request *w, const struct nm_yarn_settings *s,
                               const struct nm_setup_facts *f, struct nm_arena *a);
const char *nm_setup_config_text(const struct nm_setup_request *w, struct nm_arena *a);

/* Returns the value of the variable that the unit should set. NULL: the variable is not needed, or no value was
 * found. */
const char *nm_setup_value_of(enum nm_setup_variable v, const struct nm_setup_request *w,
                              const struct nm_yarn_settings *s, const struct nm_setup_facts *f);

/* Makes the advice (advice.c). The advice doesn't include the reasons of steps. */
int nm_setup_advise(const struct nm_setup_request *w, const struct nm_yarn_settings *s, const struct nm_setup_facts *f,
                    struct nm_arena *a, struct nm_setup_advice **ret, size_t *ret_n);

/* ---- carrying out: act.c ------------------------------------------------------------------ */

/* Carries out a plan. The manifest is synced to the disk before the first change that it lists. */

/* If a step fails, continues with the next step. *ret_message has one sentence for each failure. Returns the first
 * failure. */
int nm_setup_act(const struct nm_setup_request *w, const struct nm_setup_facts *f, const struct nm_setup_plan *p,
                 struct nm_arena *a, char **ret_message);
/* Returns the failures that read-only files or directories would cause, without making changes. */
int nm_setup_act_check(const struct nm_setup_request *w, const struct nm_setup_plan *p, char **ret_message);
