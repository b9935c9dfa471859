/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See option.h. getopt_long() does the splitting; its own messages are replaced, because they name
 * neither the verb nor what would be allowed. It is reset (optind = 0) between the global options
 * and the verb's.
 */

#include "nmctl/option.h"

#include <getopt.h>

#include "nmctl/docker-hints.h"
#include "nmctl/message.h"
#include "util/error.h"
#include "util/parse.h"

#define OPTIONS_MAX 32
#define LAST_MAX 10000 /* the interface's own limit */
#define LONG_BASE 256 /* above every short option's character */

const char *const nm_sort_keys[] = {"cpu", "memory", "time", "age", "name"};
const size_t nm_n_sort_keys = NM_ARRAY_SIZE(nm_sort_keys);
const char *const nm_state_words[] = {"NEW",      "LOCALIZING", "QUEUED", "RUNNING",   "PAUSING", "PAUSED",
                                      "RESUMING", "KILLING",    "ENDED",  "SUCCEEDED", "FAILED",  "KILLED"};
const size_t nm_n_state_words = NM_ARRAY_SIZE(nm_state_words);

/* The verb's options and the global ones as one list, and as getopt wants them. */
struct merged {
    const struct nm_option *options[OPTIONS_MAX];
    int n;
    struct option longs[OPTIONS_MAX + 1];
    /* two characters for each, "+:" in front, and the NUL */
    char shorts[OPTIONS_MAX * 2 + 3];
};

void nm_args_init(struct nm_args *a)
{
    *a = (struct nm_args){.tail = NM_CTL_UNSET, .last = NM_CTL_UNSET, .after = NM_CTL_UNSET, .since_usec = NM_CTL_UNSET,
                          .deadline_usec = NM_CTL_UNSET, .interval_usec = NM_CTL_UNSET, .timeout_usec = NM_CTL_UNSET};
}

void nm_args_done(struct nm_args *a)
{
    for (size_t i = 0; i < a->n_env; i++)
        free((void *)a->env[i]);
    free(a->env);
    nm_args_init(a);
}

/* getopt wants the short ones in a string and the long ones in an array; a long one's code tells
 * its place here. */
static void merge(struct merged *m, const struct nm_option *options)
{
    for (; options && options->name && m->n < OPTIONS_MAX; options++) {
        size_t len = strlen(m->shorts);

        if (options->brief)
            (void)snprintf(m->shorts + len, sizeof m->shorts - len, "%c%s", options->brief,
                           options->arg ? ":" : "");
        m->longs[m->n] = (struct option){
            options->name, options->arg ? required_argument : no_argument, NULL, LONG_BASE + m->n};
        m->options[m->n++] = options;
    }
}

/* The end of every message about a bad value. */
static const char *what_is_allowed(enum nm_option_kind kind)
{
    switch (kind) {
    case NM_OPTION_SIZE:
        return "a size from 1 to 8388607T, such as 512M, 1.5G or 1073741824 (K, M, G and T are powers of 1024)";
    case NM_OPTION_VCORES:
        return "a number of vcores from 0.001 to 1000000 with at most three decimals, such as 2 or 0.5";
    case NM_OPTION_DURATION:
        return "a time up to 2562047788h, such as 500ms, 30s, 5min or 2h (a bare number is seconds)";
    case NM_OPTION_COUNT:
        return "a whole number from 0 to 9223372036854775807";
    case NM_OPTION_LAST:
        return "a whole number from 1 to 10000";
    case NM_OPTION_INTERVAL:
        return "a time from 50ms to 1h";
    case NM_OPTION_STRING:
        return "what is not empty";
    case NM_OPTION_NAME:
        return "1 to 63 letters, digits, '.', '_' and '-', not beginning with '.' or '-'";
    case NM_OPTION_SORT:
        return "cpu, memory, time, age or name";
    case NM_OPTION_STATE:
        return "new, localizing, queued, running, pausing, paused, resuming, killing, ended, succeeded, failed or "
               "killed";
    default:
        return "K=V, or the name of a variable that is set here";
    }
}

