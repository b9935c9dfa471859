/* SPDX-License-Identifier: Apache-2.0 */

/* When the next step is due, and what comes of one that failed. Between two steps only the timer is on. */

#include "yarn/yarn-state.h"

#include <sys/random.h>

#include "util/clock.h"

/* From one heartbeat to the next that isn't due yet: a job whose tasks end ten at a time is told ten times a second. */
#define NEWS_USEC (100 * NM_USEC_PER_MSEC)

uint32_t nm_yarn_jitter(void)
{
    uint32_t v = 0;

    (void)!getrandom(&v, sizeof v, GRND_NONBLOCK);
    return v;
}

static void set_timer(struct nm_yarn *y, uint64_t after_usec)
{
    y->due_usec = nm_now_usec() + after_usec;
    (void)sd_event_source_set_time_relative(y->timer, after_usec);
    (void)sd_event_source_set_enabled(y->timer, SD_EVENT_ONESHOT);
}

/* Brings a heartbeat forward if there are news. One that is to be tried again keeps its time: whoever is in trouble
 * isn't to be pressed. */
static void hasten(struct nm_yarn *y)
{
    uint64_t now = nm_now_usec(), due = NM_MAX(now, y->sent_usec + NEWS_USEC);

    if (y->news && y->due_usec > due && y->step.task == NM_YARN_BEAT && y->state.failures == 0 && !y->left)
        set_timer(y, due - now);
}

void nm_yarn_step_on_news(void *userdata)
{
    struct nm_yarn *y = userdata;

    y->news = true;
    hasten(y);
}

/* Shut out for good. What ran for the cluster is nobody's any more. */
static void rest(struct nm_yarn *y)
{
    y->due_usec = 0;
    y->client = nm_hadoop_client_free(y->client);
    nm_yarn_node_end_all(y->hosting->node, NM_YARN_KILLED_BY_RM, "The ResourceManager shut this node out.");
}

/* Nothing is started while the node registers: what it tells of itself then must be all. */
void nm_yarn_step_take(struct nm_yarn *y, struct nm_yarn_step step)
{
    y->step = step;
    nm_yarn_show_change(y);
    nm_yarn_size_follow(y);
    nm_yarn_manage_set_rm(y->hosting->manage, y->state.rm_identifier);
    nm_yarn_services_keep(y->hosting);
    if (step.task == NM_YARN_REST) {
        rest(y);
        return;
    }
    set_timer(y, step.after_usec);
    hasten(y);
}

/* Of several ResourceManagers the next may be the active one: one that isn't may answer as well, to say so. */
void nm_yarn_step_failed(struct nm_yarn *y, int error, const struct nm_exception *why)
{
    struct nm_yarn_step step;

    if (y->left)
        return;
    y->shown.failures++;
    step = nm_yarn_state_failed(&y->state, error, why, nm_yarn_jitter());
    step.reconnect |= y->settings->ha;
    nm_yarn_step_take(y, step);
    y->tracker++;
}
