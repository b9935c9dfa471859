/* SPDX-License-Identifier: Apache-2.0 */

/* Schedules the steps, and handles failed steps. Between two steps only the timer is active. */

#include "yarn/yarn-state.h"

#include "util/clock.h"

/* Marsaglia's xorshift. Each heartbeat needs a number, so it makes no system call. */
uint32_t nm_yarn_jitter(struct nm_yarn *y)
{
    y->random = y->random ?: 1;
    y->random ^= y->random << 13;
    y->random ^= y->random >> 17;
    y->random ^= y->random << 5;
    return y->random;
}

static void set_timer(struct nm_yarn *y, uint64_t after_usec)
{
    y->due_usec = nm_now_usec() + after_usec;
    (void)sd_event_source_set_time_relative(y->timer, after_usec);
    (void)sd_event_source_set_enabled(y->timer, SD_EVENT_ONESHOT);
}

void nm_yarn_step_delay(struct nm_yarn *y, uint64_t after_usec)
{
    set_timer(y, after_usec);
}

/* Makes a heartbeat due earlier if the ResourceManager needs to be informed of a change. A retry keeps its time,
 * because an overloaded ResourceManager must not get more requests. */
static void advance_heartbeat(struct nm_yarn *y)
{
    uint64_t now = nm_now_usec(), due = nm_yarn_early_due(&y->early, now);

    if (!y->has_change || y->due_usec <= due || y->step.task != NM_YARN_HEARTBEAT || y->state.failures > 0 ||
        y->on_unregistered)
        return;
    nm_yarn_early_use(&y->early, now);
    set_timer(y, due - now);
}

void nm_yarn_step_on_change(void *userdata)
{
    struct nm_yarn *y = userdata;

    y->has_change = true;
    advance_heartbeat(y);
}

uint64_t nm_yarn_step_wait_usec(const struct nm_yarn *y)
{
    if (y->labels_since_usec == 0)
        return 0;
    return NM_MAX(nm_yarn_labels_wait_usec(y), nm_yarn_gpus_wait_usec(y));
}

static void take_described(struct nm_yarn *y)
{
    if (y->labels_since_usec == 0)
        nm_yarn_step_on_change(y);
    else if (nm_yarn_step_wait_usec(y) == 0)
        nm_yarn_step_delay(y, 0);
}

void nm_yarn_step_on_labels(void *userdata)
{
    nm_yarn_labels_report_troubles(userdata);
    take_described(userdata);
}

void nm_yarn_step_on_gpus(void *userdata)
{
    nm_yarn_gpus_take_change(userdata);
    take_described(userdata);
}

/* Stops all steps after the ResourceManager has told the node to leave the cluster. Ends the cluster's applications on
 * this node: no master manages their containers any more, and the ResourceManager won't report their end. */
static void stop_steps(struct nm_yarn *y)
{
    y->due_usec = 0;
    y->client = nm_hadoop_client_free(y->client);
    nm_yarn_node_leave(y->services->node, "The ResourceManager told this node to leave the cluster.");
}

/* Schedules a step. While the node registers, no container is started, because the registration must list all
 * containers. */
void nm_yarn_step_take(struct nm_yarn *y, struct nm_yarn_step step)
{
    y->step = step;
    nm_yarn_show_change(y);
    nm_yarn_size_follow(y);
    nm_yarn_services_set_rm(y->services, y->state.rm_identifier, y->state.queue_max_length);
    nm_yarn_services_save(y->services);
    if (step.task == NM_YARN_REST) {
        stop_steps(y);
        return;
    }
    set_timer(y, step.after_usec);
    advance_heartbeat(y);
}

/* Handles a failure. If there are several ResourceManagers, the next one is tried, even after an answer, because a
 * standby ResourceManager answers with a refusal. */
void nm_yarn_step_failed(struct nm_yarn *y, int error, const struct nm_exception *why)
{
    struct nm_yarn_step step;

    if (y->on_unregistered)
        return;
    y->shown.failures++;
    step = nm_yarn_state_failed(&y->state, error, why, nm_yarn_jitter(y));
    step.reconnect |= y->settings->ha;
    nm_yarn_step_take(y, step);
    y->leaves_rm = true; /* until the next step, the status shows the ResourceManager that has failed */
}
