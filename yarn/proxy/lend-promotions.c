/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Promotions of lent containers, and questions to other nodes and to the ResourceManager: see lend-stage.h.
 *
 * A promotion has two steps. The ResourceManager makes the container guaranteed in its own books, and answers with a
 * new token. Then the node must get this token, otherwise it continues to treat the container as opportunistic. With
 * yarn.resourcemanager.auto-update.containers the ResourceManager informs the node itself. The node gets the token
 * twice then, which is harmless.
 */

#include "yarn/proxy/lend-stage.h"

#include <errno.h>
#include <syslog.h>

#include "util/clock.h"
#include "yarn/id-messages.h"

#define STEP_USEC NM_USEC_PER_SEC
#define TYPE_RETRY_USEC (10 * NM_USEC_PER_SEC)
#define UPDATE_RETRY_MAX_SHIFT 4u /* at most 16 s between two tries */
#define REFUSALS_MAX 5u

/* ---- requests of the master ----------------------------------------------------------------------- */

/* The containers whose version the master doesn't know, sorted by their ids. */
struct hidden_versions {
    struct nm_lend_history *list; /* NULL: only count */
    size_t n;
};

static void collect_hidden(const struct nm_lend_history *h, void *userdata)
{
    struct hidden_versions *v = userdata;

    if (h->version == h->master_version || h->ended_usec > 0)
        return;
    if (v->list)
        v->list[v->n] = *h;
    v->n++;
}

static int compare_ids(const void *a, const void *b)
{
    const struct nm_lend_history *x = a, *y = b;

    return nm_lend_compare(&x->id, &y->id);
}

static int find_hidden(const struct nm_lender *l, struct nm_arena *a, struct hidden_versions *ret)
{
    struct hidden_versions v = {};

    nm_lend_each_history(l->books, collect_hidden, &v);
    if (v.n > 0) {
        v.list = nm_arena_alloc(a, v.n * sizeof *v.list);
        if (!v.list)
            return -ENOMEM;
        v.n = 0;
        nm_lend_each_history(l->books, collect_hidden, &v);
        qsort(v.list, v.n, sizeof *v.list, compare_ids);
    }
    *ret = v;
    return 0;
}

/* Returns the request with the ResourceManager's version of the container, if the master knows only an older one: the
 * ResourceManager would refuse that. A request with another version than the master has seen stays wrong. NULL: no
 * memory. */
static Masters__UpdateAsk *with_version(const struct hidden_versions *v, struct nm_arena *a, Masters__UpdateAsk *m)
{
    const struct nm_lend_history *found;
    struct nm_lend_history key;
    Masters__UpdateAsk *copy;

    if (v->n == 0 || !nm_yarn_is_container(m->id))
        return m;
    key.id = nm_yarn_container_of(m->id);
    found = bsearch(&key, v->list, v->n, sizeof key, compare_ids);
    if (!found || m->version != found->master_version)
        return m;
    copy = nm_arena_alloc(a, sizeof *copy);
    if (!copy)
        return NULL;
    *copy = *m;
    copy->has_version = 1;
    copy->version = found->version;
    return copy;
}

/* Copies the requests of the master. It may have very many, so each is looked up in a sorted list. */
static int copy_requests(const struct nm_lender *l, struct nm_arena *a, const Masters__AllocateRequest *from,
                         Masters__UpdateAsk **list)
{
    struct hidden_versions v = {};
    int r = from->n_updates > 0 ? find_hidden(l, a, &v) : 0;

    for (size_t i = 0; r == 0 && i < from->n_updates; i++) {
        list[i] = with_version(&v, a, from->updates[i]);
        r = list[i] ? 0 : -ENOMEM;
    }
    return r;
}

/* ---- asking the ResourceManager ------------------------------------------------------------------- */

