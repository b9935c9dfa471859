/* SPDX-License-Identifier: Apache-2.0 */

/* See requests-internal.h. The counts are computed for each request, because stored counts would have to be updated
 * with each change of a container. */

#include "agent/requests/requests-internal.h"

#include <assert.h>
#include <inttypes.h>

#include "agent/config/settings.h"
#include "agent/problem.h"

/* Maximum size of commands and blobs, for one user and for all containers, since nmd stores them in memory and in the
 * journal. */
#define USER_BYTES_MAX (UINT64_C(4) << 20)
#define ALL_BYTES_MAX (UINT64_C(64) << 20)

struct share {
    uint32_t n_containers, n_queued;
    uint64_t bytes, all_bytes;
};

static bool waits(const struct nm_policy_container *v)
{
    return v->type == NM_OPPORTUNISTIC && nm_policy_container_is_waiting(v);
}

static struct share share_of(const struct nm_manager *m, uid_t uid)
{
    struct share s = {.all_bytes = m->ended.results_bytes};

    for (size_t i = 0; i < m->live.n; i++) {
        const struct nm_live_container *l = m->live.all[i];

        s.all_bytes += l->command_bytes;
        if (l->c->submitter_uid != uid)
            continue;
        s.n_containers++;
        s.n_queued += waits(m->live.views[i]);
        s.bytes += l->command_bytes;
    }
    return s;
}

static int check_queue(const struct nm_manager *m, const struct nm_caller *who, const struct share *s,
                       struct nm_problem *ret_problem)
{
    if (who->admin || s->n_queued < nm_settings_queue_per_user(m->config))
        return 0;
    return nm_problem_set(ret_problem, NM_AGENT_E_QUEUE_FULL, "queue", "",
                          "You have %u containers in the queue already, as many as [queue] "
                          "max-per-user allows one user. Try again when some of them have started, or start this "
                          "container with --guaranteed.",
                          s->n_queued);
}

static int check_all(const struct share *s, uint64_t more_bytes, struct nm_problem *ret_problem)
{
    if (s->all_bytes + more_bytes <= ALL_BYTES_MAX)
        return 0;
    return nm_problem_set(ret_problem, NM_AGENT_E_UNAVAILABLE, "command", "",
                          "The commands of all live containers and the data kept with them (blobs) already take "
                          "%" PRIu64 " MiB, which is the maximum. Try again when some have ended.",
                          s->all_bytes >> 20);
}

int nm_user_limits_check_results(const struct nm_manager *m, struct nm_problem *ret_problem)
{
    size_t n = m->ended.n_results;

    for (size_t i = 0; i < m->live.n; i++)
        n += m->live.all[i]->c->keep_result;
    if (n < NM_RESULTS_MAX)
        return 0;
    return nm_problem_set(ret_problem, NM_AGENT_E_UNAVAILABLE, "results", "",
                          "%zu containers have or will have a result that nmd keeps until its owner acknowledges it, "
                          "and the maximum is %u. Try again when owners have acknowledged some.", n,
                          (unsigned)NM_RESULTS_MAX);
}

int nm_user_limits_check_bytes(const struct nm_manager *m, uint64_t more_bytes, struct nm_problem *ret_problem)
{
    struct share s = share_of(m, 0);

    return check_all(&s, more_bytes, ret_problem);
}

int nm_user_limits_check(const struct nm_manager *m, const struct nm_caller *who, enum nm_execution_type type,
                         uint64_t command_bytes, struct nm_problem *ret_problem)
{
    struct share s = share_of(m, who->uid);
    int r = check_all(&s, command_bytes, ret_problem);

    assert(command_bytes <= USER_BYTES_MAX);
    if (r != 0 || who->admin)
        return r;
    if (s.n_containers >= nm_settings_containers_per_user(m->config))
        return nm_problem_set(ret_problem, NM_AGENT_E_UNAVAILABLE, "containers", "",
                              "You have %u live containers, as many as [containers] max-per-user "
                              "allows one user. Try again when some have ended.",
                              s.n_containers);
    if (s.bytes + command_bytes > USER_BYTES_MAX)
        return nm_problem_set(ret_problem, NM_AGENT_E_UNAVAILABLE, "command", "",
                              "The commands and environments of your live containers have %" PRIu64
                              " KiB. With this container they would exceed the %" PRIu64
                              " KiB that one user may have. Try again when some have ended.",
                              s.bytes >> 10, USER_BYTES_MAX >> 10);
    return type == NM_OPPORTUNISTIC ? check_queue(m, who, &s, ret_problem) : 0;
}

int nm_user_limits_check_queue(const struct nm_manager *m, const struct nm_caller *who, struct nm_problem *ret_problem)
{
    struct share s = share_of(m, who->uid);

    return check_queue(m, who, &s, ret_problem);
}
