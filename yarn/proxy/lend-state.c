/* SPDX-License-Identifier: Apache-2.0 */

/* What a lender knows of its application, of asks, of hidden containers and of promoted containers: see lend-stage.h.
 * */

#include "yarn/proxy/lend-stage.h"

#include <errno.h>
#include <stdarg.h>
#include <syslog.h>

#include "util/array.h"
#include "util/clock.h"
#include "yarn/id-messages.h"

/* Time for which a kind of event isn't logged again. */
#define REPORT_USEC (10 * NM_USEC_PER_SEC)

/* ---- all lenders of the node -------------------------------------------------------------------- */

void nm_lender_enlist(struct nm_lender *l)
{
    struct nm_lenders *all = &l->m->context->lenders;

    l->next = all->first;
    all->first = l;
}

void nm_lender_delist(struct nm_lender *l)
{
    struct nm_lender **at = &l->m->context->lenders.first;

    while (*at && *at != l)
        at = &(*at)->next;
    if (*at)
        *at = l->next;
}

static int64_t memory_of_queue(const struct nm_lender *l)
{
    int64_t sum = 0;

    for (const struct nm_lender *i = l->m->context->lenders.first; i; i = i->next)
        if (i == l || (i->queue && l->queue && nm_streq(i->queue, l->queue)))
            sum += NM_MIN(i->memory_mib, INT64_MAX - sum);
    return sum;
}

int64_t nm_lender_queue_left(const struct nm_lender *l)
{
    const int64_t max_mib = l->m->context->settings->lending.queue_max_mib;

    return max_mib >= 0 ? NM_MAX(max_mib - memory_of_queue(l), 0) : -1;
}

void nm_lender_count(struct nm_lender *l)
{
    const struct nm_lend_figures f = nm_lend_figures(l->books);

    l->memory_mib = NM_MAX(f.lent_memory_mib, 0) + NM_MAX(f.asked_memory_mib, 0) + NM_MAX(f.observed_now_memory_mib, 0);
}

void nm_lender_report(struct nm_lender *l, enum nm_lender_event event, int level, const char *format, ...)
{
    struct nm_lenders *all = &l->m->context->lenders;
    const uint64_t now = nm_now_usec();
    char sentence[600];
    va_list ap;
    int n;

    if (all->logged_usec[event] > 0 && now - all->logged_usec[event] < REPORT_USEC) {
        all->left_out[event]++;
        return;
    }
    va_start(ap, format);
    n = vsnprintf(sentence, sizeof sentence, format, ap);
    va_end(ap);
    if (n > 0 && (size_t)n < sizeof sentence && all->left_out[event] > 0)
        (void)snprintf(sentence + n, sizeof sentence - (size_t)n, " (%u such messages before this one were left out.)",
                       all->left_out[event]);
    all->logged_usec[event] = now;
    all->left_out[event] = 0;
    l->m->context->report_cb(level, sentence);
}

/* ---- the application ---------------------------------------------------------------------------- */

static void set_text(struct nm_lender *l, char **to, const char *text)
{
    if (*to || !text || !*text)
        return;
    *to = strdup(text);
    l->dirty |= *to != NULL;
}

void nm_lender_set_queue(struct nm_lender *l, const char *queue)
{
    set_text(l, &l->queue, queue);
}

void nm_lender_replace_queue(struct nm_lender *l, const char *queue)
{
    if (!queue || !*queue || (l->queue && nm_streq(l->queue, queue)))
        return;
    if (l->queue) {
        l->has_moved = true;
        l->ask_type_usec = 0;
    }
    free(l->queue);
    l->queue = NULL;
    nm_lender_set_queue(l, queue);
}

void nm_lender_set_type(struct nm_lender *l, const char *type)
{
    set_text(l, &l->type, type);
}

bool nm_lender_needs_distributed(const struct nm_lender *l)
{
    const struct nm_yarn_lending *s = &l->m->context->settings->lending;

    return !s->central && !s->observes && !l->m->distributed;
}

void nm_lender_choose_rule(struct nm_lender *l)
{
    const struct nm_yarn_lending_application a = {
        .user = l->m->submitter, .queue = l->queue, .type = l->type, .wish = l->m->wish};
    struct nm_lend_rule rule;

    nm_yarn_lending_choose(&l->m->context->settings->lending, &a, &l->choice);
    rule = l->choice.rule;
    if (l->unsaved || nm_lender_needs_distributed(l))
        rule.mode = NM_LEND_OFF;
    l->m->lends = NULL;
    if (rule.mode != NM_LEND_OFF && !l->m->context->settings->lending.observes && !nm_lend_is_late(l->books))
        l->m->lends = l->books;
    nm_lend_set_rule(l->books, &rule);
    nm_lend_set_labelled(l->books, l->labelled);
}

/* ---- asks for "*" ------------------------------------------------------------------------------- */