static int make_ask(const struct nm_lend_promotion *p, struct nm_arena *a, Masters__UpdateAsk **ret)
{
    Masters__UpdateAsk *m = nm_arena_alloc(a, sizeof *m);

    if (!m)
        return -ENOMEM;
    *m = (Masters__UpdateAsk)MASTERS__UPDATE_ASK__INIT;
    m->id = nm_yarn_container_message_new(a, &p->id);
    m->has_version = m->has_type = m->has_execution_type = 1;
    m->version = p->version;
    m->type = NM_LENDER_PROMOTE;
    m->execution_type = NM_LENDER_GUARANTEED;
    if (!m->id)
        return -ENOMEM;
    *ret = m;
    return 0;
}

static void choose_promotions(struct nm_lender *l)
{
    struct nm_lend_promotion p;

    while (l->has_headroom && l->n_promotions < NM_LENDER_PROMOTIONS_MAX &&
           nm_lend_next_promotion(l->books, &l->headroom, nm_steady_usec(), &p) > 0) {
        l->promotions[l->n_promotions++] = p;
        l->dirty = true;
    }
}

/* Returns whether the master wants a lent container to be opportunistic, which it is. The ResourceManager doesn't
 * answer such a request, and refuses one with a wrong version. */
static bool is_demotion_of_lent(const struct nm_lender *l, const struct nm_yarn_container_id *id,
                                const Masters__UpdateAsk *m)
{
    struct nm_lend_history h;

    return m->type == NM_LENDER_DEMOTE && nm_lend_is_lent(l->books, id) &&
           nm_lend_find_history(l->books, id, &h) && m->version == h.master_version;
}

/* The ResourceManager accepts one update of a container in a call, the first one. The master's own updates come first,
 * and the promotions of their containers are left out. */
static void note_own_updates(struct nm_lender *l, const Masters__AllocateRequest *request)
{
    for (size_t i = 0; i < request->n_updates; i++)
        if (nm_yarn_is_container(request->updates[i]->id)) {
            const struct nm_yarn_container_id id = nm_yarn_container_of(request->updates[i]->id);

            nm_lend_own_update(l->books, &id, nm_steady_usec());
            if (is_demotion_of_lent(l, &id, request->updates[i]))
                nm_lend_demoted(l->books, &id, nm_steady_usec());
        }
}

/* Repeats the promotions that no answer has confirmed, except those that must not be asked for any more. */
static void repeat_promotions(struct nm_lender *l)
{
    size_t n = 0;

    for (size_t i = 0; i < l->n_promotions; i++)
        if (nm_lend_repeat_promotion(l->books, &l->promotions[i].id))
            l->promotions[n++] = l->promotions[i];
    l->dirty |= n != l->n_promotions;
    l->n_promotions = n;
}

int nm_lender_add_promotions(struct nm_lender *l, struct nm_stage_call *c, Masters__AllocateRequest *copy)
{
    const size_t n = copy->n_updates;
    Masters__UpdateAsk **list;
    int r;

    note_own_updates(l, copy);
    repeat_promotions(l);
    choose_promotions(l);
    if (n + l->n_promotions == 0)
        return 0;
    list = nm_arena_alloc(&c->arena, (n + l->n_promotions) * sizeof(*list));
    if (!list)
        return -ENOMEM;
    r = copy_requests(l, &c->arena, copy, list);
    for (size_t i = 0; r == 0 && i < l->n_promotions; i++)
        r = make_ask(&l->promotions[i], &c->arena, &list[n + i]);
    if (r < 0)
        return r;
    copy->updates = list;
    copy->n_updates = n + l->n_promotions;
    return 0;
}

/* ---- updates of containers ------------------------------------------------------------------------ */

static struct nm_peer_caller caller_of(const struct nm_lender *l)
{
    return (struct nm_peer_caller){.attempt = l->m->attempt, .submitter = l->m->submitter};
}

static void try_later(struct nm_lender_update *u)
{
    u->in_progress = false;
    u->next_usec = nm_now_usec() + (NM_USEC_PER_SEC << NM_MIN(u->failures, UPDATE_RETRY_MAX_SHIFT));
    u->failures++;
}

