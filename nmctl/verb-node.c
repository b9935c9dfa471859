/* SPDX-License-Identifier: Apache-2.0 */

/* Verbs for the whole node: drain, undrain, close-breaker, config, version. */

#include <inttypes.h>
#include <poll.h>

#include "nmctl/api.h"
#include "nmctl/json.h"
#include "nmctl/message.h"
#include "nmctl/nmctl.h"
#include "nmctl/term.h"
#include "util/clock.h"

#define DRAIN_POLL_MSEC 500

/* Returns the number of live containers. 0 doesn't mean that the node is drained: only the status's member "drained"
 * includes containers that are being submitted. */
static uint64_t count_live(const json_t *status)
{
    const json_t *c = nm_json_at(status, "containers");

    return nm_json_u64(c, "guaranteed_running") + nm_json_u64(c, "opportunistic_running") +
           nm_json_u64(c, "paused") + nm_json_u64(c, "queued");
}

/* Polls nmd every half second until the node is drained. This state lasts, so the polling can't miss it. *ret: the
 * status of the drained node. */
static int wait_until_empty(struct nm_ctl *ctl, json_t **ret)
{
    uint64_t reported = UINT64_MAX;

    for (;;) {
        _cleanup_json_ json_t *status = NULL;
        int r = nm_api_get(ctl, "/v1/status", &status);
        uint64_t n;

        if (r != NM_CTL_OK)
            return r;
        if (nm_json_bool(status, "node.drained")) {
            *ret = STEAL_PTR(status);
            return NM_CTL_OK;
        }
        if (!nm_streq(nm_json_str(status, "node.state"), "draining")) {
            nm_message("drain: the node no longer drains; its state is %s",
                       nm_json_str(status, "node.state"));
            return NM_CTL_FAILED;
        }
        n = count_live(status);
        if (n != reported)
            nm_message("drain: %" PRIu64 " container%s left", n, n == 1 ? "" : "s");
        reported = n;
        (void)poll(NULL, 0, DRAIN_POLL_MSEC);
    }
}

/* Prints the node's status, which nmd sends as the answer to operations on the whole node. */
static void report(const struct nm_ctl *ctl, const json_t *status, const char *sentence)
{
    if (ctl->args.json)
        nm_api_print_json(status, false);
    else
        printf("%s\n", sentence);
}

#define NAMED 10 /* maximum number of names that are printed; further containers are only counted */

/* Prints "3 containers that wait: a, container_1_2, c", or no message if the list is empty. */
static void print_discarded(const char *what, uint64_t n, const json_t *list)
{
    char text[1024];
    size_t len = 0, i;
    const json_t *c;

    if (n == 0)
        return;
    text[0] = '\0';
    json_array_foreach(list, i, c) {
        const char *name = *nm_json_str(c, "name") ? nm_json_str(c, "name") : nm_json_str(c, "id");

        if (i < NAMED)
            len += (size_t)snprintf(text + len, sizeof text - len, "%s%s", i > 0 ? ", " : "", name);
    }
    if (n > NAMED)
        (void)snprintf(text + len, sizeof text - len, " and %" PRIu64 " more", n - NAMED);
    nm_message("drain: %s %" PRIu64 " container%s that wait%s: %s", what, n, n == 1 ? "" : "s", n == 1 ? "s" : "",
               text);
}

/* Keeps the containers that draining would discard: queued ones and those in preparation. */
static json_t *keep_waiting(json_t *list)
{
    for (size_t i = json_array_size(list); i-- > 0;) {
        const char *state = nm_json_str(json_array_get(list, i), "state");

        if (!nm_streq(state, "SCHEDULED") && !nm_streq(state, "NEW") && !nm_streq(state, "LOCALIZING"))
            (void)json_array_remove(list, i);
    }
    return list;
}

/* Prints which containers will be discarded before the drain, because discarding can't be undone. */
static int preview_discards(struct nm_ctl *ctl)
{
    _cleanup_json_ json_t *list = NULL;
    int r = nm_api_get_containers(ctl, false, &list);

    if (r != NM_CTL_OK)
        return r;
    keep_waiting(list);
    if (ctl->args.dry_run && ctl->args.json)
        nm_api_print_json(list, false);
    else if (ctl->args.dry_run && json_array_size(list) == 0)
        printf("no containers wait: draining would discard none\n");
    else
        print_discarded(ctl->args.dry_run ? "would discard" : "discards", json_array_size(list), list);
    return r;
}

