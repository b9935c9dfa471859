/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See container.h. The life cycle is defined by the table below alone. Callers (the policy, a person, the shim's
 * record, the kernel) request a transition. A transition that isn't in the table is a bug of the caller and must not
 * corrupt the state that clients and the journal see.
 */

#include "agent/container.h"

#include <assert.h>
#include <string.h>

#define TO(state) (1u << NM_##state)

/*
 * The allowed transitions from each state:
 *
 *  - A refused request is dropped while the container is NEW, and the container never becomes visible. A container that
 *    is visible as NEW waits until its owner has prepared it, and may end before that.
 *  - A queued container ends without having run when it is shed, killed, drained, lost or can't be launched (COMPLETED
 *    immediately). It passes through KILLING if its launch had already begun.
 *  - PAUSING -> RUNNING and RESUMING -> PAUSED undo a freeze or thaw that could not be carried out.
 *  - PAUSING -> RESUMING and RESUMING -> PAUSING reverse a request before the kernel has completed it. The
 *    freezer reports only its final state, so completion of the first request may never be seen.
 *  - A started container returns to NEW, after its processes have ended, if its owner runs it again.
 *  - Every live state may go straight to COMPLETED: a command can exit, or be killed by the kernel or another process,
 *    at any moment, frozen or not.
 *  - A container in KILLING can't return to other live states, and COMPLETED is final.
 */
static const unsigned transitions[NM_STATE_COUNT] = {
    [NM_NEW] = TO(LOCALIZING) | TO(SCHEDULED) | TO(KILLING) | TO(COMPLETED),
    [NM_LOCALIZING] = TO(SCHEDULED) | TO(KILLING) | TO(COMPLETED),
    [NM_SCHEDULED] = TO(RUNNING) | TO(KILLING) | TO(COMPLETED),
    [NM_RUNNING] = TO(NEW) | TO(PAUSING) | TO(KILLING) | TO(COMPLETED),
    [NM_PAUSING] = TO(NEW) | TO(PAUSED) | TO(RUNNING) | TO(RESUMING) | TO(KILLING) | TO(COMPLETED),
    [NM_PAUSED] = TO(NEW) | TO(RESUMING) | TO(KILLING) | TO(COMPLETED),
    [NM_RESUMING] = TO(NEW) | TO(RUNNING) | TO(PAUSING) | TO(PAUSED) | TO(KILLING) | TO(COMPLETED),
    [NM_KILLING] = TO(COMPLETED),
    [NM_COMPLETED] = 0,
};

bool nm_container_may_become(enum nm_state from, enum nm_state to)
{
    if ((unsigned)from >= NM_STATE_COUNT || (unsigned)to >= NM_STATE_COUNT)
        return false;
    return transitions[from] & (1u << to);
}

int nm_container_set_state(struct nm_container *c, enum nm_state to)
{
    if (!nm_container_may_become(c->view.state, to))
        return -EPROTO;
    c->view.state = to;
    /* The request ends here: in NEW, the container runs again; in KILLING, it ends and does not run again. */
    if (to == NM_NEW || to == NM_KILLING)
        c->rerun = false;
    return 0;
}

void nm_container_request_rerun(struct nm_container *c)
{
    assert(c->view.state >= NM_RUNNING && c->view.state < NM_KILLING && !c->rerun);
    c->rerun = true;
}

bool nm_container_is_being_ended(const struct nm_container *c)
{
    return c->view.state == NM_KILLING || c->rerun;
}

void nm_container_drop_start(struct nm_container *c)
{
    struct nm_policy_container *v = &c->view;

    assert(v->state <= NM_SCHEDULED && c->exit_reason == NM_EXIT_NONE);
    v->admitted = v->passed = v->stall_known = false;
    v->started_usec = c->started_realtime_usec = 0;
    v->n_samples = v->stall_permille = 0;
    v->measured = (struct nm_resources){0};
    v->stall = (struct nm_stall){0};
    v->peak = (struct nm_peak){0};
    v->swapped_bytes = v->cpu_usage_usec = 0;
    c->shim_pid = 0;
    c->shim_start_ticks = c->cgroup_inode = 0;
    c->memory_peak_bytes = c->swap_bytes = c->oom_kills = 0;
    c->message[0] = '\0';
}

void nm_container_drop_end(struct nm_container *c)
{
    assert(c->view.state != NM_COMPLETED);
    c->exit_code = -1;
    c->exit_signal = 0;
    c->exit_reason = NM_EXIT_NONE;
    c->exit_cause = NM_REASON_NONE;
    c->exit_decision = 0;
    c->message[0] = '\0';
}

void nm_container_drop_run(struct nm_container *c)
{
    struct nm_policy_container *v = &c->view;

    assert(v->state == NM_NEW && !c->rerun);
    v->user_paused = v->reclaimed = false;
    v->paused_usec = v->reclaimed_usec = v->last_cpu_millicores = 0;
    v->pause_deadline_usec = UINT64_MAX;
    c->view.kill_deadline_usec = 0;
    c->pid = 0;
    nm_container_drop_end(c);
    nm_container_drop_start(c);
}

