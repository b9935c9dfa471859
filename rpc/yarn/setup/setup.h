/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * `nmd --yarn-setup`: makes a host a node of a cluster, by its files, or says what that would take, or takes it back.
 * It runs without nmd's loop, and may wait for name services and hosts. HACKING has its files in their order.
 */

#include <stdio.h>

#include "rpc/yarn/conf/settings.h"

struct nm_yarn_setup_params {
    const char *conf_dir;     /* of the cluster's files, absolute: as nmd.conf is to have it */
    const char *config_path;  /* nmd.conf's; the drop-in comes into the directory beside it */
    const char *state_dir;    /* absolute, too; the list of what was written is in there */
    const char *root;         /* all of these, and whatever else is looked at, are below it; NULL: the host's own */
    const char *java_home;    /* NULL: one is looked for */
    const char *const *allow; /* more of IPAddressAllow=, NULL-terminated */
    bool is_dry;              /* change nothing, and say the same */
    nm_yarn_warn_t warn;
    void *userdata;
};

/* What is told goes to `out`. 0: all is done, or as it should be; what is an administrator's to decide is no failure,
 * nor is a ResourceManager that doesn't answer. -EEXIST: something isn't ours and was left; that is told there. Other
 * -errno with *ret_message, sentences, a line each: it wasn't done, or not all of it. */
int nm_yarn_setup(const struct nm_yarn_setup_params *p, FILE *out, char **ret_message);
/* 0: all is taken back. -EEXIST: something that was written stays, since it was changed or is in use. */
int nm_yarn_setup_undo(const struct nm_yarn_setup_params *p, FILE *out, char **ret_message);

/* Calls p->warn for whatever a node of these settings lacks on this host, whoever may have set it up. Changes
 * nothing. */
int nm_yarn_setup_check(const struct nm_yarn_setup_params *p, const struct nm_yarn_settings *s);
