/* SPDX-License-Identifier: Apache-2.0 */

/* See cli.h. */

#include "nmctl/cli.h"

#include "nmctl/message.h"
#include "util/error.h"
#include "util/parse.h"

#define LAST_MAX 10000 /* limit of nmd's local interface */

const char *const nm_sort_keys[] = {"cpu", "memory", "time", "age", "name"};
const size_t nm_n_sort_keys = NM_ARRAY_SIZE(nm_sort_keys);
const char *const nm_state_words[] = {"NEW",      "LOCALIZING", "QUEUED", "RUNNING",   "PAUSING", "PAUSED",
                                      "RESUMING", "KILLING",    "ENDED",  "SUCCEEDED", "FAILED",  "KILLED"};
const size_t nm_n_state_words = NM_ARRAY_SIZE(nm_state_words);

void nm_args_init(struct nm_args *a)
{
    *a = (struct nm_args){.tail = NM_CTL_UNSET, .last = NM_CTL_UNSET, .after = NM_CTL_UNSET, .since_usec = NM_CTL_UNSET,
                          .deadline_usec = NM_CTL_UNSET, .interval_usec = NM_CTL_UNSET, .timeout_usec = NM_CTL_UNSET};
}

void nm_args_done(struct nm_args *a)
{
    for (size_t i = 0; i < a->env.n; i++)
        free((void *)a->env.list[i]);
    free(a->env.list);
    nm_args_init(a);
}

/* ---- types of values ------------------------------------------------------------------------- */

/* Takes "K=V", or "K" with the value from nmctl's environment. */
static int take_env(void *at, char *value, const struct nm_option *o)
{
    struct nm_variables *env = at;
    char *equals = strchr(value, '='), *text = NULL;
    const char *here = equals ? NULL : getenv(value), **list;

    (void)o;
    if (equals == value || !*value || (!equals && !here))
        return -EINVAL;
    if (equals)
        text = strdup(value);
    else if (asprintf(&text, "%s=%s", value, here) < 0)
        text = NULL;
    list = text ? reallocarray(env->list, env->n + 1, sizeof *list) : NULL;
    if (!list)
        nm_message_oom();
    env->list = list;
    env->list[env->n++] = text;
    return 0;
}

/* Returns the word in its normal spelling, or NULL. nmctl itself checks these words, because it sorts and filters
 * lists. */
static const char *find_word(const char *value, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcasecmp(value, words[i]) == 0)
            return words[i];
    return NULL;
}

/* Accepts the state names of the JSON output, too, because users copy the names from JSON. */
static const char *find_state(const char *value)
{
    if (strcasecmp(value, "SCHEDULED") == 0)
        value = "QUEUED";
    else if (strcasecmp(value, "COMPLETED") == 0)
        value = "ENDED";
    return find_word(value, nm_state_words, nm_n_state_words);
}

bool nm_state_word_is_ended(const char *word)
{
    return word && (nm_streq(word, "ENDED") || nm_streq(word, "SUCCEEDED") || nm_streq(word, "FAILED") ||
                    nm_streq(word, "KILLED"));
}

static int take_word(void *at, const char *word)
{
    if (!word)
        return -EINVAL;
    *(const char **)at = word;
    return 0;
}

static int take_sort(void *at, char *value, const struct nm_option *o)
{
    (void)o;
    return take_word(at, find_word(value, nm_sort_keys, nm_n_sort_keys));
}

static int take_state(void *at, char *value, const struct nm_option *o)
{
    (void)o;
    return take_word(at, find_state(value));
}

static int take_name(void *at, char *value, const struct nm_option *o)
{
    (void)o;
    return take_word(at, nm_name_is_valid(value) ? value : NULL);
}

static int take_vcores(void *at, char *value, const struct nm_option *o)
{
    uint32_t vcores;
    int r = nm_parse_vcores(value, &vcores);

    (void)o;
    if (r == 0)
        *(uint64_t *)at = vcores;
    return r;
}

const struct nm_option_type nm_args_text = {.take = nm_option_take_text};
const struct nm_option_type nm_args_name = {
    take_name, "1 to 63 letters, digits, '.', '_' and '-', not beginning with '.' or '-'", 0, 0};
const struct nm_option_type nm_args_sort = {take_sort, "cpu, memory, time, age or name", 0, 0};
const struct nm_option_type nm_args_state = {
    take_state,
    "new, localizing, queued, running, pausing, paused, resuming, killing, ended, succeeded, failed or killed", 0, 0};