static bool has_other_resources(const Hadoop__Resource *m)
{
    for (size_t i = 0; m && i < m->n_values; i++) {
        const Hadoop__ResourceValue *v = m->values[i];

        if (v->value > 0 && v->name && !nm_streq(v->name, "memory-mb") && !nm_streq(v->name, "vcores"))
            return true;
    }
    return false;
}

struct nm_lend_ask nm_lender_ask_of(const Masters__Ask *m)
{
    const bool any = !m->where || nm_streq(m->where, "*");

    return (struct nm_lend_ask){
        .key = {m->priority ? m->priority->priority : 0, m->request_id},
        .size = {m->resource ? m->resource->memory : 0, m->resource ? m->resource->vcores : 0},
        .count = m->count,
        .any = any,
        .relax = m->relax,
        .labelled = m->partition && *m->partition,
        /* an ask that is too large to be kept is left alone like one for other resources */
        .other_resources = any && (has_other_resources(m->resource) ||
                                   protobuf_c_message_get_packed_size(&m->base) > NM_LENDER_ASK_MAX_BYTES),
        .opportunistic = m->type && m->type->execution_type == NM_LENDER_OPPORTUNISTIC,
    };
}

static struct nm_lender_ask *find_ask(const struct nm_lender *l, const struct nm_lend_key *key)
{
    for (size_t i = 0; i < l->n_asks; i++)
        if (nm_lender_same_key(&l->asks[i].is.key, key))
            return &l->asks[i];
    return NULL;
}

const struct nm_lender_ask *nm_lender_find_ask(const struct nm_lender *l, const struct nm_lend_key *key)
{
    return find_ask(l, key);
}

static void free_ask(struct nm_lender_ask *a)
{
    free((void *)(uintptr_t)a->packed.data);
    free((void *)(uintptr_t)a->former.data);
}

void nm_lender_settle_asks(struct nm_lender *l)
{
    for (size_t i = 0; i < l->n_asks; i++) {
        struct nm_lender_ask *a = &l->asks[i];

        free((void *)(uintptr_t)a->former.data);
        a->former = (struct nm_bytes){};
        a->is_new = false;
    }
}

/* The ResourceManager may have read opportunistic asks of a call before it refused the call. A new ask is kept until
 * the books have withdrawn those of its key. */
void nm_lender_take_back_asks(struct nm_lender *l)
{
    size_t n = 0;

    for (size_t i = 0; i < l->n_asks; i++) {
        struct nm_lender_ask a = l->asks[i];

        l->dirty |= a.is_new || a.former.data;
        if (a.is_new && !nm_lend_has_counts(l->books, &a.is.key)) {
            free_ask(&a);
            continue;
        }
        if (a.former.data) {
            free((void *)(uintptr_t)a.packed.data);
            a = (struct nm_lender_ask){.is = a.was, .packed = a.former};
        }
        l->asks[n++] = a;
    }
    l->n_asks = n;
}

void nm_lender_drop_asks(struct nm_lender *l)
{
    for (size_t i = 0; i < l->n_asks; i++)
        free_ask(&l->asks[i]);
    l->dirty |= l->n_asks > 0;
    l->n_asks = 0;
}

struct known_keys {
    const struct nm_lender *l;
    bool known[NM_LEND_KEYS_MAX];
};

static void mark_known(const struct nm_lend_key_view *v, void *userdata)
{
    struct known_keys *k = userdata;
    const struct nm_lender_ask *a = find_ask(k->l, &v->key);

    if (a)
        k->known[a - k->l->asks] = true;
}

/* Drops the asks of keys that the books no longer have. */
static void drop_stale_asks(struct nm_lender *l)
{
    struct known_keys k = {.l = l};
    size_t n = 0;

    nm_lend_each_key(l->books, mark_known, &k);
    for (size_t i = 0; i < l->n_asks; i++)
        if (k.known[i])
            l->asks[n++] = l->asks[i];
        else
            free_ask(&l->asks[i]);
    l->n_asks = n;
}

static int add_ask(struct nm_lender *l, const struct nm_lend_ask *ask, struct nm_bytes packed)
{
    if (l->n_asks == NM_LEND_KEYS_MAX)
        drop_stale_asks(l);
    if (l->n_asks == NM_LEND_KEYS_MAX) {
        free((void *)(uintptr_t)packed.data);
        return 0;
    }
    if (!l->asks)
        l->asks = calloc(NM_LEND_KEYS_MAX, sizeof *l->asks);
    if (!l->asks) {
        free((void *)(uintptr_t)packed.data);
        return -ENOMEM;
    }
    l->asks[l->n_asks++] = (struct nm_lender_ask){.is = *ask, .packed = packed, .is_new = true};
    l->dirty = true;
    return 0;
}

