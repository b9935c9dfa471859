/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The options of nmd --yarn-setup, and running it. */

#include <getopt.h>

#include "yarn/setup/setup.h"

#define NM_YARN_SETUP_ALLOW_MAX 64

struct nm_yarn_setup_options {
    const char *conf_dir; /* of --yarn-setup; NULL: it wasn't given */
    const char *root, *java_home, *allow[NM_YARN_SETUP_ALLOW_MAX + 1];
    bool is_dry, undoes;
};

/* Values that getopt_long() returns for these options. No other option of nmd may have them. */
enum {
    NM_YARN_SETUP_OPT = 1024,
    NM_YARN_SETUP_OPT_DRY_RUN,
    NM_YARN_SETUP_OPT_UNDO,
    NM_YARN_SETUP_OPT_ALLOW,
    NM_YARN_SETUP_OPT_JAVA_HOME,
    NM_YARN_SETUP_OPT_ROOT,
};

#define NM_YARN_SETUP_LONG_OPTIONS \
    {"yarn-setup", required_argument, NULL, NM_YARN_SETUP_OPT}, \
    {"dry-run", no_argument, NULL, NM_YARN_SETUP_OPT_DRY_RUN}, \
    {"undo", no_argument, NULL, NM_YARN_SETUP_OPT_UNDO}, \
    {"allow", required_argument, NULL, NM_YARN_SETUP_OPT_ALLOW}, \
    {"java-home", required_argument, NULL, NM_YARN_SETUP_OPT_JAVA_HOME}, \
    {"root", required_argument, NULL, NM_YARN_SETUP_OPT_ROOT}

#define NM_YARN_SETUP_USAGE \
    "      --yarn-setup DIR    make this host a node of that cluster: the unit's drop-in, directories and\n" \
    "                          configuration; print what was done and what is left to decide; exit\n" \
    "      --dry-run           with --yarn-setup: change nothing, and say the same\n" \
    "      --undo              with --yarn-setup: take back what an earlier one has written\n" \
    "      --allow ADDRESS     with --yarn-setup: let nmd talk to this address or network, too (may be repeated)\n" \
    "      --java-home DIR     with --yarn-setup: the Java of the cluster's jobs\n" \
    "      --root DIR          with --yarn-setup: the host's files are below DIR\n"

/* Takes an option. Returns 0, 1 if it is none of these, or -EINVAL after a message. */
int nm_yarn_setup_take(int c, const char *argument, struct nm_yarn_setup_options *o);
/* Checks that the options can be combined. Returns -EINVAL after a message. checks: --check-config is given. */
int nm_yarn_setup_options_check(const struct nm_yarn_setup_options *o, bool checks);

/* config or state_dir NULL: the host's own. */
struct nm_yarn_setup_params nm_yarn_setup_params_of(const struct nm_yarn_setup_options *o, const char *config,
                                                    const char *state_dir, nm_yarn_warn_t warn);
/* Runs the setup or the undo, and prints the result. holder: as in setup.h. Negative: something was not done. */
int nm_yarn_setup_run(const struct nm_yarn_setup_options *o, const char *config, const char *state_dir,
                      pid_t (*holder)(const char *state_dir), nm_yarn_warn_t warn);