/* A refusal means that the container has ended, or that the node already has this version. But a node that restarts
 * refuses, too. So the update is given up after some refusals, or when the ResourceManager reports the end. */
static void on_updated(void *userdata, const struct nm_yarn_container_id *id, int error)
{
    struct nm_lender *l = userdata;
    struct nm_lender_update *u = nm_lender_find_update(l, id);

    if (!u)
        return;
    u->refusals += error == -EREMOTEIO;
    if (error == 0)
        nm_lend_set_applied(l->books, id);
    if (error == 0 || u->refusals == REFUSALS_MAX)
        nm_lender_drop_update(l, id);
    else
        try_later(u);
}

static void send_updates(struct nm_lender *l)
{
    const struct nm_peer_caller caller = caller_of(l);
    const uint64_t now = nm_now_usec();
    struct nm_arena a;

    for (size_t i = 0; i < l->n_updates; i++) {
        struct nm_lender_update *u = &l->updates[i];
        Hadoop__Token *token;
        int r;

        if (u->in_progress || u->next_usec > now)
            continue;
        nm_arena_init(&a, nm_arena_limit(2 * NM_TOKEN_PART_MAX), NULL);
        r = nm_yarn_token_message(u->token, &a, &token);
        if (r == 0)
            r = nm_peers_update(l->m->context->peers, &caller, u->host, u->port, &u->id, token, on_updated, l);
        nm_arena_done(&a);
        u->in_progress = r == 0;
        if (r < 0)
            try_later(u);
    }
}

static int note_update(struct nm_lender *l, const struct nm_yarn_container_id *id, const Masters__Container *m)
{
    struct nm_token token;

    if (!m->token || !m->node || !m->node->host)
        return 0; /* the ResourceManager informs the node itself */
    token = nm_token_from_message(m->token);
    return nm_lender_add_update(l, id, m->node->host, m->node->port, &token);
}

static void report_promoted(struct nm_lender *l, const struct nm_yarn_container_id *id)
{
    char text[NM_YARN_ID_SIZE];

    nm_lender_report(l, NM_LENDER_PROMOTED, LOG_INFO, "The lent container %s of %s is guaranteed now.",
                     nm_yarn_container_id_format(id, text), l->m->name);
}

/* An answer may be repeated because the update could not be noted. So an update is noted again then. */
int nm_lender_handle_promoted(struct nm_lender *l, const Masters__Container *m)
{
    struct nm_yarn_container_id id;
    bool is_new;
    int r;

    if (!m || !nm_yarn_is_container(m->id))
        return 0;
    id = nm_yarn_container_of(m->id);
    is_new = nm_lend_is_lent(l->books, &id);
    if (!nm_lend_promoted(l->books, &id, m->version, nm_steady_usec()))
        return 0;
    if (nm_lend_was_demoted(l->books, &id))
        return 0;
    if (is_new)
        report_promoted(l, &id);
    r = note_update(l, &id, m);
    return r < 0 ? r : 1;
}

/* ---- rooms of nodes ------------------------------------------------------------------------------- */

/* Notes that the node has a lent container as guaranteed: the ResourceManager has informed it itself, or the container
 * is lent again since a registration although its node had got the promotion. */
static void note_guaranteed(struct nm_lender *l, const struct nm_yarn_container_id *id)
{
    if (!nm_lend_set_guaranteed(l->books, id, nm_steady_usec()))
        return;
    nm_lender_drop_update(l, id);
    nm_lender_count(l);
    report_promoted(l, id);
}

/* The next call of the master saves the books. */
static void note_state(struct nm_lender *l, const struct nm_yarn_container_id *id, enum nm_peer_container_state state)
{
    char text[NM_YARN_ID_SIZE];

    if (state != NM_PEER_CONTAINER_UNKNOWN) {
        nm_lend_set_running(l->books, id, state == NM_PEER_CONTAINER_RUNNING);
        return;
    }
    if (!nm_lend_set_unknown(l->books, id, nm_steady_usec()))
        return;
    nm_lender_count(l);
    nm_lender_report(l, NM_LENDER_UNKNOWN, LOG_INFO,
                     "The lent container %s of %s counts as ended: its node has not known it for 2 minutes, and the "
                     "ResourceManager was restarted after it was lent.", nm_yarn_container_id_format(id, text),
                     l->m->name);
}

