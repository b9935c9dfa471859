/* SPDX-License-Identifier: Apache-2.0 */

/*
 * `nmctl explain`: decision records in the plain words that nmd puts them into. The words are made
 * there, where the journal and the status page take them from as well: what an operator reads is
 * the same everywhere.
 */

#include <inttypes.h>
#include <time.h>

#include "nmctl/api.h"
#include "nmctl/hold.h"
#include "nmctl/json.h"
#include "nmctl/nmctl.h"
#include "nmctl/term.h"

#define LAST_DEFAULT 5

/* A text of several lines: each is cleaned on its own, so that the newlines stay. */
static void print_text(const char *text, const char *indent)
{
    while (*text) {
        size_t n = strcspn(text, "\n");
        char line[1024];

        (void)snprintf(line, sizeof line, "%.*s", (int)NM_MIN(n, sizeof line - 1), text);
        printf("%s%s\n", indent, nm_term_clean(line));
        text += n + (text[n] == '\n');
    }
}

/* Number and time, then nmd's own words. */
static void print_decision(const struct nm_term *term, const json_t *d)
{
    time_t t = (time_t)(nm_json_u64(d, "realtime_usec") / NM_USEC_PER_SEC);
    const char *explanation = nm_json_str(d, "explanation");
    char when[32] = "";
    struct tm tm;

    if (localtime_r(&t, &tm))
        (void)strftime(when, sizeof when, "%F %T", &tm);
    printf("%sdecision %" PRIu64 ", %s%s\n", nm_term_on(term, NM_STYLE_BOLD),
           nm_json_u64(d, "number"), when, nm_term_off(term, NM_STYLE_BOLD));
    print_text(*explanation ? explanation : nm_json_str(d, "summary"), "  ");
}

/* What no decision tells yet: why it waits at this moment. */
static void print_wait(struct nm_ctl *ctl, const char *id)
{
    _cleanup_json_ json_t *c = NULL, *status = NULL;
    char target[128], why[256];

    if (nm_api_container_target(id, "", target, sizeof target) != NM_CTL_OK ||
        nm_api_try_get(ctl, target, NM_API_TIMEOUT_USEC, &c) < 0 || !*nm_json_str(c, "hold"))
        return;
    (void)nm_api_try_get(ctl, "/v1/status", NM_API_TIMEOUT_USEC, &status);
    nm_hold_text(nm_json_str(c, "hold"), status, why, sizeof why);
    if (nm_json_u64(c, "queue_position") > 0)
        printf("\nnow queued at position %" PRIu64 ": %s\n", nm_json_u64(c, "queue_position"), why);
    else
        printf("\nnow waiting: %s\n", why);
}

/* The newest `last` of a list whose oldest is first. */
static size_t first_of(const json_t *list, uint64_t last)
{
    size_t n = json_array_size(list);

    return last != NM_CTL_UNSET && last < n ? n - (size_t)last : 0;
}

static void print_all(struct nm_ctl *ctl, const json_t *list)
{
    size_t first = first_of(list, ctl->args.last), n = json_array_size(list);
    struct nm_term term;

    nm_term_init(&term, STDOUT_FILENO, ctl->args.no_color);
    for (size_t i = first; i < n; i++) {
        if (i > first)
            (void)fputc('\n', stdout);
        print_decision(&term, json_array_get(list, i));
    }
    if (n == 0)
        printf("no decisions yet\n");
}

/* An array, also of none: jq needs no case for "no decisions". */
static int print_json(const struct nm_ctl *ctl, const json_t *answer)
{
    _cleanup_json_ json_t *out = json_array();
    const json_t *list = nm_json_at(answer, "decisions");

    for (size_t i = first_of(list, ctl->args.last); i < json_array_size(list); i++)
        (void)json_array_append(out, json_array_get(list, i));
    nm_api_print_json(out, false);
    return NM_CTL_OK;
}

/* Of one container all decisions, of the node the newest few: nobody reads a hundred of them. */
int nm_explain_verb(struct nm_ctl *ctl)
{
    const char *id = ctl->n_operands > 0 ? ctl->operands[0] : NULL;
    _cleanup_json_ json_t *answer = NULL;
    char target[128];
    int r = NM_CTL_OK;

    if (!id && ctl->args.last == NM_CTL_UNSET)
        ctl->args.last = LAST_DEFAULT;
    if (id)
        r = nm_api_container_target(id, "/decisions?limit=10000", target, sizeof target);
    else
        (void)snprintf(target, sizeof target, "/v1/decisions?limit=%" PRIu64, ctl->args.last);
    if (r == NM_CTL_OK)
        r = nm_api_get(ctl, target, &answer);
    if (r != NM_CTL_OK)
        return r;
    if (ctl->args.json)
        return print_json(ctl, answer);
    print_all(ctl, nm_json_at(answer, "decisions"));
    if (id)
        print_wait(ctl, id);
    return NM_CTL_OK;
}
