/* SPDX-License-Identifier: Apache-2.0 */

/* See loop.h. */

#include "util/loop.h"

#include "util/error.h"
#include "util/macros.h"

/* Adds a timer that is due as soon as it is enabled. With each turn, a timer moves behind the other pending sources of
 * its priority; see loop.h. */
int nm_loop_add_work(sd_event *event, const char *description, sd_event_time_handler_t handler, void *userdata,
                     sd_event_source **ret)
{
    _cleanup_(sd_event_source_disable_unrefp) sd_event_source *source = NULL;
    int r = sd_event_add_time(event, &source, CLOCK_MONOTONIC, 0, 1, handler, userdata);

    if (r >= 0)
        r = sd_event_source_set_enabled(source, SD_EVENT_OFF);
    if (r >= 0)
        r = sd_event_source_set_priority(source, NM_LOOP_WORK);
    if (r >= 0)
        r = sd_event_source_set_description(source, description);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(source);
    return 0;
}

int nm_loop_schedule_work(sd_event_source *work)
{
    return NM_MIN(sd_event_source_set_enabled(work, SD_EVENT_ONESHOT), 0);
}
