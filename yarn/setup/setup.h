/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Implements `nmd --yarn-setup`, which makes a host a node of the cluster whose files it is given. It can also show the
 * changes without making them, and revert a setup. The setup runs without nmd's event loop, so it may wait for name
 * services and hosts. docs/ARCHITECTURE.md describes its files.
 */

#include <stdio.h>
#include <sys/types.h>

#include "util/option.h"
#include "yarn/conf/settings.h"

struct nm_yarn_setup_params {
    const char *conf_dir;     /* directory of the cluster's files; absolute, as nmd.conf should name it */
    const char *config_path;  /* path of nmd.conf; the drop-in is written to the drop-in directory beside it */
    const char *state_dir;    /* absolute; the directory of the manifest */
    const char *root;         /* root directory of all paths; NULL: the root directory of this host */
    const char *java_home;    /* NULL: search for Java */
    const char *const *allow; /* more addresses for IPAddressAllow=, NULL-terminated */
    bool is_dry; /* the setup makes no changes, and prints what a real run would do. The result is that of a real run,
                  * including failures to write a file */
    void (*progress)(const char *text); /* called every second while the setup waits for names or hosts; may be NULL */
    /* Returns the pid of the nmd that uses this state directory; 0: no nmd uses it; -errno: unknown. If the callback is
     * NULL, the pid is unknown. */
    pid_t (*holder)(const char *state_dir);
    nm_yarn_warn_t warn;
    void *userdata;
};

/* Makes the host a node, and prints the output to `out`. Returns 0 if the host is set up, even if the administrator
 * still has to make decisions, or a ResourceManager doesn't answer. -EEXIST: a file or directory that no setup has made
 * was left unchanged; `out` names it. Other -errno: the setup is incomplete, and *ret_message has sentences, one per
 * line. */
int nm_yarn_setup(const struct nm_yarn_setup_params *p, FILE *out, char **ret_message);
/* Reverts a setup. Returns 0 if all changes were reverted. -EEXIST: a file or directory was kept, because it was
 * changed after the setup or is in use. */
int nm_yarn_setup_undo(const struct nm_yarn_setup_params *p, FILE *out, char **ret_message);

/* Calls p->warn for each requirement of these settings that this host doesn't meet. The host may also have been set up
 * by hand. Makes no changes. */
int nm_yarn_setup_check(const struct nm_yarn_setup_params *p, const struct nm_yarn_settings *s);

/* ---- the command line: options.c ---------------------------------------------------------- */

#define NM_YARN_SETUP_ALLOW_MAX 64

struct nm_yarn_setup_options {
    const char *conf_dir; /* argument of --yarn-setup; NULL: the option wasn't given */
    const char *root, *java_home, *allow[NM_YARN_SETUP_ALLOW_MAX + 1];
    bool is_dry, undoes;
};

/* The options of --yarn-setup. Parsing them fills a struct nm_yarn_setup_options. */
extern const struct nm_option nm_yarn_setup_option_table[];

#define NM_YARN_SETUP_USAGE \
    "      --yarn-setup DIR    make this host a node of that cluster: write the unit's drop-in, directories\n" \
    "                          and configuration; print the changes and the remaining decisions; exit\n" \
    "      --dry-run           with --yarn-setup: only print the changes\n" \
    "      --undo              with --yarn-setup: revert the changes of an earlier setup\n" \
    "      --allow ADDRESS     with --yarn-setup: permit connections to this address or network (may be repeated)\n" \
    "      --java-home DIR     with --yarn-setup: directory of the Java of the cluster's jobs\n" \
    "      --root DIR          with --yarn-setup: root directory of the host's files\n"

/* Checks that the options can be combined. If not, prints a message and returns -EINVAL. checks: --check-config was
 * given. */
int nm_yarn_setup_options_check(const struct nm_yarn_setup_options *o, bool checks);

/* Returns the parameters that correspond to the options. config or state_dir NULL: use the default path. */
struct nm_yarn_setup_params nm_yarn_setup_params_of(const struct nm_yarn_setup_options *o, const char *config,
                                                    const char *state_dir, nm_yarn_warn_t warn);
/* Runs the setup or the undo, and prints its output. holder: same as in nm_yarn_setup_params. Negative: the setup or
 * the undo is incomplete. */
int nm_yarn_setup_run(const struct nm_yarn_setup_options *o, const char *config, const char *state_dir,
                      pid_t (*holder)(const char *state_dir), nm_yarn_warn_t warn);