static void on_room(void *userdata, const char *host, int32_t port, int error, const struct nm_peer_room *room)
{
    struct nm_lender *l = userdata;
    struct nm_lend_node_room known = {.host = host, .port = port, .at_usec = nm_steady_usec()};

    if (error == NM_PEER_E_OTHER || error == -EREMOTEIO || error == -EACCES)
        nm_lend_set_answered(l->books, host, port);
    if (error != 0)
        return;
    known.guaranteed_free = (struct nm_lend_size){
        room->guaranteed_free_memory_mib, l->memory_only ? INT32_MAX : room->guaranteed_free_vcores};
    (void)nm_lend_set_room(l->books, &known); /* without memory, this node's containers wait for the next answer */
    for (size_t i = 0; i < room->n; i++)
        if (room->guaranteed[i])
            note_guaranteed(l, &room->ids[i]);
        else
            note_state(l, &room->ids[i], room->states[i]);
}

static void ask_rooms(struct nm_lender *l)
{
    const struct nm_peer_caller caller = caller_of(l);
    struct nm_lend_node nodes[NM_LENDER_PROMOTIONS_MAX];
    struct nm_yarn_container_id ids[NM_PEER_CONTAINERS_MAX];
    const size_t n = nm_lend_nodes_to_ask(l->books, nm_steady_usec(), nodes, NM_LENDER_PROMOTIONS_MAX);

    for (size_t i = 0; i < n; i++) {
        const size_t k = nm_lend_containers_on(l->books, nodes[i].host, nodes[i].port, ids, NM_PEER_CONTAINERS_MAX);

        (void)nm_peers_ask_room(l->m->context->peers, &caller, nodes[i].host, nodes[i].port, ids, k, on_room, l);
    }
}

/* ---- the application's type ----------------------------------------------------------------------- */

static void on_application(void *userdata, int error, const struct nm_peer_application *a)
{
    struct nm_lender *l = userdata;

    l->asks_type = false;
    l->ask_type_usec = nm_now_usec() + TYPE_RETRY_USEC;
    if (error != 0)
        return;
    l->dirty |= l->labelled != a->labelled;
    l->labelled = a->labelled;
    l->has_moved = false;
    nm_lender_set_type(l, a->type);
    nm_lender_set_queue(l, a->queue);
    nm_lender_choose_rule(l); /* the master may not call for a long time, and the status shows the rule */
}

static bool needs_application(const struct nm_lender *l)
{
    return !l->type || l->has_moved;
}

static void ask_application(struct nm_lender *l)
{
    if (!needs_application(l) || l->asks_type || l->ask_type_usec > nm_now_usec())
        return;
    l->asks_type = nm_peers_ask_application(l->m->context->peers, &l->m->attempt.application, on_application, l) == 0;
    if (!l->asks_type)
        l->ask_type_usec = nm_now_usec() + TYPE_RETRY_USEC;
}

/* ---- the timer ------------------------------------------------------------------------------------ */

void nm_lender_step(struct nm_lender *l)
{
    const bool lends = nm_lend_figures(l->books).lent > 0;

    ask_application(l);
    send_updates(l);
    if (lends)
        ask_rooms(l);
    if (lends || l->n_updates > 0 || needs_application(l)) {
        (void)sd_event_source_set_time_relative(l->timer, STEP_USEC);
        (void)sd_event_source_set_enabled(l->timer, SD_EVENT_ONESHOT);
    } else {
        (void)sd_event_source_set_enabled(l->timer, SD_EVENT_OFF);
    }
}

int nm_lender_on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    (void)source, (void)usec;
    nm_lender_step(userdata);
    return 0;
}
