/* SPDX-License-Identifier: Apache-2.0 */

/* `nmctl top`: containers by their use, redrawn periodically. top.c has the filter, the order and the keys. */

#include <inttypes.h>

#include "nmctl/api.h"
#include "nmctl/cli.h"
#include "nmctl/container-json.h"
#include "nmctl/json.h"
#include "nmctl/message.h"
#include "nmctl/nmctl.h"
#include "nmctl/screen.h"
#include "nmctl/term.h"
#include "nmctl/top.h"
#include "util/parse.h"

#define N_COLUMNS 11

/* Prints one or two lines about the node, as top(1) does about the host. Returns the number of lines. */
static unsigned print_head(FILE *to, const struct nm_term *term, const json_t *status)
{
    const json_t *node = nm_json_at(status, "node"), *c = nm_json_at(status, "containers");
    double cpus = nm_json_num(node, "capacity.cpu_millicores") / 1000;
    char capacity[32], *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    unsigned lines;

    if (!f)
        nm_message_oom();
    fprintf(f, "used or reserved: %.0f %% of %s, %.0f %% of %g core%s;",
            nm_json_num(node, "utilization.memory") * 100,
            nm_format_size(nm_json_u64(node, "capacity.memory_bytes"), capacity, sizeof capacity),
            nm_json_num(node, "utilization.cpu") * 100, cpus, nm_plural(cpus));
    fprintf(f,
            " %" PRIu64 " guaranteed, %" PRIu64 " opportunistic, %" PRIu64 " paused, %" PRIu64
            " queued\n",
            nm_json_u64(c, "guaranteed_running"), nm_json_u64(c, "opportunistic_running"),
            nm_json_u64(c, "paused"), nm_json_u64(c, "queued"));
    if (fclose(f) != 0)
        nm_message_oom();
    lines = nm_term_wrap(to, text, term->width, 0);
    free(text);
    return lines;
}

/* Prints which containers the table shows, and in which order. Returns the number of lines printed. */
static unsigned print_view(FILE *to, const struct nm_term *term, const struct nm_top *t)
{
    _cleanup_free_ char *text = NULL;
    char filter[NM_TOP_FILTER_SIZE], period[32], shown[64] = "";

    (void)snprintf(filter, sizeof filter, "%s", t->filter);
    nm_term_clean(filter);
    if (t->page > 0 && t->n > t->page)
        (void)snprintf(shown, sizeof shown, "rows %zu to %zu of ", t->first + 1,
                       t->first + NM_MIN(t->page, t->n - t->first));
    if (asprintf(&text, "%s%zu container%s%s%s%s%s; by %s%s, every %s; h for keys", shown, t->n, t->n == 1 ? "" : "s",
                 t->editing ? "; filter (Enter, Escape): " : *filter ? " with " : "", filter, t->editing ? "_" : "",
                 *filter && !t->editing ? " in it" : "", t->sort, t->reverse ? ", reversed" : "",
                 nm_format_duration(t->period_usec, period, sizeof period)) < 0)
        nm_message_oom();
    return nm_term_wrap(to, text, term->width, 0);
}

static void print_keys(FILE *f, const struct nm_term *term)
{
    (void)nm_term_wrap(f,
                       "\n"
                       "c m t a n     sort by cpu, memory, time, age, name (P, M and T, too)\n"
                       "< > s         sort by the previous, the next key\n"
                       "r             reverse the order\n"
                       "/             filter: type words that must be in the number, id, name, application, user, "
                       "type, state or command; !word excludes; Enter keeps the filter, Escape cancels it\n"
                       "Escape        all containers\n"
                       "arrows, Page Up, Page Down, Home, End\n"
                       "              move through the rows\n"
                       "+ -           draw twice as often, half as often\n"
                       "space         draw now\n"
                       "q             quit\n"
                       "\n"
                       "Press any key to close this page.\n",
                       term->width, 14);
}

static void add_row(struct nm_ctl *ctl, struct nm_table *t, const json_t *c, bool whole)
{
    _cleanup_free_ char *command = nm_container_whole_command(ctl, c, whole);
    double asked = nm_json_num(c, "memory_bytes");
    char text[32];

    nm_container_add_names(t, c);
    nm_container_add_state(t, c);
    nm_table_add(t, NM_STYLE_NONE, "%.2f", nm_json_num(c, "cpu_used_millicores") / 1000);
    nm_table_add(t, NM_STYLE_NONE, "%s",
                 nm_format_size(nm_json_u64(c, "memory_used_bytes"), text, sizeof text));
    nm_table_add(t, NM_STYLE_DIM, "%.0f %%",
                 asked > 0 ? nm_json_num(c, "memory_used_bytes") / asked * 100 : 0);
    nm_table_add(t, NM_STYLE_NONE, "%s",
                 nm_format_duration(nm_json_u64(c, "cpu_time_usec"), text, sizeof text));
    nm_table_add(t, NM_STYLE_NONE, "%s", nm_container_age(c, text, sizeof text));
    nm_table_add(t, NM_STYLE_NONE, "%s", command);
}

