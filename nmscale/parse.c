/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See parse.h. All pages have the same structure: an object that contains an object that contains a list. An empty list
 * is null, {} or missing, and older releases write a list of one element as the element itself.
 */

#include "nmscale/parse.h"

#include <inttypes.h>
#include <jansson.h>

#include "util/error.h"

static inline void json_freep(json_t **j)
{
    json_decref(*j);
}
#define _cleanup_json_ _cleanup_(json_freep)

static int wrong(char **ret_message, const char *what, const char *expected)
{
    return nm_fail(ret_message, -EBADMSG, "%s is not %s", what, expected);
}

/* Parses JSON. jansson itself refuses deep nesting and invalid UTF-8. */
static int load(const char *text, size_t size, json_t **ret, char **ret_message)
{
    json_error_t error;
    json_t *j = json_loadb(text, size, 0, &error);

    if (!j)
        return nm_fail(ret_message, -EBADMSG, "it is not JSON: %s, in line %d", error.text, error.line);
    if (!json_is_object(j)) {
        json_decref(j);
        return wrong(ret_message, "the document", "an object");
    }
    *ret = j;
    return 0;
}

/* A page with one list in it. */
struct page {
    json_t *root;
    json_t *list; /* borrowed; NULL: the list is empty; an object: a list of one element */
};

static void page_done(struct page *p)
{
    json_decref(p->root);
}

/* Returns the length of the list, 1 if the list is a single object. */
static size_t page_size(const struct page *p)
{
    return json_is_array(p->list) ? json_array_size(p->list) : p->list ? 1 : 0;
}

static json_t *page_entry(const struct page *p, size_t i)
{
    return json_is_array(p->list) ? json_array_get(p->list, i) : p->list;
}

/* Returns whether the page has no outer object, as the page of containers (3.4). */
static bool is_bare(const char *outer)
{
    return nm_streq(outer, "containers");
}

/* Finds the list. A text without the outer name is another page, or an error page in JSON. */
static int find_list(json_t *root, const char *outer, const char *inner, json_t **ret, char **ret_message)
{
    json_t *o = json_object_get(root, outer), *list;

    if (!o && is_bare(outer))
        o = root;
    if (!o)
        return nm_fail(ret_message, -EBADMSG, "the answer has no member \"%s\"", outer);
    if (!json_is_null(o) && !json_is_object(o))
        return wrong(ret_message, outer, "an object");
    list = json_object_get(o, inner);
    if (list && !json_is_null(list) && !json_is_array(list) && !json_is_object(list))
        return wrong(ret_message, inner, "a list");
    *ret = json_is_null(list) ? NULL : list;
    return 0;
}

/* Opens a page, and checks the number of entries before the caller allocates memory for them. */
static int open_page(const char *text, size_t size, const char *outer, const char *inner, size_t most,
                     struct page *ret, char **ret_message)
{
    _cleanup_json_ json_t *root = NULL;
    struct page p = {0};
    int r = load(text, size, &root, ret_message);

    if (r >= 0)
        r = find_list(root, outer, inner, &p.list, ret_message);
    if (r < 0)
        return r;
    if (page_size(&p) > most)
        return nm_fail(ret_message, -E2BIG, "\"%s\" has %zu entries; nmscale takes at most %zu", inner, page_size(&p),
                       most);
    for (size_t i = 0; i < page_size(&p); i++)
        if (!json_is_object(page_entry(&p, i)))
            return wrong(ret_message, inner, "a list of objects");
    p.root = STEAL_PTR(root);
    *ret = p;
    return 0;
}

/* Checks a word from YARN that is written to files, URLs and terminals: printable ASCII without blanks. */
static bool is_word(const char *s)
{
    size_t n = strlen(s);

    if (n > NM_SCALE_WORD_MAX)
        return false;
    for (size_t i = 0; i < n; i++)
        if (s[i] <= ' ' || s[i] > '~' || strchr("\"'\\#<>", s[i]))
            return false;
    return true;
}

static int copy_word(const char *s, const char *name, char **ret, char **ret_message)
{
    char *copy;

    if (!is_word(s))
        return nm_fail(ret_message, -EBADMSG, "\"%s\" is not a word of printable ASCII, at most %d long", name,
                       NM_SCALE_WORD_MAX);
    copy = strdup(s);
    if (!copy)
        return -ENOMEM;
    *ret = copy;
    return 0;
}