/* "K=V", or "K": passed on with the value that it has here. */
static int add_env(struct nm_args *a, const char *value)
{
    const char *equals = strchr(value, '='), *here;
    const char **env;
    char *text = NULL;

    if (equals == value || !*value)
        return -EINVAL;
    if (equals)
        text = strdup(value);
    else if (!(here = getenv(value)))
        return -EINVAL;
    else if (asprintf(&text, "%s=%s", value, here) < 0)
        text = NULL;
    env = text ? reallocarray(a->env, a->n_env + 1, sizeof *env) : NULL;
    if (!env)
        nm_message_oom();
    a->env = env;
    a->env[a->n_env++] = text;
    return 0;
}

/* Checked here and not by nmd: lists are sorted and shortened on this side. The word as it is spelled, or NULL. */
static const char *find_word(const char *value, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcasecmp(value, words[i]) == 0)
            return words[i];
    return NULL;
}

/* Takes the names of JSON, too: people copy them from its output. */
static const char *find_state(const char *value)
{
    if (strcasecmp(value, "SCHEDULED") == 0)
        value = "QUEUED";
    else if (strcasecmp(value, "COMPLETED") == 0)
        value = "ENDED";
    return find_word(value, nm_state_words, nm_n_state_words);
}

bool nm_option_state_has_ended(const char *word)
{
    return word && (nm_streq(word, "ENDED") || nm_streq(word, "SUCCEEDED") || nm_streq(word, "FAILED") ||
                    nm_streq(word, "KILLED"));
}

/* For the kinds that are one word of some; NULL: it isn't. */
static const char *word_of(enum nm_option_kind kind, const char *value)
{
    switch (kind) {
    case NM_OPTION_SORT:
        return find_word(value, nm_sort_keys, nm_n_sort_keys);
    case NM_OPTION_STATE:
        return find_state(value);
    default:
        return nm_name_is_valid(value) ? value : NULL;
    }
}

static int in_range(int r, const uint64_t *v, uint64_t min, uint64_t max)
{
    return r == 0 && (*v < min || *v > max) ? -ERANGE : r;
}

/* Returns 0, -EINVAL (not such a value) or -ERANGE (too large or too small), and says nothing yet.
 */
static int set_value(struct nm_args *a, const struct nm_option *o, const char *value)
{
    void *at = (char *)a + o->offset;
    uint32_t vcores;
    int r;

    switch (o->kind) {
    case NM_OPTION_FLAG:
        *(bool *)at = true;
        return 0;
    case NM_OPTION_NAME:
    case NM_OPTION_SORT:
    case NM_OPTION_STATE:
        *(const char **)at = word_of(o->kind, value);
        return *(const char **)at ? 0 : -EINVAL;
    case NM_OPTION_STRING:
        *(const char **)at = value;
        return *value ? 0 : -EINVAL;
    case NM_OPTION_SIZE:
        return nm_parse_size(value, at);
    case NM_OPTION_VCORES:
        r = nm_parse_vcores(value, &vcores);
        if (r == 0)
            *(uint64_t *)at = vcores;
        return r;
    case NM_OPTION_DURATION:
        return nm_parse_duration(value, at);
    case NM_OPTION_INTERVAL:
        r = nm_parse_duration(value, at);
        return in_range(r, at, 50 * NM_USEC_PER_MSEC, 3600 * NM_USEC_PER_SEC);
    case NM_OPTION_COUNT:
        r = nm_parse_u64(value, at);
        return in_range(r, at, 0, INT64_MAX);
    case NM_OPTION_LAST:
        r = nm_parse_u64(value, at);
        return in_range(r, at, 1, LAST_MAX);
    case NM_OPTION_ENV:
        return add_env(a, value);
    }
    return -EINVAL;
}

static const char *verb_name(const struct nm_verb *verb)
{
    return verb ? verb->name : "";
}

