/* SPDX-License-Identifier: Apache-2.0 */

/* See print.h. Words in the model contain no terminal escape sequences, because parse.c checks them. */

#include "nmscale/print.h"

#include <inttypes.h>

#include "util/parse.h"

#define COLUMNS 5
#define TEXT_MAX (NM_SCALE_WORD_MAX + 128)

size_t nm_scale_count(const struct nm_scale_finding *f, enum nm_scale_reason reason)
{
    size_t n = 0;

    for (size_t i = 0; i < f->model->n_nodes; i++)
        n += f->verdicts[i].reason == reason;
    return n;
}

static size_t count_running(const struct nm_scale_model *m)
{
    size_t n = 0;

    for (size_t i = 0; i < m->n_nodes; i++)
        n += nm_scale_is_running(&m->nodes[i]);
    return n;
}

/* Prints why the other nodes stay, in one line: "3 in use, 2 not empty for long enough". */
static void print_counts(FILE *out, const struct nm_scale_finding *f)
{
    static const char *const words[NM_SCALE_REASONS] = {
        [NM_SCALE_IN_USE] = "in use",
        [NM_SCALE_SHARED_HOST] = "on a host with others",
        [NM_SCALE_IDLE_SHORT] = "not empty for long enough",
        [NM_SCALE_HAS_DATA] = "with data of a running application",
        [NM_SCALE_UNKNOWN_DATA] = "possibly with data of a running application",
        [NM_SCALE_NODE_SILENT] = "without a report about their data",
        [NM_SCALE_DEMAND] = "needed for waiting containers",
        [NM_SCALE_MIN_NODES] = "kept by --min-nodes",
        [NM_SCALE_MIN_LABEL] = "kept by --min-per-label",
        [NM_SCALE_AT_MOST] = "over the limit of --at-most",
    };
    const char *divider = " Running nodes that stay: ";

    for (size_t i = 0; i < NM_SCALE_REASONS; i++) {
        size_t n = words[i] ? nm_scale_count(f, (enum nm_scale_reason)i) : 0;

        if (n == 0)
            continue;
        fprintf(out, "%s%zu %s", divider, n, words[i]);
        divider = ", ";
    }
    fputs(*divider == ',' ? ".\n" : "\n", out);
}

/* Fills the cells of a row. The last column has no fixed width. */
static void fill(const struct nm_scale_finding *f, size_t i, char cells[COLUMNS][TEXT_MAX])
{
    const struct nm_scale_verdict *v = &f->verdicts[i];
    const struct nm_scale_node *n = v->node;

    (void)snprintf(cells[0], TEXT_MAX, "%s", n->id);
    (void)snprintf(cells[1], TEXT_MAX, "%s", *n->label ? n->label : "-");
    (void)snprintf(cells[2], TEXT_MAX, "%" PRIu64 " MiB, %" PRIu64, n->used_mb + n->free_mb,
                   n->used_vcores + n->free_vcores);
    if (v->since_msec > 0)
        (void)nm_format_duration(nm_sub_u64(f->now_msec, v->since_msec) * 1000, cells[3], TEXT_MAX);
    else
        (void)snprintf(cells[3], TEXT_MAX, "-");
    (void)nm_scale_reason_text(v, f->rules, f->now_msec, cells[4], TEXT_MAX);
}

/* Returns whether a node is shown, in the table and in JSON. By default only nodes that can be given back are shown,
 * because the list of other nodes may have thousands of entries. */
static bool is_shown(const struct nm_scale_finding *f, size_t i)
{
    return f->all || f->verdicts[i].reason == NM_SCALE_GIVE;
}

/* Prints the table in two passes. The first pass determines the widths of columns, because partitions and hosts have
 * names of any length. */