/* Prints the effect on the cluster's jobs of a drain that was requested on the node instead of in the cluster. */
static void print_cluster_effect(const json_t *answer)
{
    if (nm_json_has(answer, "upstream"))
        nm_message("drain: nmd reports no free resources to the ResourceManager, and an unhealthy node when the last "
                   "container has ended. Jobs that still need map outputs of this node then run those maps again. To "
                   "make the node wait for such jobs, decommission it gracefully instead (yarn rmadmin -refreshNodes "
                   "-g)");
}

static void report_drain(const struct nm_ctl *ctl, const json_t *answer, json_t *empty)
{
    const json_t *discarded = nm_json_at(answer, "discarded");
    uint64_t n = nm_json_u64(discarded, "count");
    char text[64] = "";

    if (empty && discarded && json_object_set(empty, "discarded", (json_t *)(uintptr_t)discarded) < 0)
        nm_message_oom();
    if (n > 0)
        (void)snprintf(text, sizeof text, "; %" PRIu64 " waiting container%s discarded", n, n == 1 ? " was" : "s were");
    if (ctl->args.json)
        nm_api_print_json(empty ? empty : answer, false);
    else
        printf("%s%s\n", empty ? "drained: the node is empty" : "draining", text);
}

int nm_drain_verb(struct nm_ctl *ctl)
{
    _cleanup_json_ json_t *answer = NULL, *empty = NULL;
    json_t *body;
    int r = preview_discards(ctl);

    if (r != NM_CTL_OK || ctl->args.dry_run)
        return r;
    body = json_object();
    r = 0;
    if (ctl->args.deadline_usec != NM_CTL_UNSET)
        r |= json_object_set_new(body, "deadline_usec",
                                 json_integer((json_int_t)ctl->args.deadline_usec));
    if (ctl->args.kill_opportunistic)
        r |= json_object_set_new(body, "kill_opportunistic", json_true());
    if (ctl->args.until_restart)
        r |= json_object_set_new(body, "until_restart", json_true());
    if (r != 0)
        nm_message_oom();
    r = nm_api_call(ctl, "POST", "/v1/drain", body, &answer);
    if (r == NM_CTL_OK)
        print_cluster_effect(answer);
    if (r == NM_CTL_OK && ctl->args.wait)
        r = wait_until_empty(ctl, &empty);
    if (r == NM_CTL_OK)
        report_drain(ctl, answer, empty);
    return r;
}

/* Sends a request without parameters. */
static int report_node(struct nm_ctl *ctl, const char *target, const char *done)
{
    _cleanup_json_ json_t *answer = NULL;
    int r = nm_api_call(ctl, "POST", target, NULL, &answer);

    if (r == NM_CTL_OK)
        report(ctl, answer, done);
    return r;
}

int nm_undrain_verb(struct nm_ctl *ctl)
{
    return report_node(ctl, "/v1/undrain", "admitting containers again");
}

int nm_close_breaker_verb(struct nm_ctl *ctl)
{
    return report_node(ctl, "/v1/close-breaker", "the breaker is closed");
}

/* ---- config ---------------------------------------------------------------------------------- */

static void format_name(const json_t *key, char *buf, size_t size)
{
    (void)snprintf(buf, size, "%s.%s", nm_json_str(key, "section"), nm_json_str(key, "key"));
}

/* Returns whether the key matches. The operand matches any part of the name, so that "memory" finds all related
 * keys. */
static bool is_wanted(const struct nm_ctl *ctl, const json_t *key)
{
    char name[160];

    if (ctl->args.changed && nm_json_bool(key, "is_default"))
        return false;
    format_name(key, name, sizeof name);
    return ctl->n_operands == 0 || strstr(name, ctl->operands[0]);
}

static json_t *wanted_keys(const struct nm_ctl *ctl, const json_t *keys)
{
    json_t *wanted = json_array(), *key;
    size_t i;

    json_array_foreach(keys, i, key)
        if (is_wanted(ctl, key) && json_array_append(wanted, key) < 0)
            nm_message_oom();
    if (!wanted)
        nm_message_oom();
    return wanted;
}

