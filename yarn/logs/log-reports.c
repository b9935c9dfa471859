/* SPDX-License-Identifier: Apache-2.0 */

/* See log-reports.h. */

#include "yarn/logs/log-reports.h"

#include <stdlib.h>

#include "util/clock.h"
#include "util/error.h"
#include "yarn/id-messages.h"

#define AT_ONCE_MAX 500u /* reports in one heartbeat */
#define RECENT_MAX 500u
#define TEXT_MAX 1000
/* The ResourceManager shows an application as timed out after ten minutes without a report. As in Hadoop, a
 * registration repeats reports for ten times this time. */
#define RECENT_USEC (6000 * NM_USEC_PER_SEC)

struct nm_yarn_log_report {
    TAILQ_ENTRY(nm_yarn_log_report) link;
    struct nm_yarn_application_id id;
    enum nm_yarn_log_status status;
    char *text;
    bool is_sent;           /* the heartbeat in progress contains the report */
    uint64_t answered_usec; /* only in the list `recent` */
};

static void free_report(struct nm_yarn_log_report *r)
{
    free(r->text);
    free(r);
}

static void free_list(struct nm_yarn_log_report_list *list)
{
    struct nm_yarn_log_report *r;

    while ((r = TAILQ_FIRST(list))) {
        TAILQ_REMOVE(list, r, link);
        free_report(r);
    }
}

void nm_yarn_log_reports_init(struct nm_yarn_log_reports *all)
{
    TAILQ_INIT(&all->pending);
    TAILQ_INIT(&all->recent);
}

void nm_yarn_log_reports_done(struct nm_yarn_log_reports *all)
{
    free_list(&all->pending);
    free_list(&all->recent);
    all->n_pending = all->n_recent = 0;
}

static bool is_final(const struct nm_yarn_log_report *r)
{
    return r->status == NM_YARN_LOG_STATUS_SUCCEEDED || r->status == NM_YARN_LOG_STATUS_FAILED;
}

/* Finds a report that a new one replaces. So an application has at most one report of each status for each heartbeat
 * that wasn't answered. */
static struct nm_yarn_log_report *find(const struct nm_yarn_log_reports *all, const struct nm_yarn_application_id *id,
                                       enum nm_yarn_log_status status)
{
    struct nm_yarn_log_report *r;

    TAILQ_FOREACH(r, &all->pending, link)
        if (!r->is_sent && r->status == status && nm_yarn_same_application(&r->id, id))
            return r;
    return NULL;
}

int nm_yarn_log_reports_add(struct nm_yarn_log_reports *all, const struct nm_yarn_application_id *id,
                            enum nm_yarn_log_status status, const char *text)
{
    struct nm_yarn_log_report *former = find(all, id, status), *r = calloc(1, sizeof *r);

    if (!r || !(r->text = nm_strdup_printf("%.*s", TEXT_MAX, text))) {
        free(r);
        return -ENOMEM;
    }
    r->id = *id;
    r->status = status;
    TAILQ_INSERT_TAIL(&all->pending, r, link);
    all->n_pending++;
    if (former) {
        TAILQ_REMOVE(&all->pending, former, link);
        all->n_pending--;
        free_report(former);
    }
    return 0;
}

bool nm_yarn_log_reports_has_pending(const struct nm_yarn_log_reports *all)
{
    return all->n_pending > 0;
}

/* ---- messages ----------------------------------------------------------------------------- */

static Yarn__LogReport *put(const struct nm_yarn_log_report *r, struct nm_arena *arena)
{
    Yarn__LogReport *m = nm_arena_alloc(arena, sizeof *m);
    Hadoop__ApplicationId *id = nm_arena_alloc(arena, sizeof *id);

    if (!m || !id)
        return NULL;
    *m = (Yarn__LogReport)YARN__LOG_REPORT__INIT;
    nm_yarn_application_message_set(id, &r->id);
    m->application = id;
    m->has_status = 1;
    m->status = (int32_t)r->status;
    m->diagnostics = r->text;
    return m;
}

int nm_yarn_log_reports_fill(struct nm_yarn_log_reports *all, struct nm_arena *arena, Yarn__LogReport ***ret,
                             size_t *ret_n)
{
    const size_t most = NM_MIN(all->n_pending, (size_t)AT_ONCE_MAX);
    Yarn__LogReport **list = nm_arena_alloc(arena, (most + 1) * sizeof *list);
    struct nm_yarn_log_report *r;
    size_t n = 0;

    if (!list)
        return -ENOMEM;
    TAILQ_FOREACH(r, &all->pending, link) {
        r->is_sent = n < most;
        if (!r->is_sent)
            continue;
        list[n] = put(r, arena);
        if (!list[n++])
            return -ENOMEM;
    }
    *ret = list;
    *ret_n = n;
    return 0;
}

static void expire(struct nm_yarn_log_reports *all, uint64_t now_usec)
{
    struct nm_yarn_log_report *r;

    while ((r = TAILQ_FIRST(&all->recent)) &&
           (all->n_recent > RECENT_MAX || nm_sub_u64(now_usec, r->answered_usec) > RECENT_USEC)) {
        TAILQ_REMOVE(&all->recent, r, link);
        all->n_recent--;
        free_report(r);
    }
}

void nm_yarn_log_reports_answered(struct nm_yarn_log_reports *all, uint64_t now_usec)
{
    struct nm_yarn_log_report *next;

    for (struct nm_yarn_log_report *r = TAILQ_FIRST(&all->pending); r; r = next) {
        next = TAILQ_NEXT(r, link);
        if (!r->is_sent)
            continue;
        TAILQ_REMOVE(&all->pending, r, link);
        all->n_pending--;
        if (!is_final(r)) {
            free_report(r);
            continue;
        }
        r->is_sent = false;
        r->answered_usec = now_usec;
        TAILQ_INSERT_TAIL(&all->recent, r, link);
        all->n_recent++;
        if (all->settled)
            all->settled(&r->id, all->userdata);
    }
    expire(all, now_usec);
}

int nm_yarn_log_reports_fill_all(struct nm_yarn_log_reports *all, struct nm_arena *arena, uint64_t now_usec,
                                 Yarn__LogReport ***ret, size_t *ret_n)
{
    struct nm_yarn_log_report_list *const lists[] = {&all->recent, &all->pending};
    struct nm_yarn_log_report *r;
    Yarn__LogReport **list;
    size_t n = 0;

    expire(all, now_usec);
    list = nm_arena_alloc(arena, (all->n_pending + all->n_recent + 1) * sizeof *list);
    if (!list)
        return -ENOMEM;
    for (size_t i = 0; i < NM_ARRAY_SIZE(lists); i++)
        TAILQ_FOREACH(r, lists[i], link) {
            list[n] = put(r, arena);
            if (!list[n++])
                return -ENOMEM;
        }
    *ret = list;
    *ret_n = n;
    return 0;
}
