/* SPDX-License-Identifier: Apache-2.0 */

#include "agent/journal/journal.h"

#include "agent/journal/slot-file.h"
#include "util/clock.h"
#include "util/log.h"

struct nm_saved_history {
    struct nm_history *history;
    struct nm_long_history *long_history;
    struct nm_ended_apps *ended_apps;
    int error; /* reason why long_history and ended_apps cannot be written to disk, or 0 */
};

/* Logs when writes to the files begin to fail and when they succeed again. The figures are kept in memory until
 * then. */
static void report_error(struct nm_manager *m, int r)
{
    if (r == m->saved_history->error)
        return;
    m->saved_history->error = r;
    if (r < 0)
        nm_notice("can't save the node's history in %s: %s; history from now on is lost if nmd restarts",
                  m->state_dir, strerror(-r));
    else
        nm_info("the node's history can be saved again");
}

int nm_saved_history_load(struct nm_manager *m)
{
    struct nm_saved_history *p = m->saved_history = calloc(1, sizeof *p);
    int history_error = 0, apps_error = 0;
    int r = p ? nm_history_new(m->config->history_usec, &p->history) : -ENOMEM;

    if (r >= 0)
        r = nm_long_history_new(m->state_dir, nm_realtime_usec(), &p->long_history, &history_error);
    if (r >= 0)
        r = nm_ended_apps_new(m->state_dir, &p->ended_apps, &apps_error);
    if (r >= 0)
        report_error(m, history_error < 0 ? history_error : apps_error);
    return r;
}

struct nm_saved_history *nm_saved_history_free(struct nm_saved_history *p)
{
    if (!p)
        return NULL;
    nm_history_free(p->history);
    nm_long_history_free(p->long_history);
    nm_ended_apps_free(p->ended_apps);
    free(p);
    return NULL;
}

void nm_saved_history_set_span(struct nm_saved_history *p, uint64_t span_usec)
{
    (void)nm_history_set_span(p->history, span_usec);
}

void nm_saved_history_add_point(struct nm_manager *m, const struct nm_history_point *point)
{
    int r = nm_long_history_add(m->saved_history->long_history, point);

    nm_history_add(m->saved_history->history, point);
    if (r != 0)
        report_error(m, NM_MIN(r, 0));
}

/* Counts the end immediately. Unlike an event, the count does not wait until the journal has the end, because counting
 * an end twice after a crash is harmless. */
void nm_saved_history_add_end(struct nm_manager *m, const struct nm_container *c)
{
    int r = nm_ended_apps_add(m->saved_history->ended_apps, c);

    if (r != 0)
        report_error(m, NM_MIN(r, 0));
}

const struct nm_history *nm_saved_history_get(const struct nm_manager *m, uint64_t span_usec)
{
    return span_usec <= m->config->history_usec ? m->saved_history->history
                                                : nm_long_history_get(m->saved_history->long_history, span_usec);
}

const struct nm_ended_app *nm_saved_history_ended_app(const struct nm_saved_history *p, unsigned i, uint64_t since_usec)
{
    return nm_ended_apps_get(p->ended_apps, i, since_usec);
}
