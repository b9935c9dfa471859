/* SPDX-License-Identifier: Apache-2.0 */

/* See top.h. The letters P, M and T sort as in top(1), in addition to the first letters of the sort keys. */

#include "nmctl/top.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nmctl/cli.h"
#include "nmctl/container-json.h"
#include "nmctl/json.h"
#include "nmctl/message.h"
#include "nmctl/screen.h"
#include "util/clock.h"
#include "util/macros.h"

#define PERIOD_LEAST_USEC (100 * NM_USEC_PER_MSEC)
#define PERIOD_MOST_USEC (60 * NM_USEC_PER_SEC)

/* ---- which containers ------------------------------------------------------------------------- */

/* Returns the texts that a filter is matched against, one per line. */
static char *describe(const json_t *c)
{
    _cleanup_free_ char *command = nm_container_command(c);
    char state[64], *text;

    if (asprintf(&text, "%s\n%s\n%s\n%s\n%s\n%s\n%s", nm_json_str(c, "id"), nm_json_str(c, "name"),
                 nm_json_str(c, "app"), nm_json_str(c, "user"), nm_container_type_word(c),
                 nm_container_display_state(c, state, sizeof state), command) < 0)
        nm_message_oom();
    return text;
}

static bool has_word(const json_t *c, const char *text, const char *word)
{
    char number[24];

    (void)snprintf(number, sizeof number, "%" PRIu64, nm_json_u64(c, "number"));
    return nm_streq(word, number) || strcasestr(text, word);
}

bool nm_top_matches(const json_t *c, const char *filter)
{
    _cleanup_free_ char *text = describe(c);
    char words[NM_TOP_FILTER_SIZE], *word, *rest = words;

    (void)snprintf(words, sizeof words, "%s", filter);
    while ((word = strsep(&rest, " "))) {
        bool without = word[0] == '!';

        word += without;
        if (*word && has_word(c, text, word) == without)
            return false;
    }
    return true;
}

/* ---- in which order ---------------------------------------------------------------------------- */

/* Returns the value to sort by. Every key sorts the largest value first. */
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

static int compare_by(const json_t *a, const json_t *b, const char *key)
{
    double va, vb;

    if (nm_streq(key, "name"))
        return strcmp(nm_json_str(a, "name"), nm_json_str(b, "name"));
    va = sort_value(a, key);
    vb = sort_value(b, key);
    return va < vb ? 1 : va > vb ? -1 : 0;
}

/* Orders equal containers by id, so that their order is the same in each picture. This also applies to the reversed
 * order. */
static int compare(const void *pa, const void *pb, void *userdata)
{
    const json_t *a = *(const json_t *const *)pa, *b = *(const json_t *const *)pb;
    const struct nm_top *t = userdata;
    int r = compare_by(a, b, t->sort);

    if (r != 0)
        return t->reverse ? -r : r;
    return strcmp(nm_json_str(a, "id"), nm_json_str(b, "id"));
}

void nm_top_take(struct nm_top *t, const json_t *list)
{
    const json_t *c;
    size_t i;

    nm_top_done(t);
    t->n = 0;
    t->n_all = json_array_size(list);
    t->containers = calloc(t->n_all + 1, sizeof *t->containers);
    if (!t->containers)
        nm_message_oom();
    json_array_foreach(list, i, c)
        if (!*t->filter || nm_top_matches(c, t->filter))
            t->containers[t->n++] = c;
    qsort_r(t->containers, t->n, sizeof *t->containers, compare, t);
}

void nm_top_done(struct nm_top *t)
{
    free(t->containers);
    t->containers = NULL;
}

void nm_top_fit(struct nm_top *t, size_t page)
{
    t->page = page;
    t->first = page == 0 || t->n <= page ? 0 : NM_MIN(t->first, t->n - page);
}

/* ---- keys -------------------------------------------------------------------------------------- */

