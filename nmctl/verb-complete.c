/* SPDX-License-Identifier: Apache-2.0 */

/*
 * `nmctl __complete [--] WORD...`: prints the completions of the last word, one candidate per line, followed by a tab
 * and a description. A line ":file", ":dir", ":user" or ":command" requests a completion by the shell. The files in
 * packaging/completion contain no names of verbs or options, so they needn't be changed with the tables. This verb
 * prints no errors and doesn't wait long for nmd: after a failure it prints no candidates.
 */

#include <ctype.h>

#include "nmctl/api.h"
#include "nmctl/cli.h"
#include "nmctl/container-json.h"
#include "nmctl/json.h"
#include "nmctl/nmctl.h"

#define TIMEOUT_USEC (500 * NM_USEC_PER_MSEC)

/* Prints a candidate if it begins with the typed prefix. */
static void offer(const char *prefix, const char *word, const char *meaning)
{
    if (strncmp(word, prefix, strlen(prefix)) == 0)
        printf("%s%s%s\n", word, *meaning ? "\t" : "", meaning);
}

/* Prints names before ids, because users type names more often. */
static void offer_containers(struct nm_ctl *ctl, const char *prefix, bool all)
{
    _cleanup_json_ json_t *list = NULL;
    const json_t *c;
    size_t i;

    if (nm_api_try_get_containers(ctl, all, TIMEOUT_USEC, &list) < 0)
        return;
    json_array_foreach(list, i, c) {
        const char *name = nm_json_str(c, "name");
        char meaning[128], state[64];

        (void)snprintf(meaning, sizeof meaning, "%s, %s", nm_container_display_state(c, state, sizeof state),
                       nm_container_type_word(c));
        if (*name)
            offer(prefix, name, meaning);
        offer(prefix, nm_json_str(c, "id"), *name ? name : meaning);
    }
}

/* Prints the verbs. Hidden verbs, such as __complete, are for programs. */
static void offer_verbs(const struct nm_ctl *ctl, const char *prefix)
{
    for (const struct nm_verb *v = ctl->tables->verbs; v->name; v++)
        if (!v->hidden)
            offer(prefix, v->name, v->summary);
}

/* Prints states in upper case if the prefix begins with an upper-case letter, else in lower case. */
static void offer_states(const char *prefix)
{
    for (size_t i = 0; i < nm_n_state_words; i++) {
        char word[32];
        size_t n = 0;

        for (const char *p = nm_state_words[i]; *p && n + 1 < sizeof word; p++)
            word[n++] = isupper((unsigned char)*prefix) ? *p : (char)tolower((unsigned char)*p);
        word[n] = '\0';
        offer(prefix, word, "");
    }
}

/* Copies the first sentence of text to buf. A sentence that is too long is truncated between two words, with an
 * ellipsis. */
static void first_sentence(const char *text, char *buf, size_t size)
{
    static const char ellipsis[] = "...";
    const char *end = strstr(text, ". ");
    size_t n = end ? (size_t)(end - text) : strlen(text);
    bool fits = n < size;

    if (!fits) {
        n = size - sizeof ellipsis;
        while (n > 0 && text[n] != ' ')
            n--;
        while (n > 0 && (text[n - 1] == ' ' || text[n - 1] == ',' || text[n - 1] == ';'))
            n--;
    }
    (void)snprintf(buf, size, "%.*s%s", (int)n, text, fits ? "" : ellipsis);
}

/* Prints keys with and without their section, because `config` finds both. */
static void offer_keys(struct nm_ctl *ctl, const char *prefix)
{
    _cleanup_json_ json_t *answer = NULL;
    const json_t *keys, *key;
    size_t i;

    if (nm_api_try_get(ctl, "/v1/config", TIMEOUT_USEC, &answer) < 0)
        return;
    keys = json_is_array(answer) ? answer : nm_json_at(answer, "config");
    json_array_foreach(keys, i, key) {
        const char *section = nm_json_str(key, "section");
        char name[160], meaning[160];

        (void)snprintf(name, sizeof name, "%s.%s", section, nm_json_str(key, "key"));
        first_sentence(nm_json_str(key, "meaning"), meaning, sizeof meaning);
        offer(prefix, name, meaning);
        if (*prefix && strncmp(name, prefix, strlen(prefix)) != 0)
            offer(prefix, nm_json_str(key, "key"), meaning);
    }
}

