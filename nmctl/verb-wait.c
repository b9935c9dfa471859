/* SPDX-License-Identifier: Apache-2.0 */

/* `nmctl wait`. Looks up all containers first, so that a mistyped name is reported immediately and not hours later. */

#include "nmctl/api.h"
#include "nmctl/container-json.h"
#include "nmctl/message.h"
#include "nmctl/wait.h"
#include "util/clock.h"

/* Minimum time for the look-up, even if --timeout is shorter. With a shorter time, only chance would decide whether the
 * state is known. */
#define POLL_USEC NM_USEC_PER_SEC

static void print_end(struct nm_ctl *ctl, const json_t *c)
{
    char title[160], end[512], line[700];
    struct nm_term term;

    if (ctl->args.json) {
        nm_api_print_json(c, true);
    } else {
        nm_term_init(&term, STDOUT_FILENO, ctl->args.no_color);
        (void)snprintf(line, sizeof line, "%s %s", nm_container_title(c, title, sizeof title),
                       nm_container_end(c, end, sizeof end));
        (void)nm_term_wrap(stdout, nm_term_clean(line), term.width, 2);
    }
    (void)fflush(stdout); /* the next container may end much later */
}

/* Looks up a container. Returns NM_CTL_UNREACHABLE if the caller shouldn't look up the other containers. */
static int find(struct nm_ctl *ctl, const char *id, uint64_t deadline_usec, struct nm_wait_result *x)
{
    char target[128];
    int r = nm_api_container_target(id, "", target, sizeof target);

    if (r == NM_CTL_OK)
        r = nm_api_get_by(ctl, target, deadline_usec, &x->c);
    if (r == NM_CTL_TIMED_OUT)
        nm_message("nmd at %s has not answered in time: whether %s has ended is not known", ctl->socket_path, id);
    x->over = r != NM_CTL_OK || nm_wait_has_ended(x->c);
    x->status = r == NM_CTL_OK && x->over ? nm_container_exit_status(x->c) : r;
    if (r == NM_CTL_OK && x->over)
        print_end(ctl, x->c);
    return r;
}

static int first_failure(const struct nm_wait_result *all, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (all[i].status != NM_CTL_OK)
            return all[i].status;
    return NM_CTL_OK;
}

/* Waits with one deadline for all containers, because they run at the same time. */
int nm_wait_verb(struct nm_ctl *ctl)
{
    uint64_t timeout = ctl->args.timeout_usec, now = nm_now_usec();
    uint64_t deadline = timeout == NM_CTL_UNSET ? UINT64_MAX : nm_add_u64(now, timeout);
    _cleanup_free_ struct nm_wait_result *all = calloc(ctl->n_operands, sizeof *all);
    int r = NM_CTL_OK;

    if (!all)
        nm_message_oom();
    for (unsigned i = 0; i < ctl->n_operands && r != NM_CTL_UNREACHABLE; i++)
        r = find(ctl, ctl->operands[i], NM_MAX(deadline, now + POLL_USEC), &all[i]);
    if (r != NM_CTL_UNREACHABLE)
        nm_wait_for_ends(ctl, all, ctl->n_operands, deadline, print_end);
    r = first_failure(all, ctl->n_operands);
    for (unsigned i = 0; i < ctl->n_operands; i++)
        json_decref(all[i].c);
    return r;
}