/* Reads a word. A needed word must exist and must not be empty. Another word may be missing, and is then "". */
static int take_word(const json_t *o, const char *name, bool needed, char **ret, char **ret_message)
{
    const json_t *j = json_object_get(o, name);
    const char *s;

    if (j && !json_is_null(j) && !json_is_string(j))
        return nm_fail(ret_message, -EBADMSG, "\"%s\" is not a string", name);
    s = json_is_string(j) ? json_string_value(j) : "";
    if (needed && !*s)
        return nm_fail(ret_message, -EBADMSG, "\"%s\" is missing or empty", name);
    return copy_word(s, name, ret, ret_message);
}

/* Reads a count. Negative counts become 0: the number of free vcores is negative if the scheduler uses memory only. */
static int take_count(const json_t *o, const char *name, bool needed, uint64_t *ret, char **ret_message)
{
    const json_t *j = json_object_get(o, name);
    json_int_t v;

    if (!needed && (!j || json_is_null(j))) {
        *ret = 0;
        return 0;
    }
    if (!json_is_integer(j))
        return nm_fail(ret_message, -EBADMSG, "\"%s\" is %s", name, j ? "not a whole number" : "missing");
    v = json_integer_value(j);
    *ret = v < 0 ? 0 : NM_MIN((uint64_t)v, (uint64_t)1 << 50); /* the limit makes sums of 20,000 counts fit into 64
                                                                  bits */
    return 0;
}

/* Reads the partition. A node is in at most one partition. The partition is written as a list with one label, or as an
 * empty list. */
static int take_label(const json_t *o, char **ret, char **ret_message)
{
    const json_t *j = json_object_get(o, "nodeLabels");
    const char *s;

    if (json_is_array(j))
        j = json_array_get(j, 0);
    s = json_is_string(j) ? json_string_value(j) : "";
    return copy_word(s, "nodeLabels", ret, ret_message);
}

/* Reads a node. Values that decisions depend on must exist. Values that only newer releases have count as 0 if they are
 * missing. */
static int take_node(const json_t *o, struct nm_scale_node *n, char **ret_message)
{
    const struct {
        const char *name;
        bool needed;
        uint64_t *to;
    } counts[] = {
        {"numContainers", true, &n->containers},
        {"numRunningOpportContainers", false, &n->opportunistic},
        {"numQueuedContainers", false, &n->queued},
        {"usedMemoryMB", true, &n->used_mb},
        {"usedVirtualCores", true, &n->used_vcores},
        {"availMemoryMB", true, &n->free_mb},
        {"availableVirtualCores", true, &n->free_vcores},
    };
    int r = take_word(o, "id", true, &n->id, ret_message);

    if (r >= 0)
        r = take_word(o, "nodeHostName", true, &n->host, ret_message);
    if (r >= 0)
        r = take_word(o, "nodeHTTPAddress", false, &n->http, ret_message);
    if (r >= 0)
        r = take_word(o, "state", true, &n->state, ret_message);
    if (r >= 0)
        r = take_label(o, &n->label, ret_message);
    for (size_t i = 0; r >= 0 && i < NM_ARRAY_SIZE(counts); i++)
        r = take_count(o, counts[i].name, counts[i].needed, counts[i].to, ret_message);
    return r;
}

/* Parses the page. Like the other functions below, fails for the whole page if an entry is invalid, because decisions
 * without this entry could be wrong. */
int nm_scale_parse_nodes(const char *text, size_t size, struct nm_scale_node **ret, size_t *ret_n,
                         char **ret_message)
{
    _cleanup_(page_done) struct page p = {0};
    _cleanup_(nm_scale_model_done) struct nm_scale_model m = {0};
    int r = open_page(text, size, "nodes", "node", NM_SCALE_NODES_MAX, &p, ret_message);

    if (r < 0)
        return r;
    m.nodes = calloc(page_size(&p) + 1, sizeof *m.nodes);
    if (!m.nodes)
        return -ENOMEM;
    for (m.n_nodes = 0; r >= 0 && m.n_nodes < page_size(&p); m.n_nodes++)
        r = take_node(page_entry(&p, m.n_nodes), &m.nodes[m.n_nodes], ret_message);
    if (r < 0)
        return r;
    *ret_n = m.n_nodes;
    *ret = STEAL_PTR(m.nodes);
    m.n_nodes = 0;
    return 0;
}

/* Reads an application. The page was requested by state: an application that isn't RUNNING is ACCEPTED, or has changed
 * its state meanwhile. In the latter case it must be counted too. */