/* Prints the candidates of a kind. Files, users and commands are completed by the shell. */
static void offer_kind(struct nm_ctl *ctl, enum nm_complete kind, const char *prefix)
{
    switch (kind) {
    case NM_COMPLETE_CONTAINER:
    case NM_COMPLETE_ANY_CONTAINER:
        offer_containers(ctl, prefix, kind == NM_COMPLETE_ANY_CONTAINER);
        break;
    case NM_COMPLETE_COMMAND:
        printf(":command\n");
        break;
    case NM_COMPLETE_FILE:
        printf(":file\n");
        break;
    case NM_COMPLETE_DIRECTORY:
        printf(":dir\n");
        break;
    case NM_COMPLETE_USER:
        printf(":user\n");
        break;
    case NM_COMPLETE_VERB:
        offer_verbs(ctl, prefix);
        break;
    case NM_COMPLETE_SORT:
        for (size_t i = 0; i < nm_n_sort_keys; i++)
            offer(prefix, nm_sort_keys[i], "");
        break;
    case NM_COMPLETE_STATE:
        offer_states(prefix);
        break;
    case NM_COMPLETE_KEY:
        offer_keys(ctl, prefix);
        break;
    case NM_COMPLETE_NOTHING:
        break;
    }
}

/* Prints long options only. Short options don't need completion. */
static void offer_options(const struct nm_option *options, const char *prefix)
{
    char word[64];

    for (; options && options->name; options++) {
        (void)snprintf(word, sizeof word, "--%s", options->name);
        offer(prefix, word, options->help);
    }
}

/* The position of the last word, determined from the words before it. */
struct position {
    const struct nm_verb *verb;
    const struct nm_option *value_of; /* option whose value the last word is */
    unsigned n_operands;              /* number of the verb's operands before the last word */
    bool only_operands;               /* after "--", or inside a command */
};

/* Parses the words as getopt does, but ignores errors, because the line is incomplete. Applies --socket, because the
 * candidates come from the nmd at this socket. */
static void walk(struct position *at, char **words, unsigned n, struct nm_ctl *ctl)
{
    for (unsigned i = 0; i < n; i++) {
        const char *word = words[i];
        const struct nm_option *o;

        if (at->value_of) {
            if (nm_streq(at->value_of->name, "socket"))
                ctl->socket_path = word;
            at->value_of = NULL;
        } else if (!at->only_operands && nm_streq(word, "--"))
            at->only_operands = true;
        else if (!at->only_operands && word[0] == '-' && word[1]) {
            o = nm_args_find_option(ctl->tables, at->verb, word);
            if (strncmp(word, "--socket=", 9) == 0)
                ctl->socket_path = word + 9;
            at->value_of = o && o->arg ? o : NULL;
        } else if (!at->verb) {
            at->verb = nm_args_find_verb(ctl->tables, word);
            if (!at->verb)
                at->only_operands = true;
        } else {
            /* "exec web -- ": the two dashes aren't part of the command */
            at->n_operands += !(nm_streq(word, "--") && at->verb->complete == NM_COMPLETE_CONTAINER);
            at->only_operands |= at->verb->stops_at_operand;
        }
    }
}

/* Prints the completions. In a word such as "--sort=c" only the part after "=" is completed. */
int nm_complete_verb(struct nm_ctl *ctl)
{
    const char *last = ctl->n_operands > 0 ? ctl->operands[ctl->n_operands - 1] : "",
               *equals = strchr(last, '=');
    struct position at = {0};
    char name[64];

    walk(&at, ctl->operands, ctl->n_operands > 0 ? ctl->n_operands - 1 : 0, ctl);
    if (!at.value_of && !at.only_operands && last[0] == '-' && last[1] == '-' && equals) {
        (void)snprintf(name, sizeof name, "%.*s", (int)(equals - last), last);
        at.value_of = nm_args_find_option(ctl->tables, at.verb, name);
        last = equals + 1;
    }
    if (at.value_of)
        offer_kind(ctl, at.value_of->complete, last);
    else if (!at.only_operands && last[0] == '-') {
        offer_options(at.verb ? at.verb->options : NULL, last);
        offer_options(ctl->tables->global_options, last);
    } else if (!at.verb)
        offer_verbs(ctl, at.only_operands ? "\n" : last);
    else if (at.verb->complete == NM_COMPLETE_CONTAINER && at.verb->stops_at_operand && at.n_operands == 1)
        printf(":command\n"); /* the command follows the container's name */
    else if (at.verb->stops_at_operand && at.n_operands > 0)
        printf(":file\n");
    else if (at.n_operands < at.verb->max_operands)
        offer_kind(ctl, at.verb->complete, last);
    return NM_CTL_OK;
}
