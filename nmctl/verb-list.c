/* SPDX-License-Identifier: Apache-2.0 */

/*
 * `nmctl list` and `nmctl top`: containers as tables. list is the roll of them, in the order of
 * nmd; top shows who uses most, sorted on this side and drawn again and again.
 */

#include <inttypes.h>

#include "nmctl/api.h"
#include "nmctl/container.h"
#include "nmctl/json.h"
#include "nmctl/nmctl.h"
#include "nmctl/option.h"
#include "nmctl/say.h"
#include "nmctl/screen.h"
#include "nmctl/table.h"
#include "util/clock.h"
#include "util/parse.h"

/* Columns that list and top share. A person types the number, so that the id is what a narrow terminal can spare. */
static void add_names(struct nm_table *t, const json_t *c)
{
    bool guaranteed = nm_streq(nm_json_str(c, "execution_type"), "GUARANTEED");

    nm_table_add(t, NM_STYLE_BOLD, "%" PRIu64, nm_json_u64(c, "number"));
    nm_table_add(t, NM_STYLE_NONE, "%s", nm_json_str(c, "id"));
    nm_table_add(t, NM_STYLE_NONE, "%s", *nm_json_str(c, "name") ? nm_json_str(c, "name") : "-");
    nm_table_add(t, guaranteed ? NM_STYLE_GUARANTEED : NM_STYLE_OPPORTUNISTIC, "%s", nm_container_type_word(c));
}

/* "RUNNING", "QUEUED #2", "LOCALIZING 1 of 3 files", "Succeeded", "Killed (preempted)" */
static void add_state(struct nm_table *t, const json_t *c)
{
    char buf[64];
    const char *state = nm_container_shown_state(c, buf, sizeof buf);
    enum nm_style style = nm_container_state_style(c);

    if (*nm_json_str(c, "progress"))
        nm_table_add(t, style, "%s %s", state, nm_json_str(c, "progress"));
    else if (nm_json_has(c, "queue_position"))
        nm_table_add(t, style, "%s #%" PRIu64, state, nm_json_u64(c, "queue_position"));
    else
        nm_table_add(t, style, "%s", state);
}

/* Of an ended container the peak is what is left to tell. */
static void add_use(struct nm_table *t, const json_t *c)
{
    char used[32], asked[32];
    bool alive = !nm_json_has(c, "finished_usec");

    nm_format_size(nm_json_u64(c, alive ? "memory_used_bytes" : "memory_peak_bytes"), used,
                   sizeof used);
    nm_table_add(t, NM_STYLE_NONE, "%s", used);
    nm_table_add(t, NM_STYLE_DIM, "%s",
                 nm_format_size(nm_json_u64(c, "memory_bytes"), asked, sizeof asked));
    if (alive)
        nm_table_add(t, NM_STYLE_NONE, "%.2f", nm_json_num(c, "cpu_used_millicores") / 1000);
    else
        nm_table_add(t, NM_STYLE_NONE, "-");
    nm_table_add(t, NM_STYLE_DIM, "%g", nm_json_num(c, "vcores"));
}

/* `wanted` is a state's word, or the first word of how one has ended. */
static bool is_in_state(const json_t *c, const char *wanted)
{
    char buf[64];
    const char *shown = nm_container_shown_state(c, buf, sizeof buf);
    size_t len = strcspn(shown, " ");

    return nm_streq(wanted, nm_container_state_word(nm_json_str(c, "state"))) ||
           (strlen(wanted) == len && strncasecmp(wanted, shown, len) == 0);
}

static bool is_wanted(const struct nm_args *a, const json_t *c)
{
    return (!a->app || nm_streq(a->app, nm_json_str(c, "app"))) && (!a->state || is_in_state(c, a->state));
}

static void keep_wanted(const struct nm_args *a, json_t *list)
{
    for (size_t i = json_array_size(list); i-- > 0;)
        if (!is_wanted(a, json_array_get(list, i)))
            (void)json_array_remove(list, i);
}

/* One on a line, for $(...) and xargs. */
static void print_ids(const json_t *list)
{
    const json_t *c;
    size_t i;

    json_array_foreach(list, i, c)
        printf("%s\n", nm_json_str(c, "id"));
}

/* A terminal is told when there is nothing to show; in a pipe an empty table has its head all the
 * same, so that `tail -n +2` always works. */
