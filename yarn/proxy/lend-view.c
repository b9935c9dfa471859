/* SPDX-License-Identifier: Apache-2.0 */

/* See lend-view.h. */

#include "yarn/proxy/lend-view.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "util/clock.h"
#include "util/parse.h"
#include "util/utf8.h"

#define RULE_SIZE 40
#define SUMMARY_SIZE 320
#define NAME_SIZE 256
#define TEXT_SIZE (1000 + 2 * NAME_SIZE) /* with the names of the user and the queue */

const char *nm_yarn_lend_source_name(enum nm_yarn_lending_source source)
{
    static const char *const names[] = {
        [NM_YARN_LENDING_CLUSTER] = "cluster", [NM_YARN_LENDING_USER] = "user",
        [NM_YARN_LENDING_QUEUE] = "queue", [NM_YARN_LENDING_TYPE] = "type",
        [NM_YARN_LENDING_TYPES] = "types", [NM_YARN_LENDING_NO_TYPE] = "no-type",
        [NM_YARN_LENDING_APPLICATION] = "application",
    };

    return names[source];
}

/* ---- totals --------------------------------------------------------------------------------- */

static void add_counts(struct nm_lend_figures *to, const struct nm_lend_figures *f)
{
    to->granted += f->granted;
    to->adopted += f->adopted;
    to->lent_again += f->lent_again;
    to->promoted += f->promoted;
    to->preempted += f->preempted;
    to->ended += f->ended;
    to->released += f->released;
    to->observed += f->observed;
    to->observed_memory_mib += f->observed_memory_mib;
    to->observed_memory_mib_sec += f->observed_memory_mib_sec;
}

/* The difference may be below zero until the figures of all attempts are added. Unsigned numbers wrap then. */
static void subtract_counts(struct nm_lend_figures *from, const struct nm_lend_figures *f)
{
    from->granted -= f->granted;
    from->adopted -= f->adopted;
    from->lent_again -= f->lent_again;
    from->promoted -= f->promoted;
    from->preempted -= f->preempted;
    from->ended -= f->ended;
    from->released -= f->released;
    from->observed -= f->observed;
    from->observed_memory_mib -= f->observed_memory_mib;
    from->observed_memory_mib_sec -= f->observed_memory_mib_sec;
}

void nm_yarn_lend_view_restored(struct nm_yarn_lend_base *b, const struct nm_yarn_lend_view *v)
{
    const struct nm_lend_figures f = nm_lend_figures(v->books);

    add_counts(&b->restored, &f);
}

void nm_yarn_lend_view_ended(struct nm_yarn_lend_base *b, const struct nm_yarn_lend_view *v)
{
    const struct nm_lend_figures f = nm_lend_figures(v->books);

    add_counts(&b->ended, &f);
    b->attempt_ended += f.lent; /* these books don't see their ends */
}

/* Returns how many containers of a key the master waits for that are neither asked for as opportunistic ones nor would
 * be lent. */
static uint32_t held_of(const struct nm_lend_key_view *k)
{
    const uint32_t others = k->lent_asked + k->observed;

    return k->wanted > others ? k->wanted - others : 0;
}

static void add_held(const struct nm_lend_key_view *k, void *userdata)
{
    struct nm_yarn_lend_totals *t = userdata;

    t->held[k->reason] += held_of(k);
}

void nm_yarn_lend_view_sum(const struct nm_yarn_lend_view *v, struct nm_yarn_lend_totals *ret)
{
    const struct nm_lend_figures f = nm_lend_figures(v->books);

    add_counts(&ret->figures, &f);
    ret->figures.keys += f.keys;
    ret->figures.lent += f.lent;
    ret->figures.waiting += f.waiting;
    ret->figures.asked += f.asked;
    ret->figures.lent_memory_mib += f.lent_memory_mib;
    ret->figures.asked_memory_mib += f.asked_memory_mib;
    ret->figures.observed_now += f.observed_now;
    ret->figures.wanted += f.wanted;
    if (f.oldest_since_usec > 0)
        ret->oldest_usec = NM_MAX(ret->oldest_usec, nm_sub_u64(v->now_usec, f.oldest_since_usec));
    nm_lend_each_key(v->books, add_held, ret);
    ret->exists = true;
}