static int take_app(const json_t *o, struct nm_scale_app *a, char **ret_message)
{
    _cleanup_free_ char *state = NULL;
    int r = take_word(o, "id", true, &a->id, ret_message);

    if (r >= 0)
        r = take_word(o, "state", true, &state, ret_message);
    if (r >= 0)
        a->accepted = !nm_streq(state, "RUNNING");
    return r;
}

int nm_scale_parse_apps(const char *text, size_t size, struct nm_scale_app **ret, size_t *ret_n,
                        char **ret_message)
{
    _cleanup_(page_done) struct page p = {0};
    _cleanup_(nm_scale_model_done) struct nm_scale_model m = {0};
    int r = open_page(text, size, "apps", "app", NM_SCALE_APPS_MAX, &p, ret_message);

    if (r < 0)
        return r;
    m.apps = calloc(page_size(&p) + 1, sizeof *m.apps);
    if (!m.apps)
        return -ENOMEM;
    for (m.n_apps = 0; r >= 0 && m.n_apps < page_size(&p); m.n_apps++)
        r = take_app(page_entry(&p, m.n_apps), &m.apps[m.n_apps], ret_message);
    if (r < 0)
        return r;
    *ret_n = m.n_apps;
    *ret = STEAL_PTR(m.apps);
    m.n_apps = 0;
    return 0;
}

/* Parses the demand. Older releases omit the sizes; requests then have size 0, which fits anywhere. */
int nm_scale_parse_demand(const char *text, size_t size, struct nm_scale_demand *ret, char **ret_message)
{
    _cleanup_json_ json_t *root = NULL;
    struct nm_scale_demand d = {0};
    const json_t *o;
    int r = load(text, size, &root, ret_message);

    if (r < 0)
        return r;
    o = json_object_get(root, "clusterMetrics");
    if (!json_is_object(o))
        return nm_fail(ret_message, -EBADMSG, "it has no object \"clusterMetrics\"");
    r = take_count(o, "containersPending", true, &d.containers, ret_message);
    if (r >= 0)
        r = take_count(o, "pendingMB", false, &d.mb, ret_message);
    if (r >= 0)
        r = take_count(o, "pendingVirtualCores", false, &d.vcores, ret_message);
    if (r >= 0)
        *ret = d;
    return r;
}

/* The waiting requests by partition, as a growing list. */
struct waiting {
    struct nm_scale_waiting *list;
    size_t n;
};

static void waiting_done(struct waiting *w)
{
    nm_scale_waiting_free(w->list, w->n);
}

static int add_waiting(struct waiting *w, char **label, uint64_t mb, uint64_t vcores, char **ret_message)
{
    struct nm_scale_waiting *grown;

    for (size_t i = 0; i < w->n; i++)
        if (nm_streq(w->list[i].label, *label)) {
            w->list[i].mb = nm_add_u64(w->list[i].mb, mb);
            w->list[i].vcores = nm_add_u64(w->list[i].vcores, vcores);
            return 0;
        }
    if (w->n == NM_SCALE_LABELS_MAX)
        return nm_fail(ret_message, -E2BIG, "there are more than %d partitions", NM_SCALE_LABELS_MAX);
    grown = reallocarray(w->list, w->n + 1, sizeof *grown);
    if (!grown)
        return -ENOMEM;
    w->list = grown;
    grown[w->n++] = (struct nm_scale_waiting){.label = STEAL_PTR(*label), .mb = mb, .vcores = vcores};
    return 0;
}

/* Reads a queue's pending requests in one partition. The metrics cover the default partition. */
static int take_usage(const json_t *usage, struct waiting *w, char **ret_message)
{
    const json_t *pending = json_object_get(usage, "pending");
    _cleanup_free_ char *label = NULL;
    uint64_t mb = 0, vcores = 0;
    int r = take_word(usage, "partitionName", false, &label, ret_message);

    if (r >= 0)
        r = take_count(pending, "memory", false, &mb, ret_message);
    if (r >= 0)
        r = take_count(pending, "vCores", false, &vcores, ret_message);
    if (r < 0 || !*label || mb + vcores == 0)
        return r;
    return add_waiting(w, &label, mb, vcores, ret_message);
}

/* Adds up only the leaf queues, because a parent's sums include its children. jansson limits the depth
 * (JSON_PARSER_MAX_DEPTH), and the size of the page limits the number of queues. */
