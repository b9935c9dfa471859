/* SPDX-License-Identifier: Apache-2.0 */

/*
 * `nmctl explain`: prints decision records as text. nmd generates the text. The journal and the status page use the
 * same text, so that operators read the same words everywhere.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <time.h>

#include "nmctl/api.h"
#include "nmctl/container-json.h"
#include "nmctl/json.h"
#include "nmctl/nmctl.h"
#include "nmctl/message.h"
#include "nmctl/term.h"
#include "util/parse.h"

#define LAST_DEFAULT 5
#define LAST_MAX 10000
#define PART 100u

static bool is_advice(const char *line)
{
    static const char begin[] = "What you can do:";

    return strncmp(line + strspn(line, " "), begin, strlen(begin)) == 0;
}

/* Prints a text of several lines, with or without nmd's advice. Removes control characters from each line separately,
 * so that the newlines are kept. */
static void print_lines(const struct nm_term *term, const char *text, const char *indent, bool advice)
{
    for (size_t n; *text; text += n + (text[n] == '\n')) {
        _cleanup_free_ char *line = NULL, *whole = NULL;

        n = strcspn(text, "\n");
        if (!advice && is_advice(text))
            continue;
        whole = strndup(text, n);
        if (!whole || asprintf(&line, "%s%s", indent, nm_term_clean(whole)) < 0)
            nm_message_oom();
        (void)nm_term_wrap(stdout, line, term->width, (unsigned)strlen(indent) + 2);
    }
}

static void print_text(const struct nm_term *term, const char *text, const char *indent)
{
    print_lines(term, text, indent, true);
}

nm_printf(2, 3) static void print_now_text(const struct nm_term *term, const char *format, ...)
{
    _cleanup_free_ char *text = NULL;
    va_list ap;

    va_start(ap, format);
    text = nm_xvasprintf(format, ap);
    va_end(ap);
    (void)fputc('\n', stdout);
    print_text(term, text, "");
}

/* Returns whether nmd's advice still applies. Advice about a wait no longer applies if the container now waits for
 * another reason or no longer waits. c: the container's current state; NULL: unknown. */
static bool is_current(const json_t *d, const json_t *c)
{
    return !c || !nm_streq(nm_json_str(d, "kind"), "queue") ||
           nm_streq(nm_json_str(d, "reason"), nm_json_str(c, "hold"));
}

/* Prints the number and time of a decision, and nmd's text. The records of placements and of lending have no number. */
static void print_decision(const struct nm_term *term, const json_t *d, const json_t *c)
{
    const char *explanation = nm_json_str(d, "explanation");
    const bool is_placement = nm_json_has(d, "realtime_usec");
    time_t t = (time_t)(nm_json_u64(d, is_placement ? "realtime_usec" : "time_usec") / NM_USEC_PER_SEC);
    char what[32], when[32] = "";
    struct tm tm;

    if (localtime_r(&t, &tm))
        (void)strftime(when, sizeof when, "%F %T", &tm);
    if (nm_json_has(d, "number"))
        (void)snprintf(what, sizeof what, "decision %" PRIu64, nm_json_u64(d, "number"));
    else
        (void)snprintf(what, sizeof what, "%s", is_placement ? "placement" : "lending");
    printf("%s%s, %s%s\n", nm_term_on(term, NM_STYLE_BOLD), what, when, nm_term_off(term, NM_STYLE_BOLD));
    print_lines(term, *explanation ? explanation : nm_json_str(d, "summary"), "  ", is_current(d, c));
}

static void print_wait(struct nm_ctl *ctl, const struct nm_term *term, const json_t *c)
{
    _cleanup_json_ json_t *status = NULL;
    char why[1024];

    (void)nm_api_try_get(ctl, "/v1/status", NM_API_TIMEOUT_USEC, &status);
    nm_queue_reason_text(nm_json_str(c, "hold"), c, status, why, sizeof why);
    if (nm_json_u64(c, "queue_position") > 0)
        print_now_text(term, "now queued at position %" PRIu64 ": %s", nm_json_u64(c, "queue_position"), why);
    else
        print_now_text(term, "now %s: %s", nm_streq(nm_json_str(c, "state"), "PAUSED") ? "paused" : "queued", why);
}

/* Prints how the container ended, if something outside of nmd caused the end, because nmd has no decision record about
 * such an end. */
static void print_end(const struct nm_term *term, const json_t *c)
{
    const char *reason = nm_json_str(c, "exit_reason");
    bool by_others = nm_streq(reason, "stopped") || (nm_streq(reason, "signaled") && *nm_json_str(c, "message"));
    char text[1024];

    (void)nm_container_end(c, text, sizeof text);
    print_now_text(term, "now ended: it %s", text);
    if (by_others)
        print_text(term,
                   "What you can do: submit it again if it should not have ended. To end a container on purpose, use "
                   "'nmctl kill': nmd then records who ended it.", "  ");
}

/* Prints the progress of the preparation. The container has been admitted, so no decision record explains why it
 * doesn't run yet. */
static void print_preparing(const struct nm_term *term, const json_t *c)
{
    const char *progress = nm_json_str(c, "progress");

    print_now_text(term, "now being prepared: %s %s made its resources available%s%s",
                   *nm_json_str(c, "owner") ? nm_json_str(c, "owner") : "its owner",
                   nm_streq(nm_json_str(c, "state"), "NEW") ? "has not yet" : "has not", *progress ? ": " : "",
                   progress);
}

/* Prints what decision records don't contain: why the container waits now, the message about its current state (for
 * instance that a user is killing the container), and how it ended. */