void nm_yarn_lend_view_fill(const struct nm_yarn_lend_base *b, struct nm_yarn_lend_totals *ret)
{
    add_counts(&ret->figures, &b->ended);
    subtract_counts(&ret->figures, &b->restored);
    ret->attempt_ended += b->attempt_ended;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

/* Converts a time of the books to the time of day. 0: the time is not known. */
static json_t *time_of_day(uint64_t usec, uint64_t now_usec)
{
    return usec > 0 ? json_integer((json_int_t)nm_sub_u64(nm_realtime_usec(), nm_sub_u64(now_usec, usec)))
                    : json_null();
}

/* The ResourceManager has sent the text, so it may not be UTF-8. */
static json_t *text_or_null(const char *s)
{
    return s ? json_stringn(s, nm_utf8_prefix(s)) : json_null();
}

/* Returns an integer of JSON, which is signed. */
static json_int_t int_of(uint64_t v)
{
    return v > INT64_MAX ? INT64_MAX : (json_int_t)v;
}

static json_int_t bytes_of(uint64_t mib)
{
    return mib > INT64_MAX / NM_MIB ? INT64_MAX : (json_int_t)(mib * NM_MIB);
}

static uint64_t not_negative(int64_t v)
{
    return v > 0 ? (uint64_t)v : 0;
}

static json_int_t bytes_of_size(const struct nm_lend_size *s)
{
    return bytes_of(not_negative(s->memory_mib));
}

/* Returns the members that an attempt and the totals share. */
static json_t *figures_to_json(const struct nm_lend_figures *f)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "lent",
                     int_of(f->lent), "lent_memory_bytes", bytes_of(not_negative(f->lent_memory_mib)), "queued",
                     int_of(f->waiting), "asked", int_of(f->asked), "asked_memory_bytes",
                     bytes_of(not_negative(f->asked_memory_mib)), "wanted", int_of(f->wanted), "granted",
                     int_of(f->granted), "adopted", int_of(f->adopted), "lent_again", int_of(f->lent_again),
                     "promoted", int_of(f->promoted), "preempted", int_of(f->preempted), "ended", int_of(f->ended),
                     "released", int_of(f->released), "observed", int_of(f->observed), "observed_memory_bytes",
                     bytes_of(f->observed_memory_mib), "observed_memory_byte_seconds",
                     bytes_of(f->observed_memory_mib_sec));
}

struct key_list {
    json_t *array; /* NULL: no memory */
    size_t max, total;
    uint64_t now_usec;
};

static json_t *key_to_json(const struct nm_lend_key_view *k, uint64_t now_usec)
{
    return json_pack("{s:i, s:I, s:I, s:i, s:I, s:I, s:I, s:I, s:o, s:s, s:s, s:o}", "priority", (int)k->key.priority,
                     "request_id", (json_int_t)k->key.request_id, "memory_bytes", bytes_of_size(&k->size),
                     "vcores", (int)k->size.vcores, "wanted", (json_int_t)k->wanted, "asked",
                     (json_int_t)k->lent_asked, "lent", (json_int_t)k->lent, "observed", (json_int_t)k->observed,
                     "since_usec",
                     time_of_day(k->since_usec, now_usec), "reason", nm_lend_reason_name(k->reason),
                     "reason_text", nm_lend_reason_text(k->reason), "backs_off_until_usec",
                     k->backs_off_until_usec > now_usec
                         ? json_integer(int_of(nm_realtime_usec() + (k->backs_off_until_usec - now_usec)))
                         : json_null());
}

static void add_key(const struct nm_lend_key_view *k, void *userdata)
{
    struct key_list *list = userdata;

    if (k->wanted == 0 && k->lent == 0)
        return;
    list->total++;
    if (!list->array || list->total > list->max)
        return;
    if (json_array_append_new(list->array, key_to_json(k, list->now_usec)) < 0) {
        json_decref(list->array);
        list->array = NULL;
    }
}

