/* SPDX-License-Identifier: Apache-2.0 */

/* See command.h. */

#include "yarn/setup/command.h"

#include "util/diag.h"

int nm_yarn_setup_take(int c, const char *argument, struct nm_yarn_setup_options *o)
{
    size_t n = 0;

    switch (c) {
    case NM_YARN_SETUP_OPT:
        o->conf_dir = argument;
        return 0;
    case NM_YARN_SETUP_OPT_DRY_RUN:
        o->is_dry = true;
        return 0;
    case NM_YARN_SETUP_OPT_UNDO:
        o->undoes = true;
        return 0;
    case NM_YARN_SETUP_OPT_JAVA_HOME:
        o->java_home = argument;
        return 0;
    case NM_YARN_SETUP_OPT_ROOT:
        o->root = argument;
        return 0;
    case NM_YARN_SETUP_OPT_ALLOW:
        while (o->allow[n])
            n++;
        if (n == NM_YARN_SETUP_ALLOW_MAX)
            return nm_usage_error("--allow '%s': it can be given %d times", argument, NM_YARN_SETUP_ALLOW_MAX);
        o->allow[n] = argument;
        return 0;
    }
    return 1;
}

int nm_yarn_setup_options_check(const struct nm_yarn_setup_options *o, bool checks)
{
    if (!o->conf_dir && (o->is_dry || o->undoes || o->allow[0] || o->java_home || (o->root && !checks)))
        return nm_usage_error("--dry-run, --undo, --allow, --java-home and --root go with --yarn-setup DIR. Try 'nmd "
                              "--help'.");
    if (o->undoes && (o->allow[0] || o->java_home))
        return nm_usage_error("--undo takes back what was written; --allow and --java-home don't go with it. Try 'nmd "
                              "--help'.");
    return 0;
}

static void tell_progress(const char *text)
{
    nm_diag("%s", text);
}

struct nm_yarn_setup_params nm_yarn_setup_params_of(const struct nm_yarn_setup_options *o, const char *config,
                                                    const char *state_dir, nm_yarn_warn_t warn)
{
    return (struct nm_yarn_setup_params){
        .conf_dir = o->conf_dir,
        .config_path = config ?: NM_SYSCONFDIR "/nmd/nmd.conf",
        .state_dir = state_dir ?: NM_LOCALSTATEDIR "/lib/nmd",
        .root = o->root,
        .java_home = o->java_home,
        .allow = o->allow,
        .is_dry = o->is_dry,
        .progress = tell_progress,
        .warn = warn,
    };
}

static void tell_lines(const char *text)
{
    for (size_t n; *text; text += n + (text[n] == '\n')) {
        n = strcspn(text, "\n");
        nm_diag("%.*s", (int)n, text);
    }
}

int nm_yarn_setup_run(const struct nm_yarn_setup_options *o, const char *config, const char *state_dir,
                      pid_t (*holder)(const char *state_dir), nm_yarn_warn_t warn)
{
    struct nm_yarn_setup_params p = nm_yarn_setup_params_of(o, config, state_dir, warn);
    _cleanup_free_ char *message = NULL;
    int r;

    p.holder = holder;
    if (geteuid() != 0 && !o->root && !o->is_dry)
        return nm_usage_error("--yarn-setup writes below /etc and gives directories to root: only root can do that. "
                              "--dry-run says what it would do.");
    r = o->undoes ? nm_yarn_setup_undo(&p, stdout, &message) : nm_yarn_setup(&p, stdout, &message);
    (void)fflush(stdout);
    if (o->is_dry)
        nm_diag("--dry-run: nothing was changed");
    if (r == -EEXIST)
        nm_diag("something was left as it is; see above what, and why");
    else if (r < 0)
        tell_lines(message ?: strerror(-r));
    return r;
}
