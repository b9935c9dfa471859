/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See rm.h. If a page fails, the whole poll fails, except for the pages of single applications and nodes: an
 * application may end between two pages, and a node may be slow. Such an application or node is marked as not seen, and
 * choose.c then keeps the nodes.
 */

#include "nmscale/rm.h"

#include "nmscale/parse.h"
#include "util/error.h"

#define MOST_CLUSTER (UINT64_C(128) << 20) /* 20,000 nodes take about 30 MiB, 50,000 applications about 80 */
#define MOST_ONE (UINT64_C(64) << 20)      /* limit for one application or node: 0.7 KiB for each container */
#define APPS_ASKED 2000 /* maximum number of applications per poll: each needs two pages, and more would take too
                           long */
#define SILENT_MOST 5 /* after this many consecutive nodes have given no answer, the other nodes aren't asked */

struct page {
    char *body;
    size_t size;
};

static void page_done(struct page *p)
{
    free(p->body);
}

/* Gets a page. All messages begin with the address, because several addresses may be configured. */
static int get(struct nm_scale_rm *rm, const char *base, const char *path, size_t most, struct page *ret,
               char **ret_message)
{
    _cleanup_free_ char *url = NULL, *location = NULL, *message = NULL;
    int r;

    if (asprintf(&url, "%s%s", base, path) < 0) {
        url = NULL;
        return -ENOMEM;
    }
    r = nm_scale_http_get(rm->http, url, most, &ret->body, &ret->size, &location, &message);
    if (r < 0)
        return nm_fail(ret_message, r, "%s: %s", url, message ? message : strerror(-r));
    return 0;
}

/* Gets a page of the cluster from the active ResourceManager. */
static int get_cluster(struct nm_scale_rm *rm, const char *path, size_t most, struct page *ret, char **ret_message)
{
    return get(rm, rm->urls[rm->active], path, most, ret, ret_message);
}

/* Reports a page with invalid contents. The message begins with the page's path. */
static int wrong_page(const char *path, int r, char *message, char **ret_message)
{
    return nm_fail(ret_message, r, "%.*s: %s", (int)strcspn(path, "?"), path, message ? message : strerror(-r));
}

static int read_nodes(struct nm_scale_rm *rm, struct nm_scale_model *m, char **ret_message)
{
    static const char path[] = "/ws/v1/cluster/nodes";
    _cleanup_(page_done) struct page p = {0};
    _cleanup_free_ char *message = NULL;
    int r = get_cluster(rm, path, MOST_CLUSTER, &p, ret_message);

    if (r < 0)
        return r;
    r = nm_scale_parse_nodes(p.body, p.size, &m->nodes, &m->n_nodes, &message);
    return r < 0 ? wrong_page(path, r, message, ret_message) : 0;
}

static int read_demand(struct nm_scale_rm *rm, struct nm_scale_model *m, char **ret_message)
{
    static const char path[] = "/ws/v1/cluster/metrics";
    _cleanup_(page_done) struct page p = {0};
    _cleanup_free_ char *message = NULL;
    int r = get_cluster(rm, path, MOST_ONE, &p, ret_message);

    if (r < 0)
        return r;
    r = nm_scale_parse_demand(p.body, p.size, &m->demand, &message);
    return r < 0 ? wrong_page(path, r, message, ret_message) : 0;
}

/* Gets the waiting requests by partition. The page is long if the cluster has many queues, so it is fetched only if
 * nodes have labels. */
static int read_waiting(struct nm_scale_rm *rm, struct nm_scale_model *m, char **ret_message)
{
    static const char path[] = "/ws/v1/cluster/scheduler";
    _cleanup_(page_done) struct page p = {0};
    _cleanup_free_ char *message = NULL;
    int r = get_cluster(rm, path, MOST_CLUSTER, &p, ret_message);

    if (r < 0)
        return r;
    r = nm_scale_parse_waiting(p.body, p.size, &m->waiting, &m->n_waiting, &message);
    return r < 0 ? wrong_page(path, r, message, ret_message) : 0;
}