json_t *nm_yarn_lend_view_to_json(const struct nm_yarn_lend_view *v, bool with_names, size_t max_keys)
{
    const struct nm_lend_figures f = nm_lend_figures(v->books);
    struct key_list list = {json_array(), max_keys, 0, v->now_usec};
    json_t *o = figures_to_json(&f), *of_rule;
    char rule[RULE_SIZE];

    nm_lend_each_key(v->books, add_key, &list);
    nm_yarn_lending_format_choice(&v->choice, rule, sizeof rule);
    of_rule = json_pack("{s:s, s:s, s:b, s:b, s:b, s:o, s:o, s:o, s:I, s:o}", "rule", rule, "source",
                        nm_yarn_lend_source_name(v->choice.source), "wish_invalid", (int)v->choice.wish_invalid,
                        "registered_before", (int)nm_lend_is_late(v->books), "unsaved", (int)v->unsaved, "queue",
                        text_or_null(with_names ? v->queue : NULL), "application_type", text_or_null(v->type),
                        "oldest_since_usec", time_of_day(f.oldest_since_usec, v->now_usec), "keys_total",
                        (json_int_t)list.total, "keys", list.array);
    if (!o || !of_rule || json_object_update(o, of_rule) < 0) {
        json_decref(o);
        o = NULL;
    }
    json_decref(of_rule);
    return o;
}

/* ---- queues --------------------------------------------------------------------------------- */

static const char *const queue_sums[] = {"lent", "lent_memory_bytes", "queued", "wanted", "promoted", "preempted"};

static json_t *find_queue(json_t *queues, const char *name)
{
    json_t *q;
    size_t i;

    json_array_foreach(queues, i, q)
        if (nm_streq(json_string_value(json_object_get(q, "queue")), name))
            return q;
    q = json_pack("{s:s, s:i}", "queue", name, "applications", 0);
    return q && json_array_append_new(queues, q) == 0 ? q : NULL;
}

static int add_integer(json_t *o, const char *name, json_int_t v)
{
    return json_object_set_new(o, name, json_integer(json_integer_value(json_object_get(o, name)) + v));
}

static int add_to_queue(json_t *queues, const json_t *lending)
{
    const char *name = json_string_value(json_object_get(lending, "queue"));
    json_t *q = name ? find_queue(queues, name) : NULL;
    int r = q ? add_integer(q, "applications", 1) : name ? -1 : 0;

    for (size_t i = 0; q && r == 0 && i < NM_ARRAY_SIZE(queue_sums); i++)
        r = add_integer(q, queue_sums[i], json_integer_value(json_object_get(lending, queue_sums[i])));
    return r;
}

static json_t *make_queues(const json_t *pipelines)
{
    json_t *queues = json_array();
    const json_t *p;
    size_t i;

    json_array_foreach(pipelines, i, p)
        if (queues && add_to_queue(queues, json_object_get(p, "lending")) < 0) {
            json_decref(queues);
            queues = NULL;
        }
    return queues;
}

static json_t *held_to_json(const struct nm_yarn_lend_totals *t)
{
    json_t *o = json_object();

    for (enum nm_lend_reason i = 0; o && i < NM_LEND_N_REASONS; i++)
        if (json_object_set_new(o, nm_lend_reason_name(i), json_integer(int_of(t->held[i]))) < 0) {
            json_decref(o);
            o = NULL;
        }
    return o;
}

json_t *nm_yarn_lend_view_totals_to_json(const struct nm_yarn_lend_totals *t, const json_t *pipelines)
{
    json_t *o = figures_to_json(&t->figures);
    json_t *more = json_pack("{s:I, s:b, s:o, s:o, s:o, s:n}", "attempt_ended", int_of(t->attempt_ended), "observes",
                             (int)t->observes, "oldest_usec",
                             t->oldest_usec > 0 ? json_integer(int_of(t->oldest_usec)) : json_null(), "held",
                             held_to_json(t), "queues", make_queues(pipelines), "record");

    if (!o || !more || json_object_update(o, more) < 0) {
        json_decref(o);
        o = NULL;
    }
    json_decref(more);
    return o;
}

/* ---- metrics -------------------------------------------------------------------------------- */

static void write_one(const struct nm_metric_writer *w, const char *name, enum nm_metric_type type, const char *help,
                      double value)
{
    w->family(w->to, name, type, help);
    w->sample(w->to, name, NULL, value);
}