static void remove_character(char *text)
{
    size_t n = strlen(text);

    while (n > 0 && ((unsigned char)text[n - 1] & 0xc0) == 0x80) /* the remaining bytes of a UTF-8 character */
        n--;
    text[n > 0 ? n - 1 : 0] = '\0';
}

/* Handles a key while the filter is edited. Every letter, including q, is added to the filter. The picture is updated
 * immediately. */
static bool edit(struct nm_top *t, int key)
{
    size_t n = strlen(t->filter);

    if (key == NM_KEY_ESCAPE) {
        memcpy(t->filter, t->before, sizeof t->filter);
        t->editing = false;
    } else if (key == '\r' || key == '\n')
        t->editing = false;
    else if (key == 0x7f || key == '\b')
        remove_character(t->filter);
    else if (key == 0x15) /* Ctrl-U */
        t->filter[0] = '\0';
    else if (key >= ' ' && key < NM_KEY_FIRST && n + 1 < sizeof t->filter) {
        t->filter[n] = (char)key;
        t->filter[n + 1] = '\0';
    }
    t->first = 0;
    return true;
}

static bool scroll(struct nm_top *t, int key)
{
    size_t page = NM_MAX(t->page, (size_t)1), last = t->n > page ? t->n - page : 0;

    switch (key) {
    case NM_KEY_UP:
        t->first -= t->first > 0;
        break;
    case NM_KEY_DOWN:
        t->first++;
        break;
    case NM_KEY_PAGE_UP:
        t->first -= NM_MIN(t->first, page);
        break;
    case NM_KEY_PAGE_DOWN:
        t->first += page;
        break;
    case NM_KEY_HOME:
        t->first = 0;
        break;
    case NM_KEY_END:
        t->first = last;
        break;
    default:
        return false;
    }
    t->first = NM_MIN(t->first, last);
    return true;
}

static size_t sort_index(const char *sort)
{
    for (size_t i = 0; i < nm_n_sort_keys; i++)
        if (nm_streq(nm_sort_keys[i], sort))
            return i;
    return 0;
}

static bool choose_order(struct nm_top *t, int key)
{
    static const char letters[] = "cmtan", tops[] = "PMT"; /* in the order of nm_sort_keys */
    size_t n = nm_n_sort_keys;

    for (size_t i = 0; letters[i]; i++)
        if (key == letters[i] || (i < sizeof tops - 1 && key == tops[i])) {
            t->sort = nm_sort_keys[i];
            return true;
        }
    if (key == '>' || key == 's' || key == NM_KEY_RIGHT)
        t->sort = nm_sort_keys[(sort_index(t->sort) + 1) % n];
    else if (key == '<' || key == NM_KEY_LEFT)
        t->sort = nm_sort_keys[(sort_index(t->sort) + n - 1) % n];
    else if (key == 'r' || key == 'R')
        t->reverse = !t->reverse;
    else
        return false;
    return true;
}

/* Doubles or halves the rate at which pictures are drawn. */
static bool choose_period(struct nm_top *t, int key)
{
    if (key == '+')
        t->period_usec = NM_MAX(t->period_usec / 2, PERIOD_LEAST_USEC);
    else if (key == '-')
        t->period_usec = NM_MIN(t->period_usec * 2, PERIOD_MOST_USEC);
    else
        return false;
    return true;
}

bool nm_top_key(struct nm_top *t, int key)
{
    if (t->editing)
        return edit(t, key);
    if (t->help && key != 'q') { /* any key closes the help */
        t->help = false;
        return true;
    }
    switch (key) {
    case '/':
    case 'f':
    case 'o':
        memcpy(t->before, t->filter, sizeof t->before);
        t->editing = true;
        return true;
    case NM_KEY_ESCAPE:
        t->filter[0] = '\0';
        return true;
    case 'h':
    case '?':
        t->help = true;
        return true;
    default:
        return scroll(t, key) || choose_order(t, key) || choose_period(t, key);
    }
}
