/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See stage.h. The state is saved before a call is forwarded, and before an answer is given. If it can't be saved, the
 * call goes on, and nothing more is lent until it can be saved.
 */

#include "yarn/proxy/stage.h"

#include <errno.h>
#include <syslog.h>

#include "util/clock.h"
#include "yarn/proxy/lend-stage.h"

static int lend_request(void *stage, struct nm_stage_call *c, struct nm_exception *why)
{
    struct nm_lender *l = stage;

    (void)why;
    if (c->method != NM_MASTERS_ALLOCATE)
        return 0;
    nm_lender_step(l);
    return nm_lender_change_request(l, c);
}

static int lend_answer(void *stage, struct nm_stage_call *c, const ProtobufCMessage **answer, struct nm_exception *why)
{
    struct nm_lender *l = stage;
    int r = 0;

    (void)why;
    if (c->method == NM_MASTERS_REGISTER)
        nm_lender_answer_register(l, (const Masters__RegisterMasterAnswer *)*answer);
    else if (c->method == NM_MASTERS_ALLOCATE)
        r = nm_lender_answer_allocate(l, c, answer);
    if (c->method != NM_MASTERS_FINISH)
        nm_lender_step(l);
    return r;
}

static bool lend_refused(void *stage, const struct nm_stage_call *c)
{
    return c->method == NM_MASTERS_ALLOCATE && nm_lender_handle_refused(stage, c);
}

static void lend_view(const void *stage, struct nm_yarn_lend_view *ret)
{
    const struct nm_lender *l = stage;

    *ret = (struct nm_yarn_lend_view){.books = l->books, .choice = l->choice, .queue = l->queue, .type = l->type,
                                      .user = l->m->submitter, .master = l->m->container,
                                      .now_usec = nm_steady_usec(), .unsaved = l->unsaved,
                                      .former = l->former};
}

static void lend_close(void *stage)
{
    nm_lender_free(stage);
}

/* A state that can't be read must not cost the master its pipeline. Its containers then look opportunistic, and nothing
 * is lent to it until it registers. */
static int take_kept(struct nm_lender *l, struct nm_bytes kept)
{
    int r = nm_lender_restore(l, kept);

    if (r == -EBADMSG) {
        nm_lender_clear(l);
        nm_lender_report(l, NM_LENDER_NOT_RESTORED, LOG_WARNING,
                         "The proxy can't read what it has lent to %s before its restart.", l->m->name);
        r = 0;
    }
    return r;
}

/* The state of a master that started while nothing could be lent contains no books. Its asks and its opportunistic
 * containers from that time aren't known, so nothing may be lent to it until it registers. */
static int make_books(struct nm_lender *l, const struct nm_yarn_stored_master *kept)
{
    int r = kept && kept->lending.size > 0 ? take_kept(l, kept->lending) : 0;

    if (r < 0 || l->books)
        return r;
    return kept ? nm_lender_begin_late(l) : nm_lend_new(&l->books);
}

/* The timer fires when the loop runs: then the type of the application is asked for. */
static int lend_open(struct nm_stage_master *m, const struct nm_yarn_stored_master *kept, void **ret)
{
    _cleanup_(nm_lender_freep) struct nm_lender *l = calloc(1, sizeof *l);
    int r;

    if (!l)
        return -ENOMEM;
    l->m = m;
    m->observed_on = nm_lender_observed_on;
    m->observer = l;
    nm_lender_enlist(l);
    r = make_books(l, kept);
    if (r == 0)
        r = sd_event_add_time_relative(m->context->event, &l->timer, CLOCK_BOOTTIME, 0, 100 * NM_USEC_PER_MSEC,
                                       nm_lender_on_timer, l);
    if (r < 0)
        return r;
    nm_lender_choose_rule(l);
    nm_lender_count(l);
    *ret = STEAL_PTR(l);
    return 0;
}

const struct nm_stage_type nm_stage_lend = {
    .name = "lend",
    .class_name = "nmd.lending",
    .open = lend_open,
    .close = lend_close,
    .request = lend_request,
    .answer = lend_answer,
    .refused = lend_refused,
    .keep = nm_lender_persist,
    .inherit = nm_lender_inherit,
    .lending = lend_view,
};
