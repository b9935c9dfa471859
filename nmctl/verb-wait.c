/* SPDX-License-Identifier: Apache-2.0 */

/* `nmctl wait`, and how other verbs wait (wait.h). It is done as in `run`, but the container doesn't depend on
 * nmctl. */

#include "nmctl/wait.h"

#include <errno.h>

#include "nmctl/api.h"
#include "nmctl/attach.h"
#include "nmctl/container.h"
#include "nmctl/json.h"
#include "nmctl/say.h"
#include "util/clock.h"

static bool has_ended(const json_t *c)
{
    return nm_streq(nm_json_str(c, "state"), "COMPLETED");
}

/* Says in which state the container is at the deadline, and what to do. */
static int say_timed_out(struct nm_ctl *ctl, const json_t *c)
{
    _cleanup_json_ json_t *now = NULL;
    const char *id = nm_json_str(c, "id");
    char title[160], target[128], state[64];

    if (nm_api_container_target(id, "", target, sizeof target) == NM_CTL_OK)
        (void)nm_api_try_get(ctl, target, NM_API_TIMEOUT_USEC, &now);
    nm_say("%s has not ended in time: it is %s, and goes on. 'nmctl explain %s' tells why, 'nmctl kill %s' ends it",
           nm_container_title(c, title, sizeof title), nm_container_shown_state(now ? now : c, state, sizeof state), id,
           id);
    return NM_CTL_TIMED_OUT;
}

/* Asks by id: another container may have the name by the time of the next request. */
int nm_wait_for_end(struct nm_ctl *ctl, json_t *c, uint64_t deadline_usec, json_t **ret)
{
    struct nm_attach_params p = {.id = nm_json_str(c, "id"),
                                 .want_end = true,
                                 .follow = true,
                                 .tail = NM_CTL_UNSET,
                                 .narrate = !ctl->args.json,
                                 .waits = true,
                                 .deadline_usec = deadline_usec,
                                 .signal_fd = -EBADF};
    struct nm_attach_result result;
    int r;

    if (has_ended(c)) {
        *ret = json_incref(c);
        return NM_CTL_OK;
    }
    r = nm_attach_run(ctl, &p, &result);
    if (result.container) {
        *ret = result.container;
        return NM_CTL_OK;
    }
    return r == NM_CTL_OK ? say_timed_out(ctl, c) : r;
}

static void print_end(const struct nm_ctl *ctl, const json_t *c)
{
    char title[160], end[512], line[700];
    struct nm_term term;

    nm_term_init(&term, STDOUT_FILENO, ctl->args.no_color);
    (void)snprintf(line, sizeof line, "%s %s", nm_container_title(c, title, sizeof title),
                   nm_container_end(c, end, sizeof end));
    (void)nm_term_wrap(stdout, nm_term_clean(line), term.width, 2);
}

/* Waits and prints how it ended. *ret_status: the exit status that corresponds to it. */
static int wait_for(struct nm_ctl *ctl, const char *id, uint64_t deadline_usec, int *ret_status)
{
    _cleanup_json_ json_t *c = NULL, *ended = NULL;
    char target[128];
    int r = nm_api_container_target(id, "", target, sizeof target);

    if (r == NM_CTL_OK)
        r = nm_api_get(ctl, target, &c);
    if (r == NM_CTL_OK)
        r = nm_wait_for_end(ctl, c, deadline_usec, &ended);
    if (r != NM_CTL_OK)
        return r;
    if (ctl->args.json)
        nm_api_print_json(ended, true);
    else
        print_end(ctl, ended);
    (void)fflush(stdout); /* the next container may end much later */
    *ret_status = nm_container_exit_status(ended);
    return NM_CTL_OK;
}

/* Waits for one container after the other. They run at the same time, so one deadline holds for all of them. */
int nm_wait_verb(struct nm_ctl *ctl)
{
    uint64_t timeout = ctl->args.timeout_usec;
    uint64_t deadline = timeout == NM_CTL_UNSET ? UINT64_MAX : nm_add_u64(nm_now_usec(), timeout);
    int first = NM_CTL_OK;

    for (unsigned i = 0; i < ctl->n_operands; i++) {
        int status = NM_CTL_OK, r = wait_for(ctl, ctl->operands[i], deadline, &status);

        if (first == NM_CTL_OK)
            first = r != NM_CTL_OK ? r : status;
        if (r == NM_CTL_UNREACHABLE)
            break;
    }
    return first;
}
