/* SPDX-License-Identifier: Apache-2.0 */

/* Creation, end and list of the pipelines: see pipeline.h. */

#include "yarn/proxy/pipeline-state.h"

#include <errno.h>
#include <syslog.h>

#include "util/clock.h"
#include "util/error.h"
#include "yarn/id-messages.h"

/* Returns what is lent to the attempt. `books` is NULL if the chain has no stage that lends. */
static struct nm_yarn_lend_view lending_of(const struct nm_pipeline *p)
{
    struct nm_yarn_lend_view v = {};

    for (size_t i = 0; i < p->all->n_types; i++)
        if (p->all->types[i]->lending && p->stages[i])
            p->all->types[i]->lending(p->stages[i], &v);
    return v;
}

/* Counts what an earlier nmd has lent to the attempt (restored), or what was lent to an attempt that ends. */
static void count_lending(const struct nm_pipeline *p, bool restored)
{
    const struct nm_yarn_lend_view v = lending_of(p);

    if (v.books)
        nm_yarn_proxy_stats_lending(p->all->context->stats, &v, restored);
}

/* ---- creation and end ------------------------------------------------------------------------- */

static struct nm_pipeline *free_pipeline(struct nm_pipeline *p)
{
    if (!p)
        return NULL;
    for (size_t i = p->all->n_types; i-- > 0;)
        if (p->stages[i])
            p->all->types[i]->close(p->stages[i]);
    nm_token_free(p->m.token);
    free(p->m.submitter);
    free(p->m.wish);
    explicit_bzero(&p->used_key, sizeof p->used_key);
    explicit_bzero(&p->given_key, sizeof p->given_key);
    free(p);
    return NULL;
}
NM_DEFINE_CLEANUP(struct nm_pipeline *, free_pipeline)

static int make_pipeline(struct nm_pipelines *all, const struct nm_yarn_container_id *master, const char *submitter,
                         const char *wish, const struct nm_yarn_stored_master *kept, struct nm_pipeline **ret)
{
    _cleanup_(free_pipelinep) struct nm_pipeline *p = calloc(1, sizeof *p);
    int r = 0;

    if (!p)
        return -ENOMEM;
    p->all = all;
    p->m = (struct nm_stage_master){.context = all->context, .attempt = master->attempt, .container = *master,
                                    .submitter = strdup(submitter), .wish = wish ? strdup(wish) : NULL,
                                    .save = nm_pipeline_save};
    p->state = kept && kept->registered.size > 0 ? "running" : "starting";
    p->since_realtime_usec = kept ? kept->since_realtime_usec : nm_realtime_usec();
    p->given_key = kept ? kept->given_key : *nm_yarn_local_keys_signing(all->keys);
    if (kept)
        p->used_key = kept->used_key;
    for (size_t i = 0; i < all->n_types; i++)
        p->m.distributed |= all->types[i]->distributed;
    (void)nm_yarn_attempt_id_format(&master->attempt, p->m.name);
    if (!p->m.submitter || (wish && !p->m.wish))
        return -ENOMEM;
    for (size_t i = 0; r == 0 && i < all->n_types; i++)
        r = all->types[i]->open(&p->m, kept, &p->stages[i]);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(p);
    return 0;
}

static void add_pipeline(struct nm_pipelines *all, struct nm_pipeline *p)
{
    p->next = all->first;
    all->first = p;
}

/* Ends all pipelines for which matches() returns true. */
static void end_some(struct nm_pipelines *all, bool (*matches)(const struct nm_yarn_attempt_id *a, const void *b),
                     const void *b)
{
    struct nm_pipeline **at = &all->first;

    while (*at) {
        const uint64_t began_usec = nm_now_usec();
        struct nm_pipeline *p = *at;

        if (!matches(&p->m.attempt, b)) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        count_lending(p, false);
        nm_yarn_proxy_store_drop(&all->context->store, &p->m.attempt);
        free_pipeline(p);
        nm_yarn_proxy_stats_answered(all->context->stats, NM_MASTER_STOP, nm_now_usec() - began_usec);
    }
}

static bool is_of_application(const struct nm_yarn_attempt_id *a, const void *b)
{
    return nm_yarn_same_application(&a->application, b);
}

static bool is_attempt(const struct nm_yarn_attempt_id *a, const void *b)
{
    return nm_yarn_same_attempt(a, b);
}

static bool is_earlier_or_same(const struct nm_yarn_attempt_id *a, const void *b)
{
    const struct nm_yarn_attempt_id *later = b;

    return nm_yarn_same_application(&a->application, &later->application) && a->number <= later->number;
}

void nm_pipelines_end_attempt(struct nm_pipelines *all, const struct nm_yarn_attempt_id *attempt)
{
    end_some(all, is_attempt, attempt);
}

