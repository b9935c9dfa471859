/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See choose.h. Each node is first evaluated separately. Then candidates are selected in order, as long as enough nodes
 * remain.
 */

#include "nmscale/choose.h"

#include <errno.h>
#include <inttypes.h>

#include "util/parse.h"

/* Returns the node's memory as the sum of used and free memory, because only newer releases report the total. */
static uint64_t capacity_mb(const struct nm_scale_node *n)
{
    return n->used_mb + n->free_mb;
}

/* Compares two numbers. Doesn't subtract them, because a difference of 64 bits doesn't fit into the int that qsort()
 * needs. */
static int compare_u64(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

/* Compares verdicts. since_msec 0 means "not Low", and is sorted to the end. */
static int compare_verdicts(const void *pa, const void *pb)
{
    const struct nm_scale_verdict *a = pa, *b = pb;
    int c = compare_u64(a->reason != NM_SCALE_GIVE, b->reason != NM_SCALE_GIVE);

    if (c == 0)
        c = compare_u64(capacity_mb(a->node), capacity_mb(b->node));
    if (c == 0)
        c = compare_u64(a->node->used_vcores + a->node->free_vcores, b->node->used_vcores + b->node->free_vcores);
    if (c == 0)
        c = compare_u64(a->since_msec - 1, b->since_msec - 1);
    return c != 0 ? c : strcmp(a->node->id, b->node->id);
}

/* If the NodeManager has answered, evaluates only its answer, because the node knows its own data. The node may still
 * list ended applications, which are ignored. */
static enum nm_scale_reason reason_by_node(const struct nm_scale_memory *memory, const struct nm_scale_answer *answer,
                                           const char **ret_app)
{
    if (answer->reported == NM_SCALE_SILENT)
        return NM_SCALE_NODE_SILENT;
    for (size_t i = 0; i < answer->n_apps; i++) {
        const struct nm_scale_known_app *app = nm_scale_memory_app(memory, answer->apps[i]);

        if (app) {
            *ret_app = app->id;
            return NM_SCALE_HAS_DATA;
        }
    }
    return NM_SCALE_GIVE;
}

/* Evaluates the node by the memory (memory.h). A certain finding takes precedence over a possible finding, so that the
 * sentence names the certain one. */
static enum nm_scale_reason reason_by_memory(const struct nm_scale_memory *memory, const struct nm_scale_node *n,
                                             const struct nm_scale_rules *rules, const char **ret_app)
{
    for (size_t i = 0; i < memory->n_apps; i++)
        if (nm_scale_memory_was_on(&memory->apps[i], n->id)) {
            *ret_app = memory->apps[i].id;
            return NM_SCALE_HAS_DATA;
        }
    for (size_t i = 0; !rules->trust_unknown && i < memory->n_apps; i++)
        if (!memory->apps[i].followed) {
            *ret_app = memory->apps[i].id;
            return NM_SCALE_UNKNOWN_DATA;
        }
    return NM_SCALE_GIVE;
}

/* Compares hosts, for an index in which entries with the same host are neighbours. */
static int compare_hosts(const void *a, const void *b)
{
    return strcmp((*(const struct nm_scale_node *const *)a)->host, (*(const struct nm_scale_node *const *)b)->host);
}

/* Returns whether the node exists. If a NodeManager returned on another port, its old entry remains in the list as
 * LOST. */
static bool node_exists(const struct nm_scale_node *n)
{
    return nm_scale_is_running(n) || nm_streq(n->state, "UNHEALTHY") || nm_streq(n->state, "DECOMMISSIONING");
}

/* Marks nodes that share a host. Sorts the hosts, because comparing each pair would take 200 million comparisons for
 * 20,000 nodes. */
static int mark_shared_hosts(const struct nm_scale_model *m, bool **ret)
{
    _cleanup_free_ const struct nm_scale_node **sorted = calloc(m->n_nodes + 1, sizeof *sorted);
    _cleanup_free_ bool *shared = calloc(m->n_nodes + 1, sizeof *shared);
    size_t n = 0;

    if (!sorted || !shared)
        return -ENOMEM;
    for (size_t i = 0; i < m->n_nodes; i++)
        if (node_exists(&m->nodes[i]))
            sorted[n++] = &m->nodes[i];
    qsort(sorted, n, sizeof *sorted, compare_hosts);
    for (size_t i = 0; i + 1 < n; i++)
        if (nm_streq(sorted[i]->host, sorted[i + 1]->host))
            shared[sorted[i] - m->nodes] = shared[sorted[i + 1] - m->nodes] = true;
    *ret = STEAL_PTR(shared);
    return 0;
}

/* Evaluates a node. Reports the first reason that applies: if a node has to stay anyway, data on the node doesn't
 * matter. */
static void assess(const struct nm_scale_model *m, const struct nm_scale_memory *memory,
                   const struct nm_scale_rules *rules, bool shared, struct nm_scale_verdict *v)
{
    const struct nm_scale_node *n = v->node;
    const struct nm_scale_answer *answer = m->answers ? &m->answers[n - m->nodes] : NULL;

    v->since_msec = nm_scale_is_low(n) ? nm_scale_memory_idle_since(memory, n->id) : 0;
    if (!nm_scale_is_running(n))
        v->reason = NM_SCALE_NOT_RUNNING;
    else if (!nm_scale_is_low(n))
        v->reason = NM_SCALE_IN_USE;
    else if (shared)
        v->reason = NM_SCALE_SHARED_HOST;
    else if (v->since_msec == 0 || memory->looked_msec - v->since_msec < rules->idle_for_msec)
        v->reason = NM_SCALE_IDLE_SHORT;
    else if (answer && answer->reported != NM_SCALE_NOT_ASKED)
        v->reason = reason_by_node(memory, answer, &v->app);
    else
        v->reason = reason_by_memory(memory, n, rules, &v->app);
}

/* The remaining nodes and demand, updated for each node that is selected. */
struct stock {
    const struct nm_scale_model *model;
    const struct nm_scale_rules *rules;
    uint64_t running, taken;
    uint64_t fits; /* waiting requests that fit on the remaining nodes */
};

/* Returns how many waiting requests fit on the node. Uses the mean size of the requests, because the metrics contain no
 * other size. A single huge request among many small requests isn't detected. */
static uint64_t fits_on(const struct stock *s, const struct nm_scale_node *n)
{
    return nm_scale_fits(&s->model->demand, n->free_mb, n->free_vcores);
}

/* The remaining nodes of a partition without the node in question. */
struct rest {
    uint64_t nodes, mb, vcores;
};

/* Sums up the partition: of the nodes before `i`, only those that stay count; all later nodes count. */
static struct rest rest_of_partition(const struct nm_scale_verdict *verdicts, size_t i, size_t n)
{
    struct rest rest = {0};

    for (size_t k = 0; k < n; k++) {
        const struct nm_scale_node *node = verdicts[k].node;

        if (k == i || (k < i && verdicts[k].reason == NM_SCALE_GIVE) || !nm_scale_is_running(node) ||
            !nm_streq(node->label, verdicts[i].node->label))
            continue;
        rest.nodes++;
        rest.mb += node->free_mb;
        rest.vcores += node->free_vcores;
    }
    return rest;
}

/* Returns whether waiting requests need the node. The requests that the metrics count can run only on nodes of the
 * default partition. */
static bool is_wanted(const struct stock *s, const struct nm_scale_node *n)
{
    uint64_t fits = fits_on(s, n);

    return fits > 0 && s->fits - fits < s->model->demand.containers;
}

static enum nm_scale_reason count_off(struct stock *s, const struct nm_scale_verdict *verdicts, size_t i, size_t n)
{
    const struct nm_scale_node *node = verdicts[i].node;
    struct rest rest = *node->label ? rest_of_partition(verdicts, i, n) : (struct rest){0};

    /* Demand is checked first: if demand keeps a node, a lower --min-nodes would not help. */
    if (*node->label ? nm_scale_is_short(s->model, node->label, rest.mb, rest.vcores) : is_wanted(s, node))
        return NM_SCALE_DEMAND;
    if (s->running <= s->rules->min_nodes)
        return NM_SCALE_MIN_NODES;
    if (*node->label && rest.nodes < s->rules->min_per_label)
        return NM_SCALE_MIN_LABEL;
    if (s->taken >= s->rules->at_most)
        return NM_SCALE_AT_MOST;
    s->running--;
    s->taken++;
    if (!*node->label)
        s->fits -= fits_on(s, node);
    return NM_SCALE_GIVE;
}

int nm_scale_choose(const struct nm_scale_model *model, const struct nm_scale_memory *memory,
                    const struct nm_scale_rules *rules, struct nm_scale_verdict **ret)
{
    _cleanup_free_ struct nm_scale_verdict *v = calloc(model->n_nodes + 1, sizeof *v);
    _cleanup_free_ bool *shared = NULL;
    struct stock stock = {.model = model, .rules = rules};
    int r = mark_shared_hosts(model, &shared);

    if (r < 0 || !v)
        return -ENOMEM;
    for (size_t i = 0; i < model->n_nodes; i++) {
        const struct nm_scale_node *n = &model->nodes[i];

        v[i].node = n;
        assess(model, memory, rules, shared[i], &v[i]);
        if (!nm_scale_is_running(n))
            continue;
        stock.running++;
        if (!*n->label)
            stock.fits += fits_on(&stock, n);
    }
    /* The first sort puts the least useful nodes first for the selection. The second sort moves the nodes that the
     * selection has kept to the end. */
    qsort(v, model->n_nodes, sizeof *v, compare_verdicts);
    for (size_t i = 0; i < model->n_nodes && v[i].reason == NM_SCALE_GIVE; i++)
        v[i].reason = count_off(&stock, v, i, model->n_nodes);
    qsort(v, model->n_nodes, sizeof *v, compare_verdicts);
    *ret = STEAL_PTR(v);
    return 0;
}

static bool is_among(const struct nm_scale_capacity *list, size_t n, const char *id)
{
    for (size_t i = 0; i < n; i++)
        if (nm_streq(list[i].id, id))
            return true;
    return false;
}

static bool default_wants(const struct nm_scale_model *model, const struct nm_scale_capacity *removed, size_t n)
{
    uint64_t rest = 0, theirs = 0;

    for (size_t i = 0; i < n; i++)
        if (!*removed[i].label)
            theirs += nm_scale_fits(&model->demand, removed[i].mb, removed[i].vcores);
    for (size_t i = 0; theirs > 0 && i < model->n_nodes; i++) {
        const struct nm_scale_node *node = &model->nodes[i];

        if (nm_scale_is_running(node) && !*node->label && !is_among(removed, n, node->id))
            rest += nm_scale_fits(&model->demand, node->free_mb, node->free_vcores);
    }
    return theirs > 0 && rest < model->demand.containers;
}

static bool partition_wants(const struct nm_scale_model *model, const char *label,
                            const struct nm_scale_capacity *removed, size_t n)
{
    uint64_t mb = 0, vcores = 0;
    bool theirs = false;

    for (size_t i = 0; i < n; i++)
        theirs = theirs || nm_streq(removed[i].label, label);
    for (size_t i = 0; theirs && i < model->n_nodes; i++) {
        const struct nm_scale_node *node = &model->nodes[i];

        if (!nm_scale_is_running(node) || !nm_streq(node->label, label) || is_among(removed, n, node->id))
            continue;
        mb += node->free_mb;
        vcores += node->free_vcores;
    }
    return theirs && nm_scale_is_short(model, label, mb, vcores);
}

bool nm_scale_demand_has_returned(const struct nm_scale_model *model, const struct nm_scale_capacity *removed, size_t n)
{
    for (size_t i = 0; i < model->n_waiting; i++)
        if (partition_wants(model, model->waiting[i].label, removed, n))
            return true;
    return default_wants(model, removed, n);
}

/* Returns a name that scripts depend on: the names are part of the interface, and must not change. */
const char *nm_scale_reason_name(enum nm_scale_reason reason)
{
    static const char *const names[NM_SCALE_REASONS] = {
        [NM_SCALE_GIVE] = "give",
        [NM_SCALE_NOT_RUNNING] = "not-running",
        [NM_SCALE_IN_USE] = "in-use",
        [NM_SCALE_SHARED_HOST] = "shared-host",
        [NM_SCALE_IDLE_SHORT] = "idle-short",
        [NM_SCALE_HAS_DATA] = "has-data",
        [NM_SCALE_UNKNOWN_DATA] = "unknown-data",
        [NM_SCALE_NODE_SILENT] = "node-silent",
        [NM_SCALE_DEMAND] = "demand",
        [NM_SCALE_MIN_NODES] = "min-nodes",
        [NM_SCALE_MIN_LABEL] = "min-label",
        [NM_SCALE_AT_MOST] = "at-most",
    };

    return reason < NM_SCALE_REASONS ? names[reason] : "unknown";
}

/* Explains the use of a node. Names first what a person would check first: containers, then containers that the
 * scheduler doesn't count, then other use. */
static void in_use_text(const struct nm_scale_node *n, char *buf, size_t size)
{
    if (n->containers > 0)
        (void)snprintf(buf, size, "in use: %" PRIu64 " container%s, %" PRIu64 " of %" PRIu64 " MiB", n->containers,
                       n->containers == 1 ? "" : "s", n->used_mb, capacity_mb(n));
    else if (n->opportunistic + n->queued > 0)
        (void)snprintf(buf, size, "in use: %" PRIu64 " opportunistic containers run, %" PRIu64 " wait",
                       n->opportunistic, n->queued);
    else
        (void)snprintf(buf, size, "in use: %" PRIu64 " MiB, %" PRIu64 " vcores", n->used_mb, n->used_vcores);
}

const char *nm_scale_reason_text(const struct nm_scale_verdict *v, const struct nm_scale_rules *rules,
                                 uint64_t now_msec, char *buf, size_t size)
{
    const char *app = v->app ? v->app : "";
    uint64_t low = v->since_msec > 0 ? nm_sub_u64(now_msec, v->since_msec) : 0;
    char a[32], b[32];

    switch (v->reason) {
    case NM_SCALE_GIVE:
        (void)snprintf(buf, size, "can be given back");
        break;
    case NM_SCALE_NOT_RUNNING:
        (void)snprintf(buf, size, "its state is %s", v->node->state);
        break;
    case NM_SCALE_IN_USE:
        in_use_text(v->node, buf, size);
        break;
    case NM_SCALE_SHARED_HOST:
        (void)snprintf(buf, size, "another node is on the same host, and hosts are excluded as a whole");
        break;
    case NM_SCALE_IDLE_SHORT:
        (void)snprintf(buf, size, "empty for only %s of the required %s", nm_format_duration(low * 1000, a, sizeof a),
                       nm_format_duration(rules->idle_for_msec * 1000, b, sizeof b));
        break;
    case NM_SCALE_HAS_DATA:
        (void)snprintf(buf, size, "%s ran here and has not ended: its data may be needed", app);
        break;
    case NM_SCALE_UNKNOWN_DATA:
        (void)snprintf(buf, size, "%s may have left data here before nmscale's first run", app);
        break;
    case NM_SCALE_NODE_SILENT:
        (void)snprintf(buf, size, "it did not report which applications it keeps data for");
        break;
    case NM_SCALE_DEMAND:
        (void)snprintf(buf, size, "the other nodes have no room for all waiting containers");
        break;
    case NM_SCALE_MIN_NODES:
        (void)snprintf(buf, size, "at least %" PRIu64 " nodes must stay", rules->min_nodes);
        break;
    case NM_SCALE_MIN_LABEL:
        (void)snprintf(buf, size, "at least %" PRIu64 " of partition %s must stay", rules->min_per_label,
                       v->node->label);
        break;
    case NM_SCALE_AT_MOST:
        (void)snprintf(buf, size, "at most %" PRIu64 " are given back at once", rules->at_most);
        break;
    case NM_SCALE_REASONS:
        break;
    }
    return buf;
}
