/* SPDX-License-Identifier: Apache-2.0 */

/* `nmctl list`: prints containers as a table, in the order in which nmd sends them. */

#include <inttypes.h>

#include "nmctl/api.h"
#include "nmctl/cli.h"
#include "nmctl/container-json.h"
#include "nmctl/json.h"
#include "nmctl/message.h"
#include "nmctl/nmctl.h"
#include "nmctl/term.h"
#include "util/parse.h"

void nm_container_add_names(struct nm_table *t, const json_t *c)
{
    bool guaranteed = nm_container_is_guaranteed(c);

    nm_table_add(t, NM_STYLE_BOLD, "%" PRIu64, nm_json_u64(c, "number"));
    nm_table_add(t, NM_STYLE_NONE, "%s", nm_json_str(c, "id"));
    nm_table_add(t, NM_STYLE_NONE, "%s", *nm_json_str(c, "name") ? nm_json_str(c, "name") : "-");
    nm_table_add(t, guaranteed ? NM_STYLE_GUARANTEED : NM_STYLE_OPPORTUNISTIC, "%s", nm_container_type_word(c));
}

void nm_container_add_state(struct nm_table *t, const json_t *c)
{
    char buf[64];
    const char *state = nm_container_display_state(c, buf, sizeof buf);
    enum nm_style style = nm_container_state_style(c);

    if (*nm_json_str(c, "progress"))
        nm_table_add(t, style, "%s %s", state, nm_json_str(c, "progress"));
    else if (nm_json_has(c, "queue_position"))
        nm_table_add(t, style, "%s #%" PRIu64, state, nm_json_u64(c, "queue_position"));
    else
        nm_table_add(t, style, "%s", state);
}

/* Adds use and request of memory and CPU. For an ended container, the use of memory is its peak. */
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

/* Returns whether the container matches a state or the first word of how it ended. */
static bool is_in_state(const json_t *c, const char *wanted)
{
    char buf[64];
    const char *shown = nm_container_display_state(c, buf, sizeof buf);
    size_t len = strcspn(shown, " ");

    return nm_streq(wanted, nm_container_state_word(nm_json_str(c, "state"))) ||
           (strlen(wanted) == len && strncasecmp(wanted, shown, len) == 0);
}

static bool is_wanted(const struct nm_args *a, const json_t *c)
{
    return (!a->app || nm_streq(a->app, nm_json_str(c, "app"))) && (!a->state || is_in_state(c, a->state));
}

void nm_container_filter(const struct nm_args *a, json_t *list)
{
    for (size_t i = json_array_size(list); i-- > 0;)
        if (!is_wanted(a, json_array_get(list, i)))
            (void)json_array_remove(list, i);
}

char *nm_container_whole_command(struct nm_ctl *ctl, const json_t *c, bool whole)
{
    const json_t *head = nm_json_at(c, "command_head");
    const char *last = json_string_value(json_array_get(head, json_array_size(head) - 1));
    size_t n = last ? strlen(last) : 0;
    _cleanup_json_ json_t *all = NULL;
    char target[128];

    if (whole && n >= 3 && nm_streq(last + n - 3, "...") &&
        nm_api_container_target(nm_json_str(c, "id"), "", target, sizeof target) == NM_CTL_OK)
        (void)nm_api_try_get(ctl, target, NM_API_TIMEOUT_USEC, &all);
    return nm_container_command(all ? all : c);
}

/* Prints one id per line, for use in $(...) and with xargs. */
static void print_ids(const json_t *list)
{
    const json_t *c;
    size_t i;

    json_array_foreach(list, i, c)
        printf("%s\n", nm_json_str(c, "id"));
}

/* Width of the longest state of an ended container. Such a state isn't truncated, because how a container ended is more
 * important than the other columns. Only the progress of a preparation may be longer, and is truncated. */
#define STATE_WIDTH ((unsigned)strlen("Killed (discarded from the queue)"))

/* Prints the list. On a terminal a message reports that the list is empty. In a pipe an empty table still has its title
 * line, so that `tail -n +2` always works. */
int nm_list_verb(struct nm_ctl *ctl)
{
    const struct nm_column columns[] = {
        {"NR", true, 0, 0},     {"ID", false, 0, 1},    {"NAME", false, 8, 7},     {"TYPE", false, 6, 0},
        {"STATE", false, STATE_WIDTH, 0}, {"MEMORY", true, 0, 0}, {"OF", true, 0, 3},        {"CORES", true, 0, 5},
        {"VCORES", true, 0, 2}, {"AGE", true, 0, 4},    {"COMMAND", false, 12, 6},
    };
    _cleanup_(nm_table_freep) struct nm_table *t = NULL;
    _cleanup_json_ json_t *list = NULL;
    struct nm_term term;
    const json_t *c;
    size_t i;
    bool ended = ctl->args.all || nm_state_word_is_ended(ctl->args.state);
    int r = nm_api_get_containers(ctl, ended, &list);

    if (r != NM_CTL_OK)
        return r;
    nm_container_filter(&ctl->args, list);
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
        _cleanup_free_ char *command = nm_container_whole_command(ctl, c, term.width == 0);
        char age[32];

        nm_container_add_names(t, c);
        nm_container_add_state(t, c);
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