int nm_container_new(struct nm_container **ret)
{
    struct nm_container *c = calloc(1, sizeof *c);

    if (!c)
        return -ENOMEM;
    c->view.state = NM_NEW;
    c->view.pause_deadline_usec = UINT64_MAX;
    c->view.owner = c;
    c->command.no_new_privs = true;
    c->exit_code = -1;
    *ret = c;
    return 0;
}

struct nm_container *nm_container_free(struct nm_container *c)
{
    if (c) {
        nm_command_done(&c->command);
        free(c->blob.data);
        free(c->log_dir);
    }
    free(c);
    return NULL;
}

int nm_container_set_blob(struct nm_container *c, const void *data, size_t bytes)
{
    void *copy = bytes > 0 ? malloc(bytes) : NULL;

    assert(bytes <= NM_BLOB_MAX);
    if (bytes > 0 && !copy)
        return -ENOMEM;
    if (bytes > 0)
        memcpy(copy, data, bytes);
    free(c->blob.data);
    c->blob = (struct nm_blob){.data = copy, .bytes = bytes};
    return 0;
}

int nm_container_set_log_dir(struct nm_container *c, const char *dir)
{
    char *copy = *dir ? strdup(dir) : NULL;

    if (*dir && !copy)
        return -ENOMEM;
    free(c->log_dir);
    c->log_dir = copy;
    return 0;
}

const char *nm_container_label(const struct nm_container *c, char *buf, size_t size)
{
    assert(size > 0);
    if (c->name[0])
        (void)snprintf(buf, size, "%s (%s)", c->id, c->name);
    else
        (void)snprintf(buf, size, "%s", c->id);
    return buf;
}

const char *nm_container_end_text(const struct nm_container *c, char *buf, size_t size)
{
    assert(size > 0);
    if (c->exit_code >= 0)
        (void)snprintf(buf, size, "%s, exit code %d", nm_exit_reason_name(c->exit_reason),
                       c->exit_code);
    else
        (void)snprintf(buf, size, "%s", nm_exit_reason_name(c->exit_reason));
    return buf;
}

/* Texts for exit reasons: the result and its cause. Exit reasons whose text contains an exit code or a signal are not
 * in this table. */
static const struct {
    const char *result, *why;
} outcomes[NM_EXIT_REASON_COUNT] = {
    [NM_EXIT_OOM] = {"Killed", "out of memory"},
    [NM_EXIT_PREEMPTED] = {"Killed", "preempted"},
    [NM_EXIT_PAUSE_DEADLINE] = {"Killed", "paused too long"},
    [NM_EXIT_KILLED] = {"Killed", "on request"},
    [NM_EXIT_SHED] = {"Killed", "discarded from the queue"},
    [NM_EXIT_DRAINED] = {"Killed", "node drained"},
    [NM_EXIT_NOT_FOUND] = {"Failed", "command not found"},
    [NM_EXIT_NOT_EXECUTABLE] = {"Failed", "permission denied"},
    [NM_EXIT_BAD_USER] = {"Failed", "bad user"},
    [NM_EXIT_BAD_WORKDIR] = {"Failed", "bad workdir"},
    [NM_EXIT_LAUNCH_FAILED] = {"Failed", "not launched"},
    [NM_EXIT_LOST] = {"Failed", "lost"},
    [NM_EXIT_STOPPED] = {"Killed", "through systemd"},
    [NM_EXIT_LOCALIZATION_FAILED] = {"Failed", "localization"},
};

enum nm_container_end nm_container_end_kind(const struct nm_container *c)
{
    const char *result = outcomes[c->exit_reason].result;

    assert(c->view.state == NM_COMPLETED);
    if (result)
        return nm_streq(result, "Killed") ? NM_END_KILLED : NM_END_FAILED;
    return c->exit_reason == NM_EXIT_SIGNALED || c->exit_code != 0 ? NM_END_FAILED : NM_END_SUCCEEDED;
}

const char *nm_container_state_text(const struct nm_container *c, char *buf, size_t size)
{
    const char *signal = sigabbrev_np(c->exit_signal);

    assert(size > 0);
    if (c->view.state != NM_COMPLETED)
        (void)snprintf(buf, size, "%s", nm_state_word(c->view.state));
    else if (outcomes[c->exit_reason].result)
        (void)snprintf(buf, size, "%s (%s)", outcomes[c->exit_reason].result, outcomes[c->exit_reason].why);
    else if (c->exit_reason == NM_EXIT_SIGNALED && signal)
        (void)snprintf(buf, size, "Failed (SIG%s)", signal);
    else if (c->exit_reason == NM_EXIT_SIGNALED)
        (void)snprintf(buf, size, "Failed (signal %d)", c->exit_signal);
    else if (c->exit_code == 0)
        (void)snprintf(buf, size, "Succeeded");
    else
        (void)snprintf(buf, size, "Failed (%d)", c->exit_code);
    return buf;
}