const struct nm_option_type nm_args_size = {
    nm_option_take_size,
    "a size from 1 to 8388607T, such as 512M, 1.5G or 1073741824 (K, M, G and T are powers of 1024)", 1, UINT64_MAX};
const struct nm_option_type nm_args_vcores = {
    take_vcores, "a number of vcores from 0.001 to 1000000 with at most three decimals, such as 2 or 0.5", 0, 0};
const struct nm_option_type nm_args_duration = {
    nm_option_take_duration,
    "a time up to 2562047788h, such as 500ms, 30s, 5min or 2h (a bare number is seconds)", 0, UINT64_MAX};
const struct nm_option_type nm_args_interval = {nm_option_take_duration, "a time from 50ms to 1h",
                                                50 * NM_USEC_PER_MSEC, 3600 * NM_USEC_PER_SEC};
const struct nm_option_type nm_args_count = {nm_option_take_u64, "a whole number from 0 to 9223372036854775807", 0,
                                             INT64_MAX};
const struct nm_option_type nm_args_last = {nm_option_take_u64, "a whole number from 1 to 10000", 1, LAST_MAX};
const struct nm_option_type nm_args_env = {take_env, "K=V, or the name of a variable that is set here", 0, 0};

/* ---- parsing --------------------------------------------------------------------------------- */

static void report_unknown(const struct nm_option_fault *f, const struct nm_verb *verb)
{
    const char *name = verb ? verb->name : "", *near = f->nearest;
    const char *hint = nm_docker_hint_option(name, f->word);

    if (hint)
        nm_message("%s: there is no option %s: %s", name, f->word, hint);
    else
        nm_message("unknown option %s%s%s%s; see 'nmctl %s%s--help'", f->word, near ? "; did you mean --" : "",
                   near ? near : "", near ? "?" : "", name, verb ? " " : "");
}

/* Unlike nm_option_report(), this function names the verb and replaces control characters in words from the command
 * line. */
static void print_fault(const struct nm_option_fault *f, void *userdata)
{
    const struct nm_option *o = f->option;

    switch (f->kind) {
    case NM_OPTION_UNKNOWN:
        report_unknown(f, userdata);
        break;
    case NM_OPTION_NO_VALUE:
        nm_message("--%s needs a value: %s", o->name, nm_option_allowed(o));
        break;
    case NM_OPTION_NEEDLESS_VALUE:
        nm_message("--%s takes no value", o->name);
        break;
    default:
        nm_message("--%s '%s' is %s; allowed is %s", o->name, f->word,
                   f->kind == NM_OPTION_OUT_OF_RANGE ? "out of range" : "not valid",
                   o->type == &nm_args_text ? "any text that is not empty" : nm_option_allowed(o));
    }
}

int nm_args_parse(struct nm_ctl *ctl, bool stop, int argc, char **argv)
{
    const struct nm_option_parser p = {
        .tables = {{ctl->verb ? ctl->verb->options : NULL, &ctl->args}, {ctl->tables->global_options, &ctl->args}},
        .stops_at_operand = stop,
        .report_cb = print_fault,
        .userdata = (void *)ctl->verb,
    };
    int first, r = nm_option_parse(&p, argc, argv, &first);

    return r < 0 ? r : first;
}

/* ---- finding in the tables ------------------------------------------------------------------- */

const struct nm_option *nm_args_find_option(const struct nm_verb_tables *tables, const struct nm_verb *verb,
                                            const char *word)
{
    const struct nm_option *o = verb ? nm_option_find(verb->options, word) : NULL;

    return o ? o : nm_option_find(tables->global_options, word);
}

static bool is_also(const struct nm_verb *v, const char *name)
{
    size_t len = strlen(name), n;

    for (const char *word = v->also; word && *word; word += n + (word[n] == ' ')) {
        n = strcspn(word, " ");
        if (n == len && memcmp(word, name, n) == 0)
            return true;
    }
    return false;
}

const struct nm_verb *nm_args_find_verb(const struct nm_verb_tables *tables, const char *name)
{
    for (const struct nm_verb *v = tables->verbs; v->name; v++)
        if (nm_streq(v->name, name) || is_also(v, name))
            return v;
    return NULL;
}