static void print_rows(FILE *out, const struct nm_scale_finding *f)
{
    static const char *const titles[COLUMNS] = {"NODE", "PARTITION", "SIZE, VCORES", "EMPTY FOR", "RESULT"};
    char cells[COLUMNS][TEXT_MAX];
    int widths[COLUMNS];

    for (size_t c = 0; c < COLUMNS; c++)
        widths[c] = (int)strlen(titles[c]);
    for (size_t i = 0; i < f->model->n_nodes; i++) {
        if (!is_shown(f, i))
            continue;
        fill(f, i, cells);
        for (size_t c = 0; c < COLUMNS; c++)
            widths[c] = NM_MAX(widths[c], (int)strlen(cells[c]));
    }
    fprintf(out, "%-*s  %-*s  %*s  %*s  %s\n", widths[0], titles[0], widths[1], titles[1], widths[2], titles[2],
            widths[3], titles[3], titles[4]);
    for (size_t i = 0; i < f->model->n_nodes; i++) {
        if (!is_shown(f, i))
            continue;
        fill(f, i, cells);
        fprintf(out, "%-*s  %-*s  %*s  %*s  %s\n", widths[0], cells[0], widths[1], cells[1], widths[2], cells[2],
                widths[3], cells[3], cells[4]);
    }
}

void nm_scale_print_table(FILE *out, const struct nm_scale_finding *f)
{
    size_t give = nm_scale_count(f, NM_SCALE_GIVE), running = count_running(f->model);

    if (running == 0)
        fputs("No node is running.\n", out);
    else if (give == 0)
        fprintf(out, "None of %zu running nodes can be given back.", running);
    else
        fprintf(out, "%zu of %zu running node%s can be given back.", give, running, running == 1 ? "" : "s");
    if (running > 0)
        print_counts(out, f);
    if (f->all ? f->model->n_nodes > 0 : give > 0)
        print_rows(out, f);
}

static json_t *verdict_to_json(const struct nm_scale_finding *f, const struct nm_scale_verdict *v)
{
    const struct nm_scale_node *n = v->node;
    char text[TEXT_MAX];
    json_auto_t *j =
        json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:b, s:s, s:s}", "node", n->id, "host", n->host, "partition",
                  n->label, "state", n->state, "memory_mb", (json_int_t)(n->used_mb + n->free_mb), "vcores",
                  (json_int_t)(n->used_vcores + n->free_vcores), "containers", (json_int_t)n->containers, "give",
                  v->reason == NM_SCALE_GIVE, "reason", nm_scale_reason_name(v->reason), "text",
                  nm_scale_reason_text(v, f->rules, f->now_msec, text, sizeof text));

    if (v->since_msec > 0 &&
        json_object_set_new(j, "empty_since_msec", json_integer((json_int_t)v->since_msec)) < 0)
        return NULL;
    if (v->app && json_object_set_new(j, "application", json_string(v->app)) < 0)
        return NULL;
    return STEAL_PTR(j);
}

/* Makes the JSON. json_pack() releases its arguments even if it fails, and fails for NULL. */
json_t *nm_scale_to_json(const struct nm_scale_finding *f)
{
    const struct nm_scale_demand *d = &f->model->demand;
    json_t *nodes = json_array(), *j;

    for (size_t i = 0; nodes && i < f->model->n_nodes; i++)
        if (is_shown(f, i) && json_array_append_new(nodes, verdict_to_json(f, &f->verdicts[i])) < 0) {
            json_decref(nodes);
            return NULL;
        }
    j = json_pack("{s:I, s:s, s:I, s:I, s:{s:I, s:I, s:I}, s:o}", "time_msec", (json_int_t)f->now_msec, "rm", f->rm,
                  "running", (json_int_t)count_running(f->model), "give",
                  (json_int_t)nm_scale_count(f, NM_SCALE_GIVE), "waiting", "containers", (json_int_t)d->containers,
                  "memory_mb", (json_int_t)d->mb, "vcores", (json_int_t)d->vcores, "nodes", nodes);
    return j;
}
