/* SPDX-License-Identifier: Apache-2.0 */

/* See setup.h. */

#include "yarn/setup/setup.h"

#include "util/error.h"

static int take_allow(void *at, char *value, const struct nm_option *o)
{
    const char **allow = at;
    size_t n = NM_STRV_LENGTH(allow);

    if (n == o->type->max)
        return -E2BIG;
    allow[n] = value;
    return 0;
}

#define AT(member) offsetof(struct nm_yarn_setup_options, member)

const struct nm_option nm_yarn_setup_option_table[] = {
    NM_OPTION_VALUE('\0', "yarn-setup", "DIR", &nm_option_any, AT(conf_dir)),
    NM_OPTION_FLAG('\0', "dry-run", AT(is_dry)),
    NM_OPTION_FLAG('\0', "undo", AT(undoes)),
    NM_OPTION_VALUE('\0', "allow", "ADDRESS", NM_OPTION_RANGE(take_allow, NULL, 0, NM_YARN_SETUP_ALLOW_MAX), AT(allow)),
    NM_OPTION_VALUE('\0', "java-home", "DIR", &nm_option_any, AT(java_home)),
    NM_OPTION_VALUE('\0', "root", "DIR", &nm_option_any, AT(root)),
    {0},
};

int nm_yarn_setup_options_check(const struct nm_yarn_setup_options *o, bool checks)
{
    if (!o->conf_dir && (o->is_dry || o->undoes || o->allow[0] || o->java_home || (o->root && !checks)))
        return nm_usage_error("--dry-run, --undo, --allow, --java-home and --root require --yarn-setup DIR. Try 'nmd "
                              "--help'.");
    if (o->undoes && (o->allow[0] || o->java_home))
        return nm_usage_error("--undo can't be combined with --allow or --java-home. Try 'nmd --help'.");
    return 0;
}

static void report_progress(const char *text)
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
        .progress = report_progress,
        .warn = warn,
    };
}

static void report_lines(const char *text)
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
        return nm_usage_error("--yarn-setup writes below /etc and changes the owners of directories, so it must run "
                              "as root. To show the changes without making them, use --dry-run.");
    r = o->undoes ? nm_yarn_setup_undo(&p, stdout, &message) : nm_yarn_setup(&p, stdout, &message);
    (void)fflush(stdout);
    if (r == -EEXIST)
        nm_diag("some files or directories %s not changed; see the reasons above", o->is_dry ? "are" : "were");
    else if (r < 0)
        report_lines(message ?: strerror(-r));
    if (o->is_dry)
        nm_diag("--dry-run: nothing was changed");
    return r;
}