static void replace_ask(struct nm_lender_ask *a, const struct nm_lend_ask *ask, struct nm_bytes packed)
{
    if (a->is_new || a->former.data)
        free((void *)(uintptr_t)a->packed.data);
    else {
        a->was = a->is;
        a->former = a->packed;
    }
    a->is = *ask;
    a->packed = packed;
}

int nm_lender_keep_ask(struct nm_lender *l, const struct nm_lend_ask *ask, const Masters__Ask *m)
{
    struct nm_lender_ask *former;
    struct nm_bytes packed;
    uint8_t *data;
    size_t size;

    /* A master may have very many asks. Those beyond the limit of the books are left out first, because looking for a
     * place for each of them would take seconds. */
    if (!nm_lend_knows_key(l->books, &ask->key))
        return 0;
    size = protobuf_c_message_get_packed_size(&m->base);
    if (size > NM_LENDER_ASK_MAX_BYTES)
        return 0;
    former = find_ask(l, &ask->key);
    data = malloc(size + 1);
    if (!data)
        return -ENOMEM;
    packed = (struct nm_bytes){data, protobuf_c_message_pack(&m->base, data)};
    if (!former)
        return add_ask(l, ask, packed);
    l->dirty |= !nm_bytes_equal(former->packed, packed);
    replace_ask(former, ask, packed);
    return 0;
}

/* ---- hidden containers -------------------------------------------------------------------------- */

bool nm_lender_is_hidden(struct nm_lender *l, const struct nm_yarn_container_id *id, bool ended)
{
    for (size_t i = 0; i < l->n_hidden; i++)
        if (nm_yarn_same_container(&l->hidden[i].id, id)) {
            if (ended)
                l->hidden[i].is = NM_LENDER_ENDED;
            return true;
        }
    return false;
}

/* Removes the hidden containers with that state, or only the oldest. */
static void drop_hidden(struct nm_lender *l, int is, bool only_one)
{
    size_t n = 0;
    bool dropped = false;

    for (size_t i = 0; i < l->n_hidden; i++)
        if ((int)l->hidden[i].is == is && !(only_one && dropped))
            dropped = true;
        else
            l->hidden[n++] = l->hidden[i];
    l->n_hidden = n;
    l->dirty |= dropped;
}

int nm_lender_hide(struct nm_lender *l, const struct nm_yarn_container_id *id)
{
    if (!l->hidden)
        l->hidden = calloc(NM_LENDER_HIDDEN_MAX, sizeof *l->hidden);
    if (!l->hidden)
        return -ENOMEM;
    if (l->n_hidden == NM_LENDER_HIDDEN_MAX)
        drop_hidden(l, NM_LENDER_RELEASED, true);
    if (l->n_hidden == NM_LENDER_HIDDEN_MAX)
        return -ENOMEM;
    l->hidden[l->n_hidden++] = (struct nm_lender_hidden){*id, NM_LENDER_KNOWN};
    l->dirty = true;
    return 0;
}

/* An answer may be repeated, so the end of a container is remembered until the next answer. */
void nm_lender_confirm_hidden(struct nm_lender *l)
{
    drop_hidden(l, NM_LENDER_ENDED, false);
    for (size_t i = 0; i < l->n_hidden; i++)
        if (l->hidden[i].is == NM_LENDER_SENT)
            l->hidden[i].is = NM_LENDER_RELEASED;
}

/* ---- promoted containers ------------------------------------------------------------------------ */

struct nm_lender_update *nm_lender_find_update(struct nm_lender *l, const struct nm_yarn_container_id *id)
{
    for (size_t i = 0; i < l->n_updates; i++)
        if (nm_yarn_same_container(&l->updates[i].id, id))
            return &l->updates[i];
    return NULL;
}

static void free_update(struct nm_lender_update *u)
{
    free(u->host);
    nm_token_free(u->token);
}

void nm_lender_drop_update(struct nm_lender *l, const struct nm_yarn_container_id *id)
{
    struct nm_lender_update *u = nm_lender_find_update(l, id);

    if (!u)
        return;
    free_update(u);
    l->n_updates--;
    (void)memmove(u, u + 1, (size_t)(l->updates + l->n_updates - u) * sizeof *u);
    l->dirty = true;
}

int nm_lender_add_update(struct nm_lender *l, const struct nm_yarn_container_id *id, const char *host, int32_t port,
                         const struct nm_token *token)
{
    struct nm_lender_update u = {.id = *id, .port = port, .host = strdup(host)};

    if (!l->updates)
        l->updates = calloc(NM_LENDER_UPDATES_MAX, sizeof *l->updates);
    if (!l->updates || !u.host || nm_token_copy(token, &u.token) < 0) {
        free(u.host);
        return -ENOMEM;
    }
    nm_lender_drop_update(l, id);
    if (l->n_updates == NM_LENDER_UPDATES_MAX)
        nm_lender_drop_update(l, &l->updates[0].id);
    l->updates[l->n_updates++] = u;
    l->dirty = true;
    return 0;
}