static void write_events(const struct nm_yarn_lend_totals *t, const struct nm_metric_writer *w)
{
    static const char name[] = "nm_lending_containers_total";
    const struct nm_lend_figures *f = &t->figures;
    const struct {
        const char *event;
        uint64_t n;
    } events[] = {{"granted", f->granted}, {"adopted", f->adopted}, {"lent_again", f->lent_again},
                  {"promoted", f->promoted}, {"preempted", f->preempted}, {"ended", f->ended},
                  {"attempt_ended", t->attempt_ended}, {"released", f->released}};

    w->family(w->to, name, NM_METRIC_COUNTER, "Lent containers by event.");
    for (size_t i = 0; i < NM_ARRAY_SIZE(events); i++)
        w->sample(w->to, name, &(struct nm_metric_label){"event", events[i].event}, (double)events[i].n);
}

void nm_yarn_lend_view_write_metrics(const struct nm_yarn_lend_totals *t, const struct nm_metric_writer *w)
{
    static const char held[] = "nm_lending_held_containers";
    const struct nm_lend_figures *f = &t->figures;

    write_one(w, "nm_lending_lent_containers", NM_METRIC_GAUGE,
              "Containers that are lent to applications of this node's masters.", f->lent);
    write_one(w, "nm_lending_lent_memory_bytes", NM_METRIC_GAUGE, "Memory of these containers.",
              (double)f->lent_memory_mib * (double)NM_MIB);
    write_one(w, "nm_lending_queued_containers", NM_METRIC_GAUGE, "Of these, containers in the queue of a node.",
              f->waiting);
    write_one(w, "nm_lending_asked_containers", NM_METRIC_GAUGE,
              "Containers that are asked for as opportunistic ones and not granted yet.", f->asked);
    write_one(w, "nm_lending_wanted_containers", NM_METRIC_GAUGE,
              "Guaranteed containers that masters wait for, including those asked for as opportunistic ones.",
              (double)f->wanted);
    write_one(w, "nm_lending_oldest_seconds", NM_METRIC_GAUGE,
              "Time for which the oldest container has been lent.", (double)t->oldest_usec / (double)NM_USEC_PER_SEC);
    w->family(w->to, held, NM_METRIC_GAUGE, "Containers that masters wait for and that are not lent, by reason.");
    for (enum nm_lend_reason i = 0; i < NM_LEND_N_REASONS; i++)
        w->sample(w->to, held, &(struct nm_metric_label){"reason", nm_lend_reason_name(i)}, (double)t->held[i]);
    write_events(t, w);
    write_one(w, "nm_lending_observed_containers_total", NM_METRIC_COUNTER,
              "Containers that would have been lent, where nmd.lending is observe.", (double)f->observed);
    write_one(w, "nm_lending_observed_memory_byte_seconds_total", NM_METRIC_COUNTER,
              "Memory of these containers multiplied by the time that they waited after they would have been lent.",
              (double)f->observed_memory_mib_sec * (double)NM_MIB);
}

/* ---- sentences ------------------------------------------------------------------------------ */

static const char *size_text(const struct nm_lend_size *s, char *buf, size_t size)
{
    (void)snprintf(buf, size, "%" PRId64 " MiB and %" PRId32 " vcore%s", s->memory_mib, s->vcores,
                   nm_plural(s->vcores));
    return buf;
}

/* The application's user has chosen the type. With a line feed, it would look like a sentence of nmd. */
static void print_type(FILE *f, const char *type)
{
    const size_t n = nm_utf8_prefix(type);

    fputs("Nothing is lent to this application, because nmd.lending.types doesn't list its type, ", f);
    for (size_t i = 0; i < n; i++)
        (void)fputc((unsigned char)type[i] < ' ' ? '?' : type[i], f);
    fputs(".\n", f);
}

static void print_source(FILE *f, const struct nm_yarn_lend_view *v)
{
    char rule[RULE_SIZE];

    nm_yarn_lending_format_choice(&v->choice, rule, sizeof rule);
    if (v->choice.wish_invalid && v->choice.source == NM_YARN_LENDING_APPLICATION)
        fprintf(f, "Nothing is lent to this application, because its NMD_LEND is not a rule. Allowed are on, off, "
                   "overflow:SECONDS, percent:N and all.\n");
    else if (v->choice.source == NM_YARN_LENDING_TYPES)
        print_type(f, v->type ?: "");
    else if (v->choice.source == NM_YARN_LENDING_NO_TYPE)
        fprintf(f, "Nothing is lent to this application yet, because the ResourceManager has not told its type yet.\n");
    else if (v->choice.source == NM_YARN_LENDING_QUEUE && !v->queue)
        fprintf(f, "Nothing is lent to this application yet, because its master has not registered yet.\n");
    else if (v->choice.source == NM_YARN_LENDING_APPLICATION)
        fprintf(f, "The rule of lending for this application is %s, from its NMD_LEND.\n", rule);
    else if (v->choice.source == NM_YARN_LENDING_CLUSTER)
        fprintf(f, "The rule of lending for this application is %s, from nmd.lending.\n", rule);
    else
        fprintf(f, "The rule of lending for this application is %s, from nmd.lending.%s.NAME for its %s.\n", rule,
                nm_yarn_lend_source_name(v->choice.source), nm_yarn_lend_source_name(v->choice.source));
    if (v->choice.lacks_wish)
        fprintf(f, "Nothing is lent to it, because its master has no NMD_LEND.\n");
}

