/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The options of nmd --yarn-setup, and running it. */

#include "util/option.h"
#include "yarn/setup/setup.h"

#define NM_YARN_SETUP_ALLOW_MAX 64

struct nm_yarn_setup_options {
    const char *conf_dir; /* argument of --yarn-setup; NULL if this option wasn't given */
    const char *root, *java_home, *allow[NM_YARN_SETUP_ALLOW_MAX + 1];
    bool is_dry, undoes;
};

/* The options of --yarn-setup, which fill a struct nm_yarn_setup_options. */
extern const struct nm_option nm_yarn_setup_option_table[];

#define NM_YARN_SETUP_USAGE \
    "      --yarn-setup DIR    make this host a node of that cluster: write the unit's drop-in, directories\n" \
    "                          and configuration; print the changes and the remaining decisions; exit\n" \
    "      --dry-run           with --yarn-setup: only print the changes\n" \
    "      --undo              with --yarn-setup: revert the changes of an earlier setup\n" \
    "      --allow ADDRESS     with --yarn-setup: permit connections to this address or network (may be repeated)\n" \
    "      --java-home DIR     with --yarn-setup: directory of the Java of the cluster's jobs\n" \
    "      --root DIR          with --yarn-setup: root directory of the host's files\n"

/* Checks that the options can be combined. Returns -EINVAL after a message. checks: --check-config is given. */
int nm_yarn_setup_options_check(const struct nm_yarn_setup_options *o, bool checks);

/* Returns the parameters for these options. config or state_dir NULL: use the host's default path. */
struct nm_yarn_setup_params nm_yarn_setup_params_of(const struct nm_yarn_setup_options *o, const char *config,
                                                    const char *state_dir, nm_yarn_warn_t warn);
/* Runs the setup or the undo, and prints the result. holder: as in setup.h. Negative: the setup or the undo is
 * incomplete. */
int nm_yarn_setup_run(const struct nm_yarn_setup_options *o, const char *config, const char *state_dir,
                      pid_t (*holder)(const char *state_dir), nm_yarn_warn_t warn);
