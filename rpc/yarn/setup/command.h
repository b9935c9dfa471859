/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* nmd's options for a setup, and what they have done. */

#include <getopt.h>

#include "rpc/yarn/setup/setup.h"

#define NM_YARN_SETUP_ALLOW_MAX 64

struct nm_yarn_setup_options {
    const char *conf_dir; /* of --yarn-setup; NULL: it wasn't given */
    const char *root, *java_home, *allow[NM_YARN_SETUP_ALLOW_MAX + 1];
    bool is_dry, undoes;
};

/* What getopt_long() returns for them; nothing else may have these. */
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
    "                          configuration; say what was done and what is left to decide; and leave\n" \
    "      --dry-run           with --yarn-setup: change nothing, and say the same\n" \
    "      --undo              with --yarn-setup: take back what an earlier one has written\n" \
    "      --allow ADDRESS     with --yarn-setup: let nmd talk to this address or network, too (may be repeated)\n" \
    "      --java-home DIR     with --yarn-setup: the Java of the cluster's jobs\n" \
    "      --root DIR          with --yarn-setup: the host's files are below DIR\n"

/* 0: it is one of these; 1: none; -EINVAL: what is wrong with it was said. */
int nm_yarn_setup_take(int c, const char *argument, struct nm_yarn_setup_options *o);
/* Do they go together? -EINVAL, and it was said. checks: with --check-config. */
int nm_yarn_setup_options_check(const struct nm_yarn_setup_options *o, bool checks);

/* config, state_dir: NULL: the host's own. */
struct nm_yarn_setup_params nm_yarn_setup_params_of(const struct nm_yarn_setup_options *o, const char *config,
                                                    const char *state_dir, nm_yarn_warn_t warn);
/* Does what they say, and says what became of it. Negative: not all of it. */
int nm_yarn_setup_run(const struct nm_yarn_setup_options *o, const char *config, const char *state_dir,
                      nm_yarn_warn_t warn);
