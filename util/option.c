/* SPDX-License-Identifier: Apache-2.0 */

/* See option.h. */

#include "util/option.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "util/error.h"
#include "util/macros.h"
#include "util/parse.h"

#define OPTIONS_MAX 40
#define LONG_BASE 256 /* above every short option's character */

/* ---- types ----------------------------------------------------------------------------------- */

static int take_flag(void *at, char *value, const struct nm_option *o)
{
    (void)value, (void)o;
    *(bool *)at = true;
    return 0;
}

static int take_any(void *at, char *value, const struct nm_option *o)
{
    (void)o;
    *(const char **)at = value;
    return 0;
}

static int take_print(void *at, char *value, const struct nm_option *o)
{
    (void)at, (void)value;
    (void)fputs(o->help, stdout);
    return NM_OPTION_DONE;
}

const struct nm_option_type nm_option_flag = {.take = take_flag};
const struct nm_option_type nm_option_any = {.take = take_any};
const struct nm_option_type nm_option_print = {.take = take_print};

int nm_option_take_text(void *at, char *value, const struct nm_option *o)
{
    return *value ? take_any(at, value, o) : -EINVAL;
}

/* Stores a parsed number if it is in the option's range. r: the result of the parser. */
static int put(uint64_t *at, int r, uint64_t v, const struct nm_option *o)
{
    if (r < 0)
        return r;
    if (v < o->type->min || v > o->type->max)
        return -ERANGE;
    *at = v;
    return 0;
}

int nm_option_take_u64(void *at, char *value, const struct nm_option *o)
{
    uint64_t v = 0;
    int r = nm_parse_u64(value, &v);

    return put(at, r, v, o);
}

int nm_option_take_u32(void *at, char *value, const struct nm_option *o)
{
    uint64_t v = 0;
    int r = nm_option_take_u64(&v, value, o);

    if (r < 0 || v > UINT32_MAX)
        return r < 0 ? r : -ERANGE;
    *(uint32_t *)at = (uint32_t)v;
    return 0;
}

int nm_option_take_size(void *at, char *value, const struct nm_option *o)
{
    uint64_t v = 0;
    int r = nm_parse_size(value, &v);

    return put(at, r, v, o);
}

int nm_option_take_duration(void *at, char *value, const struct nm_option *o)
{
    uint64_t v = 0;
    int r = nm_parse_duration(value, &v);

    return put(at, r, v, o);
}

/* ---- messages -------------------------------------------------------------------------------- */

const char *nm_option_allowed(const struct nm_option *o)
{
    return o->type->allowed ? o->type->allowed : o->arg;
}

void nm_option_report(const struct nm_option_fault *f)
{
    const struct nm_option *o = f->option;

    switch (f->kind) {
    case NM_OPTION_UNKNOWN:
        nm_diag("unknown option %s%s%s%s; see '%s --help'", f->word, f->nearest ? "; did you mean --" : "",
                f->nearest ? f->nearest : "", f->nearest ? "?" : "", program_invocation_short_name);
        break;
    case NM_OPTION_NO_VALUE:
        nm_diag("--%s needs a value: %s", o->name, nm_option_allowed(o));
        break;
    case NM_OPTION_NEEDLESS_VALUE:
        nm_diag("--%s takes no value", o->name);
        break;
    case NM_OPTION_BAD_VALUE:
    case NM_OPTION_OUT_OF_RANGE:
        nm_diag("--%s '%s': it must be %s", o->name, f->word, nm_option_allowed(o));
        break;
    case NM_OPTION_TOO_OFTEN:
        nm_diag("--%s '%s': it can be given at most %" PRIu64 " times", o->name, f->word, o->type->max);
        break;
    }
}

static int fail(const struct nm_option_parser *p, const struct nm_option_fault *fault)
{
    if (p->report_cb)
        p->report_cb(fault, p->userdata);
    else
        nm_option_report(fault);
    return -EINVAL;
}

/* ---- parsing --------------------------------------------------------------------------------- */

/* The options of all tables in one list, and in the format of getopt_long(): the short options in a string and the long
 * options in an array. The code of a long option is LONG_BASE plus its index. */
struct merged {
    const struct nm_option *options[OPTIONS_MAX];
    void *into[OPTIONS_MAX];
    int n;
    struct option longs[OPTIONS_MAX + 1];
    char shorts[OPTIONS_MAX * 2 + 3]; /* "+:", two characters for each option, and the NUL */
};

static void merge(struct merged *m, const struct nm_option *options, void *into)
{
    for (; options && options->name; options++) {
        size_t len = strlen(m->shorts);

        assert(m->n < OPTIONS_MAX);
        if (options->brief)
            (void)snprintf(m->shorts + len, sizeof m->shorts - len, "%c%s", options->brief, options->arg ? ":" : "");
        m->longs[m->n] = (struct option){options->name, options->arg ? required_argument : no_argument, NULL,
                                         LONG_BASE + m->n};
        m->into[m->n] = into;
        m->options[m->n++] = options;
    }
}