int nm_list_verb(struct nm_ctl *ctl)
{
    static const struct nm_column columns[] = {
        {"NR", true, 0, 0},     {"ID", false, 0, 1},    {"NAME", false, 8, 7},     {"TYPE", false, 6, 0},
        {"STATE", false, 9, 0}, {"MEMORY", true, 0, 0}, {"OF", true, 0, 3},        {"CORES", true, 0, 5},
        {"VCORES", true, 0, 2}, {"AGE", true, 0, 4},    {"COMMAND", false, 12, 6},
    };
    _cleanup_(nm_table_freep) struct nm_table *t = NULL;
    _cleanup_json_ json_t *list = NULL;
    struct nm_term term;
    const json_t *c;
    size_t i;
    bool ended = ctl->args.all || nm_option_state_has_ended(ctl->args.state);
    int r = nm_api_get_containers(ctl, ended, &list);

    if (r != NM_CTL_OK)
        return r;
    keep_wanted(&ctl->args, list);
    if (ctl->args.json || ctl->args.quiet) {
        if (ctl->args.quiet)
            print_ids(list);
        else
            nm_api_print_json(list, false);
        return NM_CTL_OK;
    }
    nm_term_init(&term, STDOUT_FILENO, ctl->args.no_color);
    t = nm_table_new(columns, NM_ARRAY_SIZE(columns));
    json_array_foreach(list, i, c) {
        _cleanup_free_ char *command = nm_container_command(c);
        char age[32];

        add_names(t, c);
        add_state(t, c);
        add_use(t, c);
        nm_table_add(t, NM_STYLE_NONE, "%s", nm_container_age(c, age, sizeof age));
        nm_table_add(t, NM_STYLE_NONE, "%s", command);
    }
    if (nm_table_rows(t) == 0 && term.tty)
        printf("no %scontainers%s\n", ctl->args.app || ctl->args.state ? "such " : "",
               ended ? "" : " (ended ones: nmctl list --all)");
    else
        nm_table_print(t, stdout, &term, 0);
    return NM_CTL_OK;
}

/* ---- top ------------------------------------------------------------------------------------- */

struct top {
    const char *sort;
    const json_t **containers; /* borrowed, sorted */
    size_t n;
};

/* Largest first for all of them. */
static double sort_value(const json_t *c, const char *key)
{
    if (nm_streq(key, "memory"))
        return nm_json_num(c, "memory_used_bytes");
    if (nm_streq(key, "time"))
        return nm_json_num(c, "cpu_time_usec");
    if (nm_streq(key, "age")) /* oldest first */
        return -(nm_json_has(c, "started_usec") ? nm_json_num(c, "started_usec")
                                                : nm_json_num(c, "submitted_usec"));
    return nm_json_num(c, "cpu_used_millicores");
}

static int compare(const void *pa, const void *pb, void *userdata)
{
    const json_t *a = *(const json_t *const *)pa, *b = *(const json_t *const *)pb;
    const char *key = userdata;
    double va, vb;

    if (nm_streq(key, "name")) {
        int r = strcmp(nm_json_str(a, "name"), nm_json_str(b, "name"));
        return r != 0 ? r : strcmp(nm_json_str(a, "id"), nm_json_str(b, "id"));
    }
    va = sort_value(a, key);
    vb = sort_value(b, key);
    if (va != vb)
        return va < vb ? 1 : -1;
    return strcmp(nm_json_str(a, "id"),
                  nm_json_str(b, "id")); /* equals keep their places from picture to picture */
}

/* A sorted view of the list, which must outlive it. */
static void sort(struct top *top, const json_t *list)
{
    top->n = json_array_size(list);
    top->containers = calloc(top->n + 1, sizeof *top->containers);
    if (!top->containers)
        nm_say_oom();
    for (size_t i = 0; i < top->n; i++)
        top->containers[i] = json_array_get(list, i);
    qsort_r(top->containers, top->n, sizeof *top->containers, compare, (void *)top->sort);
}