/* Prints a key's value. For "auto" also prints the resulting value on this node. */
static void print_value(struct nm_table *t, const json_t *key)
{
    enum nm_style style = nm_json_bool(key, "is_default") ? NM_STYLE_NONE : NM_STYLE_BOLD;
    const char *in_force = nm_json_str(key, "in_force");

    if (*in_force)
        nm_table_add(t, style, "%s: %s", nm_json_str(key, "value"), in_force);
    else
        nm_table_add(t, style, "%s", nm_json_str(key, "value"));
}

static void print_meaning(struct nm_table *t, const json_t *key)
{
    const char *source = nm_json_str(key, "source"), *why = nm_json_str(key, "why");

    if (*why)
        nm_table_add(t, NM_STYLE_DIM, "(%s) %s", why, nm_json_str(key, "meaning"));
    else if (nm_json_bool(key, "is_default"))
        nm_table_add(t, NM_STYLE_DIM, "%s", nm_json_str(key, "meaning"));
    else
        nm_table_add(t, NM_STYLE_DIM, "(set in %s) %s", source, nm_json_str(key, "meaning"));
}

/* Prints the keys. "=" under DEFAULT means that the key has its default value. */
static void print_keys(struct nm_ctl *ctl, const json_t *keys)
{
    static const struct nm_column columns[] = {
        {"KEY", false, 0, 0},
        {"VALUE", false, 10, 0},
        {"DEFAULT", false, 7, 0},
        {"MEANING", false, NM_COLUMN_WRAPS, 0},
    };
    _cleanup_(nm_table_freep) struct nm_table *t = nm_table_new(columns, NM_ARRAY_SIZE(columns));
    struct nm_term term;
    const json_t *key;
    size_t i;

    nm_term_init(&term, STDOUT_FILENO, ctl->args.no_color);
    json_array_foreach(keys, i, key) {
        bool is_default = nm_json_bool(key, "is_default");
        char name[160];

        format_name(key, name, sizeof name);
        nm_table_add(t, NM_STYLE_NONE, "%s", name);
        print_value(t, key);
        nm_table_add(t, NM_STYLE_DIM, "%s", is_default ? "=" : nm_json_str(key, "default"));
        print_meaning(t, key);
    }
    nm_table_print(t, stdout, &term, 0);
}

/* Reloads the configuration, and prints which changed keys take effect only after a restart of nmd. */
static int reload(struct nm_ctl *ctl)
{
    _cleanup_json_ json_t *answer = NULL;
    char sentence[600];
    const char *keys;
    int r = nm_api_call(ctl, "POST", "/v1/reload", NULL, &answer);

    if (r != NM_CTL_OK)
        return r;
    keys = nm_json_str(answer, "node.needs_restart");
    (void)snprintf(sentence, sizeof sentence, "configuration reloaded%s%s",
                   *keys ? "; a restart of nmd is needed for " : "", keys);
    report(ctl, answer, sentence);
    return r;
}

int nm_config_verb(struct nm_ctl *ctl)
{
    _cleanup_json_ json_t *answer = NULL, *wanted = NULL;
    int r;

    if (ctl->args.reload)
        return reload(ctl);
    r = nm_api_get(ctl, "/v1/config", &answer);
    if (r != NM_CTL_OK)
        return r;
    wanted = wanted_keys(ctl, json_is_array(answer) ? answer : nm_json_at(answer, "config"));
    if (ctl->args.json)
        nm_api_print_json(wanted, false);
    else
        print_keys(ctl, wanted);
    return NM_CTL_OK;
}

/* Prints nmctl's version first, because nmctl's version is known even if nmd isn't running. */
int nm_version_verb(struct nm_ctl *ctl)
{
    _cleanup_json_ json_t *answer = NULL;
    int r;

    if (!ctl->args.json)
        printf("nmctl %s\n", NM_VERSION);
    (void)fflush(stdout);
    r = nm_api_get(ctl, "/v1/version", &answer);
    if (r != NM_CTL_OK)
        return r;
    if (ctl->args.json) {
        if (json_object_set_new(answer, "nmctl", json_string(NM_VERSION)) < 0)
            nm_message_oom();
        nm_api_print_json(answer, false);
    } else
        printf("nmd %s\n", nm_json_str(answer, "version"));
    return NM_CTL_OK;
}
