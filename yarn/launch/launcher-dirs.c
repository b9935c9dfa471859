/* SPDX-License-Identifier: Apache-2.0 */

/* The launcher's checks and choice of directories: see launcher.h and launcher-state.h. */

#include "yarn/launch/launcher-state.h"

#include <errno.h>
#include <stdarg.h>
#include <syslog.h>

#include "util/error.h"
#include "util/loop.h"

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
    if (l->may_remove && l->caches.has_new)
        (void)nm_loop_schedule_work(l->turns_source);
    nm_yarn_dirs_check(&l->log);
    if (l->may_remove)
        nm_yarn_strays_search_new(l->strays);
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

nm_printf(3, 4) static void append(char *buf, size_t size, const char *format, ...)
{
    size_t n = strlen(buf);
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(buf + n, size - n, format, ap);
    va_end(ap);
}

/* Appends a list of the directories that are bad for one of the two causes. `end` follows the list. */
static void list_bad(const struct nm_yarn_dirs *dirs, const char *kind, bool lacks_room, const char *end, char *buf,
                     size_t size)
{
    const char *what = lacks_room ? "usable space is below configured utilization percentage/no more usable space"
                                  : "have errors: ";
    size_t bad = 0, at = 0;

    for (size_t i = 0; i < dirs->n; i++)
        bad += !dirs->all[i].is_good && dirs->all[i].lacks_room == lacks_room;
    if (bad == 0)
        return;
    append(buf, size, "%zu/%zu %s %s [ ", bad, dirs->n, kind, what);
    for (size_t i = 0; i < dirs->n; i++)
        if (!dirs->all[i].is_good && dirs->all[i].lacks_room == lacks_room)
            append(buf, size, "%s%s : %s", at++ > 0 ? " , " : "", dirs->all[i].name, dirs->all[i].why);
    append(buf, size, " ] %s", end);
}

/* Returns true if enough directories are good. */
static bool has_enough(const struct nm_yarn_dirs *dirs)
{
    size_t good = nm_yarn_dirs_count_good(dirs);

    return good > 0 && (double)good >= dirs->settings->min_healthy_disks * (double)dirs->n;
}

/* The report has the form of LocalDirsHandlerService of Hadoop 3.4.2, since alerts search it for these words. */
bool nm_yarn_launcher_is_healthy(struct nm_yarn_launcher *l, char *report, size_t size)
{
    nm_yarn_launcher_check_dirs(l);
    report[0] = '\0';
    list_bad(&l->local, "local-dirs", false, "", report, size);
    list_bad(&l->local, "local-dirs", true, "; ", report, size);
    list_bad(&l->log, "log-dirs", false, "", report, size);
    list_bad(&l->log, "log-dirs", true, "", report, size);
    return has_enough(&l->local) && has_enough(&l->log);
}

bool nm_yarn_launcher_has_good_dirs(const struct nm_yarn_launcher *l)
{
    return nm_yarn_dirs_count_good(&l->local) > 0 && nm_yarn_dirs_count_good(&l->log) > 0;
}

/* ---- figures ------------------------------------------------------------------------------ */

/* Returns the used share of the disks of all good directories. Several directories on one disk count several times, as
 * in Hadoop. */
static double use_of(const struct nm_yarn_dirs *dirs)
{
    double total = 0, used = 0;

    for (size_t i = 0; i < dirs->n; i++)
        if (dirs->all[i].is_good) {
            total += (double)dirs->all[i].total_bytes;
            used += (double)dirs->all[i].total_bytes * (1 - dirs->all[i].free);
        }
    return total > 0 ? used / total : 0;
}

void nm_yarn_launcher_get_figures(const struct nm_yarn_launcher *l, struct nm_yarn_launcher_figures *ret)
{
    *ret = l->counted;
    ret->n_bad_local = l->local.n - nm_yarn_dirs_count_good(&l->local);
    ret->n_bad_log = l->log.n - nm_yarn_dirs_count_good(&l->log);
    ret->local_use = use_of(&l->local);
    ret->log_use = use_of(&l->log);
}

const struct nm_yarn_dir *nm_yarn_launcher_dir(const struct nm_yarn_dirs *dirs, const char *name)
{
    for (size_t i = 0; i < dirs->n; i++)
        if (nm_streq(dirs->all[i].name, name))
            return dirs->all[i].fd >= 0 ? &dirs->all[i] : NULL;
    return NULL;
}