/* Marks the column by which the table is sorted with an arrow that shows the direction. */
static void mark_column(struct nm_column *columns, const struct nm_top *t, const struct nm_term *term, char *buf,
                        size_t size)
{
    static const struct {
        const char *key;
        size_t column;
    } marks[] = {{"name", 2}, {"cpu", 5}, {"memory", 6}, {"time", 8}, {"age", 9}};
    const char *mark = term->utf8 ? (t->reverse ? "▲" : "▼") : t->reverse ? "^" : "v";

    for (size_t i = 0; i < NM_ARRAY_SIZE(marks); i++)
        if (nm_streq(marks[i].key, t->sort)) {
            struct nm_column *c = &columns[marks[i].column];
            (void)snprintf(buf, size, "%s%s%s", c->title, term->utf8 ? "" : " ", mark);
            c->title = buf;
        }
}

/* Prints the table. Creates only the visible rows. */
static void print_table(struct nm_ctl *ctl, FILE *f, const struct nm_term *term, const struct nm_top *t)
{
    struct nm_column columns[N_COLUMNS] = {
        {"NR", true, 0, 0},     {"ID", false, 0, 1},   {"NAME", false, 8, 6},      {"TYPE", false, 6, 0},
        {"STATE", false, 9, 7}, {"CORES", true, 0, 0}, {"MEMORY", true, 0, 0},     {"OF ASKED", true, 0, 2},
        {"TIME", true, 0, 3},   {"AGE", true, 0, 4},   {"COMMAND", false, 12, 5},
    };
    _cleanup_(nm_table_freep) struct nm_table *table = NULL;
    size_t end = t->page > 0 ? NM_MIN(t->first + t->page, t->n) : t->n;
    char title[32];

    if (term->tty)
        mark_column(columns, t, term, title, sizeof title);
    table = nm_table_new(columns, N_COLUMNS);
    for (size_t i = t->first; i < end; i++)
        add_row(ctl, table, t->containers[i], term->width == 0);
    nm_table_print(table, f, term, 0);
}

/* Sets the number of rows to the lines that remain below `above` lines, the view's own lines and the titles. Prints the
 * view once to count its lines. */
static void fit(struct nm_top *t, const struct nm_term *term, unsigned above)
{
    _cleanup_free_ char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    if (!f)
        nm_message_oom();
    t->page = 1; /* with one row, the view has its longest text */
    above += print_view(f, term, t) + 1;
    if (fclose(f) != 0)
        nm_message_oom();
    nm_top_fit(t, term->height > above ? term->height - above : 1);
}

/* Fetches the containers for a picture. */
static int get_list(struct nm_ctl *ctl, json_t **ret)
{
    int r = nm_api_get_containers(ctl, false, ret);

    if (r == NM_CTL_OK)
        nm_container_filter(&ctl->args, *ret);
    return r;
}

/* Draws the picture only if both answers have arrived, because a picture with one of them would be misleading. */
static int draw(struct nm_ctl *ctl, FILE *f, const struct nm_term *term, void *userdata)
{
    struct nm_top *t = userdata;
    _cleanup_json_ json_t *list = NULL, *status = NULL;
    unsigned above;
    int r = get_list(ctl, &list);

    if (r == NM_CTL_OK)
        r = nm_api_get(ctl, "/v1/status", &status);
    if (r != NM_CTL_OK)
        return r;
    nm_top_take(t, list);
    above = print_head(f, term, status);
    if (term->tty) {
        fit(t, term, above);
        (void)print_view(f, term, t);
    }
    if (t->help)
        print_keys(f, term);
    else
        print_table(ctl, f, term, t);
    nm_top_done(t);
    return NM_CTL_OK;
}

static bool on_key(int key, void *userdata)
{
    return nm_top_key(userdata, key);
}

/* Prints the filtered and sorted list once. A script that needs new data runs nmctl again. */
static int print_json(struct nm_ctl *ctl, struct nm_top *t)
{
    _cleanup_json_ json_t *list = NULL, *sorted = json_array();
    int r = get_list(ctl, &list);

    if (r != NM_CTL_OK)
        return r;
    nm_top_take(t, list);
    for (size_t i = 0; i < t->n; i++)
        if (json_array_append(sorted, (json_t *)t->containers[i]) < 0)
            nm_message_oom();
    nm_top_done(t);
    nm_api_print_json(sorted, false);
    return NM_CTL_OK;
}

/* Prints the table once in a pipe, as ps does, unless --interval is given. */
int nm_top_verb(struct nm_ctl *ctl)
{
    const struct nm_args *a = &ctl->args;
    struct nm_top t = {.sort = a->sort ? a->sort : "cpu",
                       .reverse = a->reverse,
                       .period_usec = a->interval_usec == NM_CTL_UNSET ? NM_SCREEN_PERIOD_USEC : a->interval_usec};
    struct nm_term term;

    if (a->filter && strlen(a->filter) >= sizeof t.filter) {
        nm_message("top: --filter '%s' is too long; allowed are %zu bytes", a->filter, sizeof t.filter - 1);
        return NM_CTL_USAGE;
    }
    if (nm_state_word_is_ended(a->state)) {
        nm_message("top: shows only containers that have not ended; 'nmctl list --state %s' shows the others",
                   a->state);
        return NM_CTL_USAGE;
    }
    (void)snprintf(t.filter, sizeof t.filter, "%s", a->filter ? a->filter : "");
    if (a->json)
        return print_json(ctl, &t);
    if (a->interval_usec != NM_CTL_UNSET || isatty(STDOUT_FILENO))
        return nm_screen_run(ctl, &t.period_usec, draw, on_key, &t);
    nm_term_init(&term, STDOUT_FILENO, a->no_color);
    return draw(ctl, stdout, &term, &t);
}
