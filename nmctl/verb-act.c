/* SPDX-License-Identifier: Apache-2.0 */

/* Verbs that apply one operation to each named container: pause, resume, promote, demote, kill, update. */

#include "nmctl/api.h"
#include "nmctl/container-json.h"
#include "nmctl/json.h"
#include "nmctl/nmctl.h"
#include "nmctl/message.h"
#include "nmctl/wait.h"

/* Prints one line about a changed container. On a terminal the line is wrapped between words. */
static void print_result(const struct nm_ctl *ctl, char *line)
{
    struct nm_term term;

    nm_term_init(&term, STDOUT_FILENO, ctl->args.no_color);
    (void)nm_term_wrap(stdout, nm_term_clean(line), term.width, 2);
}

static void report(const struct nm_ctl *ctl, const json_t *c)
{
    char title[160], state[64], text[300];
    bool typed = nm_streq(ctl->verb->name, "promote") || nm_streq(ctl->verb->name, "demote");

    if (ctl->args.json) {
        nm_api_print_json(c, true);
        return;
    }
    (void)snprintf(text, sizeof text, "%s: %s%s%s", nm_container_title(c, title, sizeof title),
                   nm_container_display_state(c, state, sizeof state), typed ? ", " : "",
                   typed ? nm_container_type_word(c) : "");
    print_result(ctl, text);
}

/* Makes the request's body. Only kill has a member, because nmd refuses unknown members. */
static json_t *make_body(const struct nm_ctl *ctl)
{
    json_t *body;

    if (!nm_streq(ctl->verb->name, "kill"))
        return NULL;
    body = json_pack("{s:b}", "now", ctl->args.now);
    if (!body)
        nm_message_oom();
    return body;
}

/* Applies the operation to one container. */
static int act_on(struct nm_ctl *ctl, const char *id)
{
    _cleanup_json_ json_t *c = NULL, *ended = NULL;
    char target[128], action[16];
    int r;

    (void)snprintf(action, sizeof action, "/%s", ctl->verb->name);
    r = nm_api_container_target(id, action, target, sizeof target);
    if (r == NM_CTL_OK)
        r = nm_api_call(ctl, "POST", target, make_body(ctl), &c);
    if (r == NM_CTL_OK && ctl->args.wait)
        r = nm_wait_for_end(ctl, c, &ended);
    if (r == NM_CTL_OK)
        report(ctl, ended ? ended : c);
    return r;
}

/* Applies the operation to each container. Continues if the operation fails for a container, but stops if nmd can't be
 * reached. */
int nm_act_verb(struct nm_ctl *ctl)
{
    int worst = NM_CTL_OK;

    for (unsigned i = 0; i < ctl->n_operands; i++) {
        int r = act_on(ctl, ctl->operands[i]);

        worst = NM_MAX(worst, r);
        if (r == NM_CTL_UNREACHABLE)
            break;
    }
    return worst;
}

/* Kills a container and waits for its end. Succeeds if the container has already ended. */
static int end_first(struct nm_ctl *ctl, const char *id)
{
    _cleanup_json_ json_t *c = NULL, *killed = NULL, *ended = NULL;
    json_t *now = json_pack("{s:b}", "now", 1);
    char target[128];
    int r = nm_api_container_target(id, "", target, sizeof target);

    if (!now)
        nm_message_oom();
    if (r == NM_CTL_OK)
        r = nm_api_get(ctl, target, &c);
    if (r == NM_CTL_OK && !nm_streq(nm_json_str(c, "state"), "COMPLETED")) {
        r = nm_api_container_target(nm_json_str(c, "id"), "/kill", target, sizeof target);
        if (r == NM_CTL_OK)
            r = nm_api_call(ctl, "POST", target, json_incref(now), &killed);
        if (r == NM_CTL_OK)
            r = nm_wait_for_end(ctl, c, &ended);
    }
    json_decref(now);
    return r;
}

static int remove_one(struct nm_ctl *ctl, const char *id)
{
    _cleanup_json_ json_t *was = NULL;
    char target[128], title[160], text[200];
    int r = ctl->args.force ? end_first(ctl, id) : NM_CTL_OK;

    if (r == NM_CTL_OK)
        r = nm_api_container_target(id, "/remove", target, sizeof target);
    if (r == NM_CTL_OK)
        r = nm_api_call(ctl, "POST", target, NULL, &was);
    if (r == NM_CTL_OK && ctl->args.json)
        nm_api_print_json(was, true);
    else if (r == NM_CTL_OK) {
        (void)snprintf(text, sizeof text, "%s: removed", nm_container_title(was, title, sizeof title));
        print_result(ctl, text);
    }
    return r;
}

int nm_remove_verb(struct nm_ctl *ctl)
{
    int worst = NM_CTL_OK;

    for (unsigned i = 0; i < ctl->n_operands; i++) {
        int r = remove_one(ctl, ctl->operands[i]);

        worst = NM_MAX(worst, r);
        if (r == NM_CTL_UNREACHABLE)
            break;
    }
    return worst;
}

int nm_kill_verb(struct nm_ctl *ctl)
{
    return nm_act_verb(ctl);
}

/* Updates the values that are given. Other values stay unchanged. */
int nm_update_verb(struct nm_ctl *ctl)
{
    _cleanup_json_ json_t *body = json_object(), *c = NULL;
    char target[128];
    int r = 0;

    if (ctl->args.memory_bytes == 0 && ctl->args.vcores_milli == 0) {
        nm_message("update: nothing to change; give --memory, --vcores or both");
        return NM_CTL_USAGE;
    }
    if (ctl->args.memory_bytes > 0)
        r |= json_object_set_new(body, "memory_bytes",
                                 json_integer((json_int_t)ctl->args.memory_bytes));
    if (ctl->args.vcores_milli > 0)
        r |= json_object_set_new(body, "vcores", json_real((double)ctl->args.vcores_milli / 1000));
    if (r != 0)
        nm_message_oom();
    r = nm_api_container_target(ctl->operands[0], "", target, sizeof target);
    if (r == NM_CTL_OK)
        r = nm_api_call(ctl, "PATCH", target, json_incref(body), &c);
    if (r == NM_CTL_OK)
        report(ctl, c);
    return r;
}