static void print_figures(FILE *f, const struct nm_lend_figures *n)
{
    fprintf(f, "Lent now: %" PRIu32 " container%s with %" PRId64 " MiB, of which %" PRIu32 " wait%s in the queue of a "
               "node. %" PRIu32 " more %s asked for as opportunistic.\n", n->lent, nm_plural(n->lent),
            n->lent_memory_mib, n->waiting, n->waiting == 1 ? "s" : "", n->asked, n->asked == 1 ? "is" : "are");
    fprintf(f, "Until now: %" PRIu64 " lent", n->granted);
    if (n->adopted > 0)
        fprintf(f, " and %" PRIu64 " taken over from earlier attempts", n->adopted);
    if (n->lent_again > 0)
        fprintf(f, " and %" PRIu64 " lent again because the ResourceManager was restarted during their promotion",
                n->lent_again);
    fprintf(f, ", of which %" PRIu64 " were promoted, %" PRIu64 " preempted, and %" PRIu64 " ended otherwise.\n",
            n->promoted, n->preempted, n->ended);
    if (n->observed > 0)
        fprintf(f, "Would have been lent: %" PRIu64 " container%s with %" PRIu64 " MiB in all.\n", n->observed,
                nm_plural((double)n->observed), n->observed_memory_mib);
}

struct key_printer {
    FILE *f;
    uint64_t now_usec;
};

static void print_key(const struct nm_lend_key_view *k, void *userdata)
{
    const struct key_printer *p = userdata;
    char size[80], waited[32] = "", left[32];

    if (k->wanted == 0 && k->lent == 0)
        return;
    fprintf(p->f, "Priority %" PRId32, k->key.priority);
    if (k->key.request_id > 0)
        fprintf(p->f, ", request %" PRId64, k->key.request_id);
    fprintf(p->f, ", %s: %" PRIu32 " wanted", size_text(&k->size, size, sizeof size), k->wanted);
    if (k->wanted > 0 && k->since_usec > 0)
        fprintf(p->f, " (the oldest for %s)",
                nm_format_duration(nm_sub_u64(p->now_usec, k->since_usec), waited, sizeof waited));
    fprintf(p->f, ", %" PRIu32 " asked for as opportunistic, %" PRIu32 " lent.", k->lent_asked, k->lent);
    if (k->observed > 0)
        fprintf(p->f, " %" PRIu32 " would be lent.", k->observed);
    if (held_of(k) > 0 && k->reason != NM_LEND_LENT)
        fprintf(p->f, " The rest is not lent: it %s", nm_lend_reason_text(k->reason));
    if (held_of(k) > 0 && k->reason != NM_LEND_LENT && k->backs_off_until_usec > p->now_usec)
        fprintf(p->f, " (for another %s)",
                nm_format_duration(k->backs_off_until_usec - p->now_usec, left, sizeof left));
    fprintf(p->f, "%s\n", held_of(k) > 0 && k->reason != NM_LEND_LENT ? "." : "");
}

static json_t *make_answer(const char *container, const char *attempt, json_t *time, const char *summary,
                           const char *explanation)
{
    return json_pack("{s:s, s:s, s:o, s:n, s:n, s:s, s:s}", "container_id", container, "attempt_id", attempt,
                     "time_usec", time, "application", "container", "summary", summary, "explanation", explanation);
}