/* Options are mistyped more often than verbs: the nearest one is named here too. */
static int say_unknown(const struct merged *m, const struct nm_verb *verb, const char *word)
{
    const char *names[OPTIONS_MAX], *near = NULL, *hint = nm_docker_hint_option(verb_name(verb), word);
    char name[64];

    if (hint) {
        nm_message("%s: there is no option %s: %s", verb_name(verb), word, hint);
        return -EINVAL;
    }
    for (int i = 0; i < m->n; i++)
        names[i] = m->options[i]->name;
    if (strncmp(word, "--", 2) == 0) {
        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="), word + 2);
        near = nm_message_nearest(name, names, (size_t)m->n);
    }
    nm_message("unknown option %s%s%s%s; see 'nmctl %s%s--help'", word, near ? "; did you mean --" : "",
               near ? near : "", near ? "?" : "", verb_name(verb), verb ? " " : "");
    return -EINVAL;
}

/* getopt has found a fault: with optopt set to a known option's value it is a missing (or needless)
 * argument. */
static int say_fault(const struct merged *m, const struct nm_verb *verb, char **argv, int code)
{
    const char *word = argv[optind - 1];
    char brief[3] = {'-', (char)optopt, '\0'};

    for (int i = 0; i < m->n; i++) {
        const struct nm_option *o = m->options[i];

        if (optopt == 0 || (optopt != LONG_BASE + i && optopt != o->brief))
            continue;
        if (code == ':')
            nm_message("--%s needs a value: %s", o->name,
                       o->kind == NM_OPTION_STRING ? o->arg : what_is_allowed(o->kind));
        else
            nm_message("--%s takes no value", o->name);
        return -EINVAL;
    }
    return say_unknown(m, verb, optopt > 0 && optopt < LONG_BASE ? brief : word);
}

/* One option that getopt has split off, or its complaint. */
static int take(struct nm_args *a, const struct merged *m, const struct nm_verb *verb, char **argv,
                int code)
{
    for (int i = 0; i < m->n; i++) {
        const struct nm_option *o = m->options[i];
        int r;

        if (code != LONG_BASE + i && code != o->brief)
            continue;
        r = set_value(a, o, optarg);
        if (r == 0)
            return 0;
        nm_message("--%s '%s' is %s; allowed is %s", o->name, optarg,
                   r == -ERANGE ? "out of range" : "not valid", what_is_allowed(o->kind));
        return -EINVAL;
    }
    return say_fault(m, verb, argv, code);
}

/* Twice for each command line, with `stop` the first time: getopt would else move the verb's
 * options in front of the verb. "+" does that; ":" tells a missing value from an unknown option. */
int nm_option_parse(struct nm_args *a, const struct nm_verb *verb, bool stop, int argc, char **argv)
{
    struct merged m = {.shorts = ""};

    (void)snprintf(m.shorts, sizeof m.shorts, "%s:", stop ? "+" : "");
    merge(&m, verb ? verb->options : NULL);
    merge(&m, nm_global_options);
    /* optind 0 and not 1: then glibc's getopt forgets where in "-abc" it was, and reads "+" anew. */
    opterr = 0;
    optind = 0;
    for (;;) {
        int r, code = getopt_long(argc, argv, m.shorts, m.longs, NULL);

        if (code == -1)
            return optind;
        r = take(a, &m, verb, argv, code);
        if (r < 0)
            return r;
    }
}

/* Options without a short form are indented as if they had one, so that the long ones stand in a
 * column. */
const char *nm_option_label(const struct nm_option *o, char *buf, size_t size)
{
    char brief[5] = "    ";

    if (o->brief)
        (void)snprintf(brief, sizeof brief, "-%c, ", o->brief);
    (void)snprintf(buf, size, "%s--%s%s%s", brief, o->name, o->arg ? " " : "",
                   o->arg ? o->arg : "");
    return buf;
}

static const struct nm_option *find_in(const struct nm_option *options, const char *word)
{
    for (; options && options->name; options++)
        if ((word[0] == '-' && word[1] == options->brief && options->brief && !word[2]) ||
            (strncmp(word, "--", 2) == 0 && nm_streq(word + 2, options->name)))
            return options;
    return NULL;
}

const struct nm_option *nm_option_find(const struct nm_verb *verb, const char *word)
{
    const struct nm_option *o = verb ? find_in(verb->options, word) : NULL;

    return o ? o : find_in(nm_global_options, word);
}
