/* SPDX-License-Identifier: Apache-2.0 */

/* The launcher's checks and choice of directories: see launcher.h and launcher-state.h. */

#include "yarn/launch/launcher-state.h"

#include <errno.h>
#include <syslog.h>

#include "util/error.h"

/* ---- checks ------------------------------------------------------------------------------- */

static void report_change(struct nm_yarn_launcher *l, const struct nm_yarn_dir *d, const char *kind)
{
    char sentence[600];

    if (d->is_good)
        (void)snprintf(sentence, sizeof sentence, "The %s directory %s is good again, and new containers use it",
                       kind, d->name);
    else
        (void)snprintf(sentence, sizeof sentence, "New containers don't use the %s directory %s any more: %s", kind,
                       d->name, d->why);
    if (l->params.on_event)
        l->params.on_event(d->is_good ? LOG_NOTICE : LOG_WARNING, sentence, l->params.userdata);
}

static void report_local(const struct nm_yarn_dir *d, void *userdata)
{
    report_change(userdata, d, "local");
}

static void report_log(const struct nm_yarn_dir *d, void *userdata)
{
    report_change(userdata, d, "log");
}

void nm_yarn_launcher_check_dirs(struct nm_yarn_launcher *l)
{
    nm_yarn_caches_check(&l->caches);
    nm_yarn_dirs_check(&l->log);
    nm_yarn_dirs_report(&l->local, report_local, l);
    nm_yarn_dirs_report(&l->log, report_log, l);
}

void nm_yarn_launcher_recheck_dirs(struct nm_yarn_launcher *l)
{
    nm_yarn_dirs_check_again(&l->local);
    nm_yarn_dirs_check_again(&l->log);
    nm_yarn_launcher_check_dirs(l);
}

/* ---- choice ------------------------------------------------------------------------------- */

static int no_dir(const struct nm_yarn_dirs *dirs, const char *what, char **ret_message)
{
    const struct nm_yarn_dir *d = &dirs->all[0];

    return nm_fail(ret_message, -ENOSPC, "None of the node's directories for %s is good; %s: %s", what, d->name,
                   d->why);
}

int nm_yarn_launcher_choose_dirs(struct nm_yarn_launcher *l, struct nm_yarn_container_dirs *ret, char **ret_message)
{
    const struct nm_yarn_dir *local, *log;

    nm_yarn_launcher_check_dirs(l);
    local = nm_yarn_dirs_next(&l->local, NULL);
    log = nm_yarn_dirs_next(&l->log, NULL);
    if (!local || !log)
        return local ? no_dir(&l->log, "logs", ret_message) : no_dir(&l->local, "containers", ret_message);
    *ret = (struct nm_yarn_container_dirs){local->name, log->name};
    return 0;
}

/* Returns true if enough directories are good. Otherwise `why` names only the first bad directory, since the
 * ResourceManager's pages show the reason and must be short. */
static bool has_enough(const struct nm_yarn_dirs *dirs, const char *property, char *why, size_t size)
{
    size_t good = nm_yarn_dirs_count_good(dirs);
    const char *first = NULL, *reason = "";

    if (good > 0 && (double)good >= dirs->settings->min_healthy_disks * (double)dirs->n)
        return true;
    for (size_t i = 0; i < dirs->n && !first; i++)
        if (!dirs->all[i].is_good) {
            first = dirs->all[i].name;
            reason = dirs->all[i].why;
        }
    (void)snprintf(why, size, "%zu of %zu %s are good; %s: %s", good, dirs->n, property, first ?: "", reason);
    return false;
}

bool nm_yarn_launcher_is_healthy(struct nm_yarn_launcher *l, char *why, size_t size)
{
    nm_yarn_launcher_check_dirs(l);
    return has_enough(&l->local, "yarn.nodemanager.local-dirs", why, size) &&
           has_enough(&l->log, "yarn.nodemanager.log-dirs", why, size);
}

bool nm_yarn_launcher_has_good_dirs(const struct nm_yarn_launcher *l)
{
    return nm_yarn_dirs_count_good(&l->local) > 0 && nm_yarn_dirs_count_good(&l->log) > 0;
}

const struct nm_yarn_dir *nm_yarn_launcher_dir(const struct nm_yarn_dirs *dirs, const char *name)
{
    for (size_t i = 0; i < dirs->n; i++)
        if (nm_streq(dirs->all[i].name, name))
            return dirs->all[i].fd >= 0 ? &dirs->all[i] : NULL;
    return NULL;
}