void nm_pipelines_end_application(struct nm_pipelines *all, const struct nm_yarn_application_id *application)
{
    end_some(all, is_of_application, application);
}

struct living {
    nm_pipelines_lives_t lives;
    void *userdata;
};

static bool is_stray(const struct nm_yarn_attempt_id *a, const void *b)
{
    const struct living *l = b;

    return !l->lives(l->userdata, &a->application);
}

void nm_pipelines_end_strays(struct nm_pipelines *all, nm_pipelines_lives_t lives, void *userdata)
{
    const struct living l = {lives, userdata};

    end_some(all, is_stray, &l);
}

/* Lets the stages take over what they need from the newest earlier attempt on this node. */
static void inherit(const struct nm_pipelines *all, struct nm_pipeline *p)
{
    const struct nm_pipeline *former = NULL;

    for (const struct nm_pipeline *i = all->first; i; i = i->next)
        if (is_of_application(&i->m.attempt, &p->m.attempt.application) && i->m.attempt.number < p->m.attempt.number &&
            (!former || i->m.attempt.number > former->m.attempt.number))
            former = i;
    for (size_t i = 0; former && i < all->n_types; i++)
        if (all->types[i]->inherit)
            all->types[i]->inherit(p->stages[i], former->stages[i]);
}

int nm_pipeline_begin(struct nm_pipelines *all, const struct nm_yarn_container_id *master, const char *submitter,
                      const char *wish, struct nm_token **theirs)
{
    const uint64_t began_usec = nm_now_usec();
    _cleanup_(free_pipelinep) struct nm_pipeline *p = NULL;
    int r = make_pipeline(all, master, submitter, wish, NULL, &p);

    if (r == 0) {
        inherit(all, p);
        end_some(all, is_earlier_or_same, &master->attempt);
        p->m.token = *theirs;
        r = nm_pipeline_save(&p->m);
    }
    if (r < 0) {
        if (p)
            p->m.token = NULL;
        nm_yarn_proxy_stats_failed(all->context->stats, NM_MASTER_START);
        return r;
    }
    *theirs = NULL;
    add_pipeline(all, STEAL_PTR(p));
    nm_yarn_proxy_stats_answered(all->context->stats, NM_MASTER_START, nm_now_usec() - began_usec);
    return 0;
}

static void take_up(const struct nm_yarn_stored_master *kept, void *userdata)
{
    const struct nm_yarn_container_id master = {kept->attempt, kept->master_number};
    const uint64_t began_usec = nm_now_usec();
    struct nm_pipelines *all = userdata;
    _cleanup_(free_pipelinep) struct nm_pipeline *p = NULL;
    int r = make_pipeline(all, &master, kept->submitter, kept->wish, kept, &p);

    if (r == 0)
        r = nm_token_copy(&kept->token, &p->m.token);
    if (r < 0) {
        nm_yarn_proxy_stats_failed(all->context->stats, NM_MASTER_RECOVER);
        all->context->report_cb(LOG_WARNING, "The proxy can't restore the saved state of an application master.");
        return;
    }
    count_lending(p, true);
    add_pipeline(all, STEAL_PTR(p));
    nm_yarn_proxy_stats_answered(all->context->stats, NM_MASTER_RECOVER, nm_now_usec() - began_usec);
}

static void find_lent(const struct nm_yarn_stored_master *kept, void *userdata)
{
    *(bool *)userdata |= kept->lending.size > 0;
}

/* If lending is disabled now, but an earlier nmd has lent to a master, that master still needs the stage: it withdraws
 * what is asked for, and translates the ends of lent containers. Its rule then is "off", so it lends nothing. */
static int keep_lending(struct nm_pipelines *all)
{
    bool lent = false;
    int r;

    if (all->context->settings->lending.enabled || all->n_types == NM_STAGES_MAX)
        return 0;
    r = nm_yarn_proxy_store_load_masters(&all->context->store, find_lent, &lent);
    if (r < 0 || !lent)
        return r;
    memmove(&all->types[1], &all->types[0], all->n_types++ * sizeof all->types[0]);
    all->types[0] = &nm_stage_lend;
    return 0;
}

int nm_pipelines_new(struct nm_stage_context *context, const struct nm_yarn_local_keys *keys, struct nm_pipelines **ret,
                     char **ret_message)
{
    _cleanup_(nm_pipelines_freep) struct nm_pipelines *all = calloc(1, sizeof *all);
    int r;

    if (!all)
        return -ENOMEM;
    all->context = context;
    all->keys = keys;
    r = nm_stages_choose(context->settings, all->types, &all->n_types, ret_message);
    if (r == 0)
        r = keep_lending(all);
    if (r == 0)
        r = nm_yarn_proxy_store_load_masters(&context->store, take_up, all);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(all);
    return 0;
}