/* Takes over the words, and sets *n to 0, so that the caller doesn't free them. */
static int add_nodes(struct nm_scale_app *app, char ***words, size_t *n)
{
    char **grown = reallocarray(app->nodes, app->n_nodes + *n + 1, sizeof *grown);

    if (!grown)
        return -ENOMEM;
    if (*n > 0)
        memcpy(grown + app->n_nodes, *words, *n * sizeof **words);
    app->nodes = grown;
    app->n_nodes += *n;
    free(STEAL_PTR(*words));
    *n = 0;
    return 0;
}

/* Reads the containers of an attempt, because the REST API lists containers only by attempt. */
static int read_attempt(struct nm_scale_rm *rm, struct nm_scale_app *app, const char *attempt)
{
    _cleanup_(page_done) struct page p = {0};
    _cleanup_free_ char *path = NULL;
    char **nodes = NULL;
    size_t n = 0;
    int r;

    if (asprintf(&path, "/ws/v1/cluster/apps/%s/appattempts/%s/containers", app->id, attempt) < 0) {
        path = NULL;
        return -ENOMEM;
    }
    r = get_cluster(rm, path, MOST_ONE, &p, NULL);
    if (r >= 0)
        r = nm_scale_parse_containers(p.body, p.size, &nodes, &n, NULL);
    if (r >= 0)
        r = add_nodes(app, &nodes, &n);
    nm_scale_words_free(nodes, n);
    return r;
}

/* Reads an application. Only the last attempt has containers now. For earlier attempts the ResourceManager still
 * reports the node of the master. */
static int read_app(struct nm_scale_rm *rm, struct nm_scale_app *app)
{
    _cleanup_(nm_scale_attempts_done) struct nm_scale_attempts attempts = {0};
    _cleanup_(page_done) struct page p = {0};
    _cleanup_free_ char *path = NULL;
    size_t n_attempts;
    int r;

    if (asprintf(&path, "/ws/v1/cluster/apps/%s/appattempts", app->id) < 0) {
        path = NULL;
        return -ENOMEM;
    }
    r = get_cluster(rm, path, MOST_ONE, &p, NULL);
    if (r >= 0)
        r = nm_scale_parse_attempts(p.body, p.size, &attempts, NULL);
    if (r < 0)
        return r;
    n_attempts = attempts.n_ids;
    r = add_nodes(app, &attempts.nodes, &attempts.n_nodes);
    for (size_t i = 0; r >= 0 && i < n_attempts; i++)
        r = read_attempt(rm, app, attempts.ids[i]);
    /* Fresh: no attempt has had a container. If a second attempt exists, the first attempt may have left data. */
    if (r >= 0) {
        app->seen = true;
        app->fresh = app->accepted && n_attempts <= 1 && app->n_nodes == 0;
    }
    return r;
}

static int read_apps(struct nm_scale_rm *rm, struct nm_scale_model *m, char **ret_message)
{
    /* The query omits the members that make up most of the page. */
    static const char path[] = "/ws/v1/cluster/apps?states=ACCEPTED,RUNNING&deSelects=resourceRequests,timeouts,"
                               "appNodeLabelExpression,amNodeLabelExpression,resourceInfo";
    _cleanup_(page_done) struct page p = {0};
    _cleanup_free_ char *message = NULL;
    int r = get_cluster(rm, path, MOST_CLUSTER, &p, ret_message);

    if (r < 0)
        return r;
    r = nm_scale_parse_apps(p.body, p.size, &m->apps, &m->n_apps, &message);
    if (r < 0)
        return wrong_page(path, r, message, ret_message);
    /* If the request for one application fails, the application may have ended. Failures that would affect all
     * applications end the loop. */
    for (size_t i = 0; i < m->n_apps && i < APPS_ASKED; i++) {
        r = read_app(rm, &m->apps[i]);
        if (r == -ENOMEM || r == -ECANCELED || r == -ETIMEDOUT || r == -ECONNREFUSED)
            return nm_fail(ret_message, r, "can't query application %s: %s", m->apps[i].id, strerror(-r));
    }
    return 0;
}