static int take_queue(const json_t *queue, struct waiting *w, char **ret_message)
{
    const json_t *children = json_object_get(json_object_get(queue, "queues"), "queue");
    const json_t *usages = json_object_get(json_object_get(queue, "resources"), "resourceUsagesByPartition");
    int r = 0;

    for (size_t i = 0; r >= 0 && i < json_array_size(children); i++)
        r = take_queue(json_array_get(children, i), w, ret_message);
    for (size_t i = 0; !children && r >= 0 && i < json_array_size(usages); i++)
        r = take_usage(json_array_get(usages, i), w, ret_message);
    return r;
}

int nm_scale_parse_waiting(const char *text, size_t size, struct nm_scale_waiting **ret, size_t *ret_n,
                           char **ret_message)
{
    _cleanup_json_ json_t *root = NULL;
    _cleanup_(waiting_done) struct waiting w = {0};
    const json_t *o;
    int r = load(text, size, &root, ret_message);

    if (r < 0)
        return r;
    o = json_object_get(json_object_get(root, "scheduler"), "schedulerInfo");
    if (!json_is_object(o))
        return nm_fail(ret_message, -EBADMSG, "it has no object \"schedulerInfo\"");
    r = take_queue(o, &w, ret_message);
    if (r < 0)
        return r;
    *ret_n = w.n;
    *ret = STEAL_PTR(w.list);
    w.n = 0;
    return 0;
}

/* A growing list of words, freed with free_words(). */
struct words {
    char **list;
    size_t n;
};

static void words_done(struct words *w)
{
    nm_scale_words_free(w->list, w->n);
}

/* Collects the word `name` of each entry. If this word is empty, collects the word `instead`, or skips the entry if
 * `instead` is NULL. */
static int collect(const struct page *p, const char *name, const char *instead, struct words *w,
                   char **ret_message)
{
    int r = 0;

    w->list = calloc(page_size(p) + 1, sizeof *w->list);
    if (!w->list)
        return -ENOMEM;
    for (size_t i = 0; r >= 0 && i < page_size(p); i++) {
        _cleanup_free_ char *word = NULL;

        r = take_word(page_entry(p, i), name, false, &word, ret_message);
        if (r >= 0 && !*word && instead) {
            free(STEAL_PTR(word));
            r = take_word(page_entry(p, i), instead, false, &word, ret_message);
        }
        if (r >= 0 && *word)
            w->list[w->n++] = STEAL_PTR(word);
    }
    return r;
}

void nm_scale_attempts_done(struct nm_scale_attempts *a)
{
    nm_scale_words_free(a->ids, a->n_ids);
    nm_scale_words_free(a->nodes, a->n_nodes);
    *a = (struct nm_scale_attempts){0};
}

int nm_scale_parse_attempts(const char *text, size_t size, struct nm_scale_attempts *ret, char **ret_message)
{
    _cleanup_(page_done) struct page p = {0};
    _cleanup_(words_done) struct words ids = {0}, nodes = {0};
    int r = open_page(text, size, "appAttempts", "appAttempt", 1000, &p, ret_message);

    if (r >= 0)
        r = collect(&p, "appAttemptId", NULL, &ids, ret_message);
    if (r >= 0)
        r = collect(&p, "nodeId", NULL, &nodes, ret_message);
    if (r < 0)
        return r;
    *ret = (struct nm_scale_attempts){.n_ids = ids.n, .n_nodes = nodes.n};
    ret->ids = STEAL_PTR(ids.list);
    ret->nodes = STEAL_PTR(nodes.list);
    ids.n = nodes.n = 0;
    return 0;
}

static int parse_words(const char *text, size_t size, const char *outer, const char *inner, const char *name,
                       const char *instead, char ***ret, size_t *ret_n, char **ret_message)
{
    _cleanup_(page_done) struct page p = {0};
    _cleanup_(words_done) struct words w = {0};
    int r = open_page(text, size, outer, inner, NM_SCALE_APPS_MAX, &p, ret_message);

    if (r >= 0)
        r = collect(&p, name, instead, &w, ret_message);
    if (r < 0)
        return r;
    *ret_n = w.n;
    *ret = STEAL_PTR(w.list);
    w.n = 0;
    return 0;
}

/* Parses containers. The member for the node has two names, depending on the release. If both names exist, their values
 * are equal. */
int nm_scale_parse_containers(const char *text, size_t size, char ***ret, size_t *ret_n, char **ret_message)
{
    return parse_words(text, size, "containers", "container", "nodeId", "assignedNodeId", ret, ret_n, ret_message);
}

int nm_scale_parse_node_apps(const char *text, size_t size, char ***ret, size_t *ret_n, char **ret_message)
{
    return parse_words(text, size, "apps", "app", "id", NULL, ret, ret_n, ret_message);
}
