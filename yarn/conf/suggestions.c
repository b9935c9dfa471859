/* SPDX-License-Identifier: Apache-2.0 */

/* See suggestions.h. */

#include "yarn/conf/suggestions.h"

#include <assert.h>

#include "util/error.h"
#include "yarn/conf/conf.h"

#define NM "yarn.nodemanager."
#define NONSECURE NM "linux-container-executor.nonsecure-mode."
#define OLD_FILES \
    "old files there are removed, by age or at a boot. " NM "local-dirs and log-dirs are below hadoop.tmp.dir if " \
    "they aren't set."

static const char *without_text(bool applies)
{
    return applies ? "" : NULL;
}

static const char *without_manager(const struct nm_yarn_settings *s)
{
    return without_text(!s->ha && nm_streq(s->tracker.host, "0.0.0.0"));
}

static const char *limits_users(const struct nm_yarn_settings *s)
{
    return s->limit_users ? s->local_user : NULL;
}

static const char *allows_any_uid(const struct nm_yarn_settings *s)
{
    return without_text(!s->limit_users && !s->executor_rules.file);
}

static const char *without_port(const struct nm_yarn_settings *s)
{
    return without_text(s->node.port == 0);
}

static const char *without_queue(const struct nm_yarn_settings *s)
{
    return without_text(s->queue_max_length == 0);
}

static const char *without_pause(const struct nm_yarn_settings *s)
{
    return without_text(!s->pauses);
}

static const char *without_recovery(const struct nm_yarn_settings *s)
{
    return without_text(!s->recovery || !s->supervised);
}

static const char *without_shuffle(const struct nm_yarn_settings *s)
{
    return without_text(!s->has_shuffle);
}

/* Returns the first directory from which the system removes old files. */
static const char *find_temporary(char *const *dirs)
{
    for (size_t i = 0; dirs && dirs[i]; i++)
        if (strncmp(dirs[i], "/tmp/", 5) == 0 || strncmp(dirs[i], "/var/tmp/", 9) == 0)
            return dirs[i];
    return NULL;
}

static const char *loses_local_files(const struct nm_yarn_settings *s)
{
    return find_temporary(s->local_dirs);
}

static const char *loses_logs(const struct nm_yarn_settings *s)
{
    return find_temporary(s->log_dirs);
}

const struct nm_yarn_suggestion nm_yarn_suggestions[] = {
    {"yarn.resourcemanager.hostname", "isn't set in these files",
     "nmd looks for the ResourceManager on this host. Check that these are the cluster's files.", "",
     .applies = without_manager},
    {NM "address", "sets no port",
     "nmd uses any free port, a different one at each start. A firewall needs a fixed port.", "0.0.0.0:45454",
     .applies = without_port},
    {NONSECURE "limit-users", "is true",
     "all containers run as {}. MapReduce, and other programs that read the submitter's files, need false in "
     "yarn-site.xml and accounts of the submitters on this node.", "false", .is_needed = true,
     .applies = limits_users},
    {"min.user.id", "isn't set",
     "accounts with any uid except 0 can run containers. To exclude the accounts of the system, set min.user.id in a "
     "container-executor.cfg beside yarn-site.xml. [containers] min-uid of nmd.conf applies only to local users.",
     "1000", .applies = allows_any_uid},
    {NM "opportunistic-containers-max-queue-length", "is 0",
     "the cluster sends no opportunistic containers to this node, so nmd doesn't over-subscribe it for the cluster. A "
     "good first value is 10.", "10", .applies = without_queue},
    {NM "opportunistic-containers-use-pause-for-preemption", "is false",
     "when CPU is short, opportunistic containers are killed. With true they are paused and lose no work.", "true",
     .applies = without_pause},
    {NM "recovery.supervised", "or recovery.enabled isn't true",
     "when nmd is stopped or upgraded, it unregisters the node, and the cluster's containers end. With both true they "
     "keep running.", "true", .applies = without_recovery},
    {NM "aux-services", "doesn't contain mapreduce_shuffle",
     "reducers of MapReduce can't fetch map outputs from this node.", "mapreduce_shuffle",
     .applies = without_shuffle},
    {NM "local-dirs", "contains {}", OLD_FILES, "", .applies = loses_local_files},
    {NM "log-dirs", "contains {}", OLD_FILES, "", .applies = loses_logs},
};
const size_t nm_yarn_n_suggestions = NM_ARRAY_SIZE(nm_yarn_suggestions);

/* Returns the template with `text` in place of {}, or NULL if there is no memory. */
static char *fill(const char *template, const char *text)
{
    const char *at = strstr(template, "{}");

    if (!at)
        return strdup(template);
    return nm_strdup_printf("%.*s%s%s", (int)(at - template), template, text, at + 2);
}

char *nm_yarn_suggestion_text(const struct nm_yarn_suggestion *g, const struct nm_yarn_settings *s, bool named)
{
    const char *text = g->applies(s);
    _cleanup_free_ char *state = NULL, *why = NULL;
    char shown[200];

    assert(text);
    (void)nm_yarn_conf_printable(text, shown, sizeof shown);
    state = fill(g->state, shown);
    why = fill(g->why, shown);
    if (!state || !why)
        return NULL;
    return named ? nm_strdup_printf("%s %s: %s", g->name, state, why) : STEAL_PTR(why);
}