static void print_now(struct nm_ctl *ctl, const json_t *c)
{
    char state[64];
    struct nm_term term;

    nm_term_init(&term, STDOUT_FILENO, ctl->args.no_color);
    if (nm_json_has(c, "exit_reason"))
        print_end(&term, c);
    else if (*nm_json_str(c, "hold"))
        print_wait(ctl, &term, c);
    else if (nm_streq(nm_json_str(c, "state"), "NEW") || nm_streq(nm_json_str(c, "state"), "LOCALIZING"))
        print_preparing(&term, c);
    else if (*nm_json_str(c, "message"))
        print_now_text(&term, "now %s: %s", nm_container_display_state(c, state, sizeof state),
                       nm_json_str(c, "message"));
}

/* Gets the newest `last` decisions, oldest first. nmd limits the number per answer. Older decisions are therefore
 * requested until there are enough or nmd has no more. */
static int get_decisions(struct nm_ctl *ctl, const char *path, uint64_t last, json_t **ret)
{
    _cleanup_json_ json_t *list = json_array();
    size_t n, wanted;

    do {
        const json_t *oldest = json_array_get(list, 0);
        _cleanup_json_ json_t *answer = NULL;
        json_t *part;
        char target[160], before[48] = "";
        int r;
        wanted = NM_MIN((uint64_t)PART, last - json_array_size(list));
        if (oldest)
            (void)snprintf(before, sizeof before, "&before=%" PRIu64, nm_json_u64(oldest, "number"));
        (void)snprintf(target, sizeof target, "%s?limit=%zu%s", path, wanted, before);
        r = nm_api_get(ctl, target, &answer);
        if (r != NM_CTL_OK)
            return r;
        if (!json_is_array(nm_json_at(answer, "decisions")))
            return nm_api_report_unreachable(ctl, -EBADMSG);
        part = json_copy((json_t *)nm_json_at(answer, "decisions"));
        n = json_array_size(part);
        if (!part || json_array_extend(part, list) < 0)
            nm_message_oom();
        json_decref(list);
        list = part;
    } while (n == wanted && json_array_size(list) < last);
    *ret = STEAL_PTR(list);
    return NM_CTL_OK;
}

/* Adds the record at this path, if the node has it. */
static void add_record(struct nm_ctl *ctl, json_t *list, const char *path, const char *id)
{
    char target[128];
    json_t *record;

    (void)snprintf(target, sizeof target, "%s/%s", path, id);
    if (nm_api_try_get(ctl, target, NM_API_TIMEOUT_USEC, &record) == 0 && json_array_append_new(list, record) < 0)
        nm_message_oom();
}

/* Gets the records of a container of YARN: what it was lent as, and why this node placed it where it is. Returns an
 * array, which is empty without such records. *ret_elsewhere: the container is on another node, and this node has no
 * other data about the container. */
static json_t *get_records(struct nm_ctl *ctl, const char *id, bool *ret_elsewhere)
{
    json_t *list = json_array();
    _cleanup_json_ json_t *here = NULL;
    char target[128];

    if (!list)
        nm_message_oom();
    if (!nm_name_is_valid(id) || strncmp(id, "container_", strlen("container_")) != 0)
        return list;
    add_record(ctl, list, "/v1/lending", id);
    add_record(ctl, list, "/v1/placements", id);
    *ret_elsewhere = json_array_size(list) > 0 &&
                     nm_api_container_target(id, "", target, sizeof target) == NM_CTL_OK &&
                     nm_api_try_get(ctl, target, NM_API_TIMEOUT_USEC, &here) == -EREMOTEIO;
    return list;
}

static void print_all(struct nm_ctl *ctl, const json_t *list, const json_t *c)
{
    struct nm_term term;
    const json_t *d;
    size_t i;

    nm_term_init(&term, STDOUT_FILENO, ctl->args.no_color);
    json_array_foreach(list, i, d) {
        if (i > 0)
            (void)fputc('\n', stdout);
        print_decision(&term, d, c);
    }
    if (json_array_size(list) == 0)
        printf("no decisions yet\n");
}

/* Returns the container in its current state, or NULL. */
static json_t *get_container(struct nm_ctl *ctl, const char *id)
{
    char target[128];
    json_t *c;

    return nm_api_container_target(id, "", target, sizeof target) == NM_CTL_OK &&
                   nm_api_try_get(ctl, target, NM_API_TIMEOUT_USEC, &c) == 0 ? c : NULL;
}

/* For a container, prints what it was lent as and its placement, if this node decided them, and all decisions. For the
 * node, prints only the newest decisions. */
int nm_explain_verb(struct nm_ctl *ctl)
{
    const char *id = ctl->n_operands > 0 ? ctl->operands[0] : NULL;
    uint64_t last = ctl->args.last != NM_CTL_UNSET ? ctl->args.last : id ? LAST_MAX : LAST_DEFAULT;
    bool elsewhere = false;
    _cleanup_json_ json_t *list = id ? get_records(ctl, id, &elsewhere) : json_array();
    _cleanup_json_ json_t *decisions = NULL, *now = NULL;
    char path[96] = "/v1/decisions";
    int r = id ? nm_api_container_target(id, "/decisions", path, sizeof path) : NM_CTL_OK;

    if (r == NM_CTL_OK && !elsewhere)
        r = get_decisions(ctl, path, last, &decisions);
    if (r != NM_CTL_OK)
        return r;
    if (decisions && json_array_extend(list, decisions) < 0)
        nm_message_oom();
    if (ctl->args.json) {
        /* prints an array even if the list is empty, so that jq needs no special case */
        nm_api_print_json(list, false);
        return NM_CTL_OK;
    }
    if (id && !elsewhere)
        now = get_container(ctl, id);
    print_all(ctl, list, now);
    if (now)
        print_now(ctl, now);
    return NM_CTL_OK;
}