/* Reports an unknown option, and names the known option that is most similar, because the word may be mistyped. */
static int refuse_unknown(const struct nm_option_parser *p, const struct merged *m, const char *word)
{
    const char *names[OPTIONS_MAX];
    struct nm_option_fault fault = {.kind = NM_OPTION_UNKNOWN, .word = word};
    char name[64];

    for (int i = 0; i < m->n; i++)
        names[i] = m->options[i]->name;
    if (strncmp(word, "--", 2) == 0) {
        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="), word + 2);
        fault.nearest = nm_nearest_word(name, names, (size_t)m->n);
    }
    return fail(p, &fault);
}

/* Reports an error of getopt_long(). If optopt is the code of a known option, the option's value is missing, or a flag
 * has a value. */
static int refuse(const struct nm_option_parser *p, const struct merged *m, char **argv, int code)
{
    const char brief[3] = {'-', (char)optopt, '\0'};

    for (int i = 0; i < m->n; i++) {
        const struct nm_option *o = m->options[i];
        const struct nm_option_fault fault = {.kind = code == ':' ? NM_OPTION_NO_VALUE : NM_OPTION_NEEDLESS_VALUE,
                                              .option = o};

        if (optopt != 0 && (optopt == LONG_BASE + i || optopt == o->brief))
            return fail(p, &fault);
    }
    return refuse_unknown(p, m, optopt > 0 && optopt < LONG_BASE ? brief : argv[optind - 1]);
}

static int take(const struct nm_option_parser *p, const struct nm_option *o, void *into)
{
    struct nm_option_fault fault = {.option = o, .word = optarg};
    int r = o->type->take((char *)into + o->offset, optarg, o);

    if (r >= 0)
        return r;
    fault.kind = r == -ERANGE ? NM_OPTION_OUT_OF_RANGE : r == -E2BIG ? NM_OPTION_TOO_OFTEN : NM_OPTION_BAD_VALUE;
    return fail(p, &fault);
}

/* Processes one option, or an error, that getopt_long() has returned. */
static int take_or_refuse(const struct nm_option_parser *p, const struct merged *m, char **argv, int code)
{
    for (int i = 0; i < m->n; i++)
        if (code == LONG_BASE + i || code == m->options[i]->brief)
            return take(p, m->options[i], m->into[i]);
    return refuse(p, m, argv, code);
}

/* "+" makes getopt_long() stop at the first operand. Without "+" it moves later options in front of the operand. ":"
 * makes it return different codes for a missing value and for an unknown option. */
int nm_option_parse(const struct nm_option_parser *p, int argc, char **argv, int *ret_first)
{
    struct merged m = {.shorts = ""};

    (void)snprintf(m.shorts, sizeof m.shorts, "%s:", p->stops_at_operand ? "+" : "");
    for (size_t i = 0; i < NM_OPTION_TABLES_MAX; i++)
        merge(&m, p->tables[i].options, p->tables[i].into);
    /* With optind 0 instead of 1, glibc resets its position in words like "-abc", and reads "+" again. */
    opterr = 0;
    optind = 0;
    for (;;) {
        int r, code = getopt_long(argc, argv, m.shorts, m.longs, NULL);

        if (code == -1) {
            *ret_first = optind;
            return 0;
        }
        r = take_or_refuse(p, &m, argv, code);
        if (r != 0)
            return r;
    }
}

/* ---- help and completion --------------------------------------------------------------------- */

/* Indents options without a short form as well, so that the long options are aligned. */
const char *nm_option_label(const struct nm_option *o, char *buf, size_t size)
{
    char brief[5] = "    ";

    if (o->brief)
        (void)snprintf(brief, sizeof brief, "-%c, ", o->brief);
    (void)snprintf(buf, size, "%s--%s%s%s", brief, o->name, o->arg ? " " : "", o->arg ? o->arg : "");
    return buf;
}

const struct nm_option *nm_option_find(const struct nm_option *options, const char *word)
{
    for (; options && options->name; options++)
        if ((word[0] == '-' && word[1] == options->brief && options->brief && !word[2]) ||
            (strncmp(word, "--", 2) == 0 && nm_streq(word + 2, options->name)))
            return options;
    return NULL;
}

/* ---- mistyped words -------------------------------------------------------------------------- */

/* Returns the number of edits (insert, delete, replace, swap two neighbours) between two words, or 99 if one of them is
 * longer than 31 bytes. */
static unsigned distance(const char *a, const char *b)
{
    unsigned d[32][32];
    size_t la = strlen(a), lb = strlen(b);

    if (la >= 32 || lb >= 32)
        return 99;
    for (unsigned i = 0; i <= la; i++)
        for (unsigned j = 0; j <= lb; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            d[i][j] = NM_MIN(d[i - 1][j], d[i][j - 1]) + 1;
            d[i][j] = NM_MIN(d[i][j], d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = NM_MIN(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d[la][lb];
}

/* A third of the letters, and at least one, may be wrong: "lits" matches "list", and "x" matches no longer word. */
const char *nm_nearest_word(const char *given, const char *const *words, size_t n)
{
    const char *best = NULL;
    unsigned best_distance = NM_MAX(((unsigned)strlen(given) + 1) / 3, 1u);

    for (size_t i = 0; i < n; i++) {
        unsigned d = distance(given, words[i]);
        /* A word that starts with the given text counts as similar, independent of its length. */
        if (strlen(given) >= 2 && strncmp(words[i], given, strlen(given)) == 0)
            d = 1;
        if (d <= best_distance && (!best || d < best_distance)) {
            best = words[i];
            best_distance = d;
        }
    }
    return best;
}