/* Asks a NodeManager. Every failure that isn't local counts as no answer, and choose.c then keeps the node. */
static int ask_node(struct nm_scale_rm *rm, const struct nm_scale_node *n, struct nm_scale_answer *a)
{
    _cleanup_(page_done) struct page p = {0};
    _cleanup_free_ char *base = NULL;
    int r;

    if (!*n->http)
        return 0;
    if (asprintf(&base, "http://%s", n->http) < 0) {
        base = NULL;
        return -ENOMEM;
    }
    r = get(rm, base, "/ws/v1/node/apps", MOST_ONE, &p, NULL);
    if (r >= 0)
        r = nm_scale_parse_node_apps(p.body, p.size, &a->apps, &a->n_apps, NULL);
    if (r >= 0)
        a->reported = NM_SCALE_REPORTED;
    return r == -ENOMEM || r == -ECANCELED ? r : 0;
}

/* Asks the Low nodes one after the other, because empty nodes answer in milliseconds. If the nodes are unreachable, for
 * instance because of a firewall, each request would take the whole time-out. SILENT_MOST therefore limits the number
 * of attempts. */
static int ask_nodes(struct nm_scale_rm *rm, struct nm_scale_model *m, char **ret_message)
{
    unsigned silent = 0;

    m->answers = calloc(m->n_nodes + 1, sizeof *m->answers);
    if (!m->answers)
        return -ENOMEM;
    for (size_t i = 0; i < m->n_nodes; i++) {
        struct nm_scale_answer *a = &m->answers[i];
        int r;

        if (!nm_scale_is_low(&m->nodes[i]))
            continue;
        a->reported = NM_SCALE_SILENT;
        if (silent >= SILENT_MOST)
            continue;
        r = ask_node(rm, &m->nodes[i], a);
        if (r < 0)
            return nm_fail(ret_message, r, "%s", strerror(-r));
        silent = a->reported == NM_SCALE_REPORTED ? 0 : silent + 1;
    }
    return 0;
}

/* Polls the active ResourceManager. The nodes are read after the applications. If a node is Low by then, the pages of
 * the applications have already shown the containers that it had before. */
static int read_active(struct nm_scale_rm *rm, enum nm_scale_depth depth, struct nm_scale_model *ret,
                       char **ret_message)
{
    _cleanup_(nm_scale_model_done) struct nm_scale_model m = {0};
    int r = depth == NM_SCALE_FULL ? read_apps(rm, &m, ret_message) : 0;

    if (r >= 0)
        r = read_demand(rm, &m, ret_message);
    if (r >= 0)
        r = read_nodes(rm, &m, ret_message);
    if (r >= 0 && nm_scale_has_labels(&m))
        r = read_waiting(rm, &m, ret_message);
    if (r >= 0 && depth == NM_SCALE_FULL && rm->ask_nodes)
        r = ask_nodes(rm, &m, ret_message);
    if (r < 0)
        return r;
    *ret = m;
    m = (struct nm_scale_model){0}; /* the caller owns the model now */
    return 0;
}

/* Collects the messages of all addresses, so that the reader sees the failure of each. */
static void collect(char **all, const char *one, int r)
{
    char *joined = NULL;

    if (asprintf(&joined, "%s%s%s", *all ? *all : "", *all ? "; " : "", one ? one : strerror(-r)) < 0)
        return;
    free(*all);
    *all = joined;
}

int nm_scale_rm_query(struct nm_scale_rm *rm, enum nm_scale_depth depth, struct nm_scale_model *ret,
                      char **ret_message)
{
    _cleanup_free_ char *all = NULL;
    bool standby = true;
    int r = -EINVAL;

    for (size_t tried = 0; tried < rm->n_urls; tried++) {
        _cleanup_free_ char *message = NULL;

        r = read_active(rm, depth, ret, &message);
        if (r >= 0)
            return 0;
        collect(&all, message, r);
        if (r == -ENOMEM || r == -ECANCELED)
            break;
        standby = standby && r == -ELOOP;
        rm->active = (rm->active + 1) % rm->n_urls;
    }
    if (standby && r == -ELOOP)
        return nm_fail(ret_message, r, "no active ResourceManager (%s): add the address of the active one with --rm",
                       all);
    return nm_fail(ret_message, r, "%s", all ? all : strerror(-r));
}