json_t *nm_yarn_lend_view_explain_master(const struct nm_yarn_lend_view *v, const char *container, const char *attempt,
                                         bool with_names)
{
    const struct nm_lend_figures n = nm_lend_figures(v->books);
    _cleanup_free_ char *text = NULL;
    struct key_printer p = {.now_usec = v->now_usec};
    char summary[SUMMARY_SIZE], rule[RULE_SIZE];
    json_t *o = NULL;
    size_t size = 0;

    p.f = open_memstream(&text, &size);
    if (!p.f)
        return NULL;
    print_source(p.f, v);
    if (nm_lend_is_late(v->books))
        fprintf(p.f, "Nothing is lent to it until its master registers again, because the master registered before "
                     "lending was enabled on this node.\n");
    if (v->unsaved)
        fprintf(p.f, "Nothing more is lent to it until nmd can save what it has lent (see nmd's log).\n");
    print_figures(p.f, &n);
    nm_lend_each_key(v->books, print_key, &p);
    nm_yarn_lending_format_choice(&v->choice, rule, sizeof rule);
    (void)snprintf(summary, sizeof summary, "%s: %" PRIu32 " lent, %" PRIu64 " wanted", rule, n.lent, n.wanted);
    if (fclose(p.f) == 0)
        o = make_answer(container, attempt, json_integer(int_of(nm_realtime_usec())), summary, text);
    if (o && json_object_set_new(o, "application", nm_yarn_lend_view_to_json(v, with_names, NM_LEND_KEYS_MAX)) < 0) {
        json_decref(o);
        o = NULL;
    }
    return o;
}

/* Appends text. Text beyond the size of the buffer is cut. */
nm_printf(3, 4) static void add(char *buf, size_t size, const char *format, ...)
{
    const size_t n = strlen(buf);
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(buf + n, size - n, format, ap);
    va_end(ap);
}

/* Returns the time from `from` to `to` as text. */
static const char *passed(uint64_t from, uint64_t to, char *buf, size_t size)
{
    return nm_format_duration(nm_sub_u64(to, from), buf, size);
}

/* Adds how the container came to be lent. The books don't know this of a container of an earlier attempt. */
static void add_lent(const struct nm_lend_history *h, char *buf, size_t size)
{
    char t[32];

    if (h->asked_usec > 0)
        add(buf, size, "lent after %s without a grant", passed(h->asked_usec, h->lent_usec, t, sizeof t));
    else
        add(buf, size, "lent to an earlier attempt of the application");
    if (h->asked_usec > 0 && h->adoptions == 1)
        add(buf, size, "; taken over by a later attempt %s later", passed(h->lent_usec, h->adopted_usec, t, sizeof t));
    else if (h->asked_usec > 0 && h->adoptions > 1)
        add(buf, size, "; taken over by %" PRIu32 " later attempts, the last time %s later", h->adoptions,
            passed(h->lent_usec, h->adopted_usec, t, sizeof t));
}

/* Adds the promotion, and what the master itself has asked for. The books keep the last one of each. */
static void add_updates(const struct nm_lend_history *h, char *buf, size_t size)
{
    char t[32];

    if (h->promoted_usec > 0 && (h->demoted_usec == 0 || h->promoted_usec < h->demoted_usec))
        add(buf, size, "; promoted %s later", passed(h->lent_usec, h->promoted_usec, t, sizeof t));
    if (h->demoted_usec == 0)
        return;
    add(buf, size, "; its master has demoted it %s later", passed(h->lent_usec, h->demoted_usec, t, sizeof t));
    if (h->promoted_usec > h->demoted_usec)
        add(buf, size, " and promoted it %s later", passed(h->lent_usec, h->promoted_usec, t, sizeof t));
}

static void summarize(const struct nm_lend_history *h, char *buf, size_t size)
{
    char t[32];

    (void)snprintf(buf, size, "asked for as guaranteed; ");
    add_lent(h, buf, size);
    add_updates(h, buf, size);
    if (h->ended_usec > 0)
        add(buf, size, "; %s %s after it was lent", h->preempted      ? "preempted"
                                                    : h->with_attempt ? "the application's attempt ended"
                                                                      : "ended",
            passed(h->lent_usec, h->ended_usec, t, sizeof t));
    else if (h->promoted_usec == 0)
        add(buf, size, "; %s", h->running  ? "runs as opportunistic"
                               : h->queued ? "waits in the queue of its node"
                                           : "its node hasn't reported yet whether it runs");
}