/* A line or two about the node, as top has it everywhere. Returns how many. */
static unsigned print_head(FILE *to, const struct nm_term *term, const json_t *status)
{
    const json_t *node = nm_json_at(status, "node"), *c = nm_json_at(status, "containers");
    char capacity[32], *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    unsigned lines;

    if (!f)
        nm_say_oom();
    fprintf(f, "used or reserved: %.0f %% of %s, %.0f %% of %g cores;",
            nm_json_num(node, "utilization.memory") * 100,
            nm_format_size(nm_json_u64(node, "capacity.memory_bytes"), capacity, sizeof capacity),
            nm_json_num(node, "utilization.cpu") * 100, nm_json_num(node, "capacity.cpu_millicores") / 1000);
    fprintf(f,
            " %" PRIu64 " guaranteed, %" PRIu64 " opportunistic, %" PRIu64 " paused, %" PRIu64
            " queued\n",
            nm_json_u64(c, "guaranteed_running"), nm_json_u64(c, "opportunistic_running"),
            nm_json_u64(c, "paused"), nm_json_u64(c, "queued"));
    if (fclose(f) != 0)
        nm_say_oom();
    lines = nm_term_wrap(to, text, term->width, 0);
    free(text);
    return lines;
}

static void add_top_row(struct nm_table *t, const json_t *c)
{
    _cleanup_free_ char *command = nm_container_command(c);
    double asked = nm_json_num(c, "memory_bytes");
    char text[32];

    add_names(t, c);
    add_state(t, c);
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

/* Both answers or none: half a picture would be taken for a whole one. */
static int draw(struct nm_ctl *ctl, FILE *f, const struct nm_term *term, void *userdata)
{
    static const struct nm_column columns[] = {
        {"NR", true, 0, 0},     {"ID", false, 0, 1},   {"NAME", false, 8, 6},   {"TYPE", false, 6, 0},
        {"STATE", false, 9, 7}, {"CORES", true, 0, 0}, {"MEMORY", true, 0, 0},  {"USE", true, 0, 2},
        {"TIME", true, 0, 3},   {"AGE", true, 0, 4},   {"COMMAND", false, 12, 5},
    };
    struct top *top = userdata;
    _cleanup_(nm_table_freep) struct nm_table *t = NULL;
    _cleanup_json_ json_t *list = NULL, *status = NULL;
    unsigned above;
    int r = nm_api_get_containers(ctl, false, &list);

    if (r == NM_CTL_OK)
        r = nm_api_get(ctl, "/v1/status", &status);
    if (r != NM_CTL_OK)
        return r;
    sort(top, list);
    above = print_head(f, term, status);
    t = nm_table_new(columns, NM_ARRAY_SIZE(columns));
    for (size_t i = 0; i < top->n; i++)
        add_top_row(t, top->containers[i]);
    free(top->containers);
    nm_table_print(t, f, term, term->tty && term->height > above + 2 ? term->height - above - 1 : 0);
    return NM_CTL_OK;
}

/* Another order from the next picture on. */
static void on_key(char key, void *userdata)
{
    struct top *top = userdata;
    static const char keys[] = "cmtan"; /* in the order of nm_sort_keys */

    for (size_t i = 0; keys[i]; i++)
        if (key == keys[i])
            top->sort = nm_sort_keys[i];
}

/* Once and sorted: a script that wants it again asks again. */
static int print_sorted_json(struct nm_ctl *ctl, struct top *top)
{
    _cleanup_json_ json_t *list = NULL, *sorted = json_array();
    int r = nm_api_get_containers(ctl, false, &list);

    if (r != NM_CTL_OK)
        return r;
    sort(top, list);
    for (size_t i = 0; i < top->n; i++)
        (void)json_array_append(sorted, (json_t *)top->containers[i]);
    free(top->containers);
    nm_api_print_json(sorted, false);
    return NM_CTL_OK;
}

/* In a pipe it is printed once, as ps would, unless an interval asks for more. */
int nm_top_verb(struct nm_ctl *ctl)
{
    struct top top = {.sort = ctl->args.sort ? ctl->args.sort : "cpu"};
    bool repeat = ctl->args.interval_usec != NM_CTL_UNSET || isatty(STDOUT_FILENO);
    struct nm_term term;

    if (ctl->args.json)
        return print_sorted_json(ctl, &top);
    if (repeat)
        return nm_screen_run(ctl,
                             ctl->args.interval_usec == NM_CTL_UNSET ? NM_SCREEN_PERIOD_USEC
                                                                     : ctl->args.interval_usec,
                             draw, on_key, &top);
    nm_term_init(&term, STDOUT_FILENO, ctl->args.no_color);
    return draw(ctl, stdout, &term, &top);
}