struct nm_pipelines *nm_pipelines_free(struct nm_pipelines *all)
{
    if (!all)
        return NULL;
    for (struct nm_pipeline *p; (p = all->first);) {
        all->first = p->next;
        free_pipeline(p);
    }
    free(all);
    return NULL;
}

struct nm_pipeline *nm_pipelines_find(const struct nm_pipelines *all, const struct nm_yarn_attempt_id *attempt)
{
    struct nm_pipeline *p = all->first;

    while (p && !nm_yarn_same_attempt(&p->m.attempt, attempt))
        p = p->next;
    return p;
}

/* ---- queries ---------------------------------------------------------------------------------- */

static struct nm_yarn_pipeline_view view_of(const struct nm_pipeline *p, bool with_user, char master[NM_YARN_ID_SIZE])
{
    struct nm_yarn_pipeline_view v = {
        .attempt = p->m.name, .master = nm_yarn_container_id_format(&p->m.container, master),
        .user = with_user ? p->m.submitter : NULL, .state = p->state,
        .since_realtime_usec = p->since_realtime_usec,
        .last_allocate_realtime_usec = p->last_allocate_realtime_usec, .lending = lending_of(p)};

    for (size_t i = 0; i < p->all->n_types; i++)
        if (p->all->types[i]->figures)
            v.figures = p->all->types[i]->figures(p->stages[i]);
    return v;
}

json_t *nm_pipelines_to_json(const struct nm_pipelines *all, nm_pipelines_may_see_t may_see, void *userdata,
                             bool with_users)
{
    json_t *list = json_array();

    for (const struct nm_pipeline *p = all->first; list && p; p = p->next) {
        char master[NM_YARN_ID_SIZE];
        const struct nm_yarn_pipeline_view v = view_of(p, with_users, master);

        if (may_see(userdata, master) && json_array_append_new(list, nm_yarn_proxy_stats_pipeline(&v)) < 0) {
            json_decref(list);
            list = NULL;
        }
    }
    return list;
}

void nm_pipelines_sum(const struct nm_pipelines *all, struct nm_yarn_master_stats *ret)
{
    for (const struct nm_pipeline *p = all->first; p; p = p->next) {
        char master[NM_YARN_ID_SIZE];
        const struct nm_yarn_pipeline_view v = view_of(p, false, master);

        nm_yarn_proxy_stats_sum(&v, ret);
    }
}

/* ---- what is lent as a container --------------------------------------------------------------- */

/* Containers are searched for by the texts of their ids, because two ids may have the same text (ids.h). */
struct search {
    const char *text;
    struct nm_lend_history found;
    bool is_found;
};

static void compare_text(const struct nm_lend_history *h, void *userdata)
{
    struct search *s = userdata;
    char text[NM_YARN_ID_SIZE];

    if (s->is_found || !nm_streq(nm_yarn_container_id_format(&h->id, text), s->text))
        return;
    s->found = *h;
    s->is_found = true;
}

/* Returns whether the text may be that of a container of the application. Otherwise its containers needn't be
 * compared. */
static bool may_be_of(const char *container, const struct nm_yarn_application_id *application)
{
    char text[NM_YARN_ID_SIZE];

    return strstr(container, strchr(nm_yarn_application_id_format(application, text), '_'));
}

static json_t *explain_lending(const struct nm_pipeline *p, const char *container, const char *master, bool with_names)
{
    const struct nm_yarn_lend_view v = lending_of(p);
    struct search s = {.text = container};

    if (!v.books)
        return NULL;
    if (nm_streq(container, master))
        return nm_yarn_lend_view_explain_master(&v, container, p->m.name, with_names);
    nm_lend_each_history(v.books, compare_text, &s);
    if (v.former && !s.is_found)
        nm_lend_each_history(v.former, compare_text, &s);
    return s.is_found ? nm_yarn_lend_view_explain_container(&v, &s.found, container, p->m.name, with_names)
                      : NULL;
}

json_t *nm_pipelines_explain_lending(const struct nm_pipelines *all, const char *container,
                                     nm_pipelines_may_see_t may_see, void *userdata, bool with_names)
{
    json_t *found = NULL;

    for (const struct nm_pipeline *p = all->first; !found && p; p = p->next) {
        char master[NM_YARN_ID_SIZE];

        if (may_be_of(container, &p->m.attempt.application) &&
            may_see(userdata, nm_yarn_container_id_format(&p->m.container, master)))
            found = explain_lending(p, container, master, with_names);
    }
    return found;
}