/* Adds a name that the ResourceManager has sent, with a limit. */
static void add_name(const char *words, const char *name, char *buf, size_t size)
{
    char part[NAME_SIZE];

    (void)snprintf(part, sizeof part, "%s", name);
    add(buf, size, "%s%.*s", words, (int)nm_utf8_prefix(part), part);
}

/* Adds the application. attempt: the last one that has had the container. */
static void add_borrower(const struct nm_yarn_lend_view *v, const struct nm_lend_history *h, const char *attempt,
                         bool with_names, char *buf, size_t size)
{
    char first[NM_YARN_ID_SIZE];

    (void)nm_yarn_attempt_id_format(&h->id.attempt, first);
    if (h->adoptions > 0 && !nm_streq(first, attempt))
        add(buf, size, "It was lent to %s and taken over by %s", first, attempt);
    else
        add(buf, size, "It was lent to %s", attempt);
    if (with_names && v->user)
        add_name(" of the user ", v->user, buf, size);
    if (with_names && v->queue)
        add_name(" in the queue ", v->queue, buf, size);
    add(buf, size, ".\n");
}

/* The first line is the summary, as a sentence. */
static void explain(const struct nm_lend_history *h, uint64_t now_usec, const char *summary, char *buf, size_t size)
{
    char t[32], amount[80];

    (void)snprintf(buf, size, "A%s.\nThe container has %s at priority %" PRId32, summary + 1,
                   size_text(&h->size, amount, sizeof amount), h->key.priority);
    if (h->asked_usec > 0 && h->mode != NM_LEND_OFF)
        add(buf, size, ". It was lent by the mode %s", nm_lend_mode_name(h->mode));
    add(buf, size, ".\n");
    if (h->demoted_usec > 0)
        add(buf, size, "It is what its master has asked for since then: nmd does not promote it, and shows its updates "
            "and its end as they are.\n");
    else if (h->ended_usec > 0 && h->preempted)
        add(buf, size, "Its node took resources back. The application was told that it was preempted, which frameworks "
            "don't count as a failure.\n");
    else if (h->ended_usec == 0 && h->promoted_usec > 0)
        add(buf, size, "It is a guaranteed container now.\n");
    else if (h->ended_usec == 0)
        add(buf, size, "It has been lent for %s. It is promoted when its queue and its node have guaranteed room for "
            "it.\n", passed(h->lent_usec, now_usec, t, sizeof t));
}

static const char *state_of(const struct nm_lend_history *h)
{
    return h->ended_usec > 0      ? h->preempted ? "preempted" : "ended"
           : h->promoted_usec > h->demoted_usec ? "promoted"
           : h->demoted_usec > 0 ? "demoted"
           : h->running           ? "running"
           : h->queued            ? "queued"
                                  : "granted";
}

json_t *nm_yarn_lend_view_explain_container(const struct nm_yarn_lend_view *v, const struct nm_lend_history *h,
                                            const char *container, const char *attempt, bool with_names)
{
    char summary[SUMMARY_SIZE], text[TEXT_SIZE];
    json_t *o, *own;

    summarize(h, summary, sizeof summary);
    explain(h, v->now_usec, summary, text, sizeof text);
    add_borrower(v, h, attempt, with_names, text, sizeof text);
    o = make_answer(container, attempt, time_of_day(h->lent_usec, v->now_usec), summary, text);
    own = json_pack("{s:i, s:I, s:I, s:i, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "priority", (int)h->key.priority,
                    "request_id", (json_int_t)h->key.request_id, "memory_bytes", bytes_of_size(&h->size),
                    "vcores", (int)h->size.vcores, "mode", nm_lend_mode_name(h->mode), "state", state_of(h),
                    "asked_usec", time_of_day(h->asked_usec, v->now_usec), "lent_usec",
                    time_of_day(h->lent_usec, v->now_usec), "adopted_usec",
                    time_of_day(h->adopted_usec, v->now_usec), "promoted_usec",
                    time_of_day(h->promoted_usec, v->now_usec), "demoted_usec",
                    time_of_day(h->demoted_usec, v->now_usec),
                    "ended_usec", time_of_day(h->ended_usec, v->now_usec));
    if (o && json_object_set_new(o, "container", own) == 0)
        return o;
    json_decref(o);
    return NULL;
}
