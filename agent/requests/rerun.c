/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Reruns: the owner ends the run of a container and starts another run of it. This file checks and journals the owner's
 * request. container-kill.c then ends the processes as in a kill, and container-end.c prepares the next run.
 */

#include "agent/requests/requests-internal.h"

#include <assert.h>

#include "agent/problem.h"
#include "agent/lifecycle/lifecycle.h"
#include "agent/journal/containers.h"
#include "agent/journal/records.h"
#include "util/clock.h"
#include "util/fault.h"

/* Refuses a rerun while the node admits no containers: the container could not start again, and the work of the present
 * run would be lost. */
static int check_state(const struct nm_live_container *l, struct nm_problem *p)
{
    const struct nm_container *c = l->c;

    if (c->view.state != NM_RUNNING && l->phase != NM_RUN_ASKING_OWNER)
        return nm_problem_set(p, NM_AGENT_E_CONFLICT, "state", nm_state_name(c->view.state),
                              "Container %s is %s, and only a RUNNING container can run again.", c->id,
                              nm_state_word(c->view.state));
    if (c->rerun)
        return nm_problem_set(p, NM_AGENT_E_CONFLICT, "state", nm_state_name(c->view.state),
                              "Container %s is being ended already, to run again.", c->id);
    if (nm_run_phase_is_ending(l->phase) && l->phase != NM_RUN_ASKING_OWNER)
        return nm_problem_set(p, NM_AGENT_E_CONFLICT, "id", c->id, "Container %s has just ended.", c->id);
    if (l->m->drain.is_on)
        return nm_problem_set(p, NM_AGENT_E_UNAVAILABLE, "node", "draining",
                              "The node is draining and starts no containers ('nmctl undrain' ends the drain).");
    return nm_persist_check(l->m, p);
}

static int check(const struct nm_live_container *l, const struct nm_rerun *rerun, struct nm_problem *p)
{
    uint64_t bytes = rerun->blob ? rerun->blob->bytes : l->c->blob.bytes, command;
    int r = check_state(l, p);

    if (r == 0 && rerun->argv) {
        r = nm_submit_check_command(rerun->argv, rerun->env, &command, p);
        bytes += r == 0 ? command : 0;
    } else {
        bytes += nm_command_bytes(&l->c->command);
    }
    if (r == 0 && rerun->blob)
        r = nm_submit_check_blob(rerun->blob, p);
    return r == 0 && bytes > l->command_bytes ? nm_user_limits_check_bytes(l->m, bytes - l->command_bytes, p) : r;
}

/* Copies the container's command with the changes of the request. The casts that remove const are safe, because
 * nm_command_copy() only reads the strings. */
static int copy_command(const struct nm_container *c, const struct nm_rerun *rerun, struct nm_command *ret)
{
    struct nm_command with = c->command;

    if (rerun->argv) {
        with.argv = (char **)(uintptr_t)rerun->argv;
        with.env = (char **)(uintptr_t)rerun->env;
    }
    return nm_command_copy(&with, ret);
}

/* Replaces the container's command and blob by those of the request. Steps that can fail come first, so that the
 * command is unchanged after a failure. */
static int take(struct nm_live_container *l, const struct nm_rerun *rerun)
{
    struct nm_command command = {0};
    int r = copy_command(l->c, rerun, &command);

    if (r >= 0 && rerun->blob)
        r = nm_container_set_blob(l->c, rerun->blob->data, rerun->blob->bytes);
    if (r < 0) {
        nm_command_done(&command);
        return r;
    }
    nm_command_done(&l->c->command);
    l->c->command = command;
    l->command_bytes = nm_command_bytes(&l->c->command) + l->c->blob.bytes;
    return 0;
}

static void commit(struct nm_live_container *l, const struct nm_rerun *rerun)
{
    struct nm_manager *m = l->m;

    (void)nm_store_begin(m->store);
    nm_record_by(l, NM_DECISION_RESTART, NM_REASON_OWNER, NULL);
    (void)nm_persist_journal(l);
    if (rerun->argv)
        (void)nm_store_put_command(m->store, l->c);
    if (rerun->blob)
        (void)nm_store_put_blob(m->store, l->c);
    nm_record_store_result(m, nm_store_commit(m->store));
    NM_FAULT("rerun-journalled");
    (void)nm_persist_snapshot(l);
}

int nm_rerun_owned(struct nm_live_container *l, const struct nm_rerun *rerun, struct nm_problem *ret_problem)
{
    uint64_t grace = l->m->config->kill_grace_usec;
    int r = check(l, rerun, ret_problem);

    assert(!l->m->round.is_on);
    if (r == 0)
        r = take(l, rerun);
    if (r != 0)
        return r;
    if (l->phase == NM_RUN_ASKING_OWNER)
        nm_container_drop_end(l->c);
    nm_container_request_rerun(l->c);
    l->c->view.kill_deadline_usec = grace ? nm_now_usec() + grace : 0;
    l->use_before = l->c->view.measured;
    commit(l, rerun);
    if (l->phase != NM_RUN_ASKING_OWNER)
        nm_act_rerun(l);
    return 0;
}
