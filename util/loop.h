/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Priorities of the event loop's sources. A lower number is dispatched first: sd-event dispatches a source only if no
 * source with a lower number is pending. From the first to the last:
 *
 *   NM_LOOP_URGENT  rounds that need a fresh sample, because memory use grows or pressure rises
 *   NM_LOOP_WATCH   periodic samples, and the growth probe's readings between them
 *   (the default)   events of the kernel, shims and systemd about containers; kills; deadlines; answers of the
 *                   upstream; signals. Each handler is short, and the node's activity bounds the number of events
 *   NM_LOOP_LATE    the end of a child process, after the output that it wrote before
 *   NM_LOOP_WORK    work whose amount clients determine: requests of the local interface and of other nodes'
 *                   RPC, container starts, preparation and localization, and rounds that only a change triggers
 *
 * The sources that keep the node within its limits therefore wait for at most one turn of work, and a turn must be
 * short. A handler with many items processes as many as fit into NM_LOOP_TURN_USEC and then requests another turn.
 *
 * sd-event dispatches sources of one priority in the order in which they became pending. This order holds for
 * descriptors and timers. A deferred source counts as pending since its creation and always precedes the others of its
 * priority, so a deferred source that is enabled in every turn would starve the others. nmd therefore uses
 * nm_loop_add_work(), whose source moves behind the others with each turn. Because each source gets turns of its own,
 * many objects of one kind (for instance containers) share one source that processes them one by one. A work source is
 * a descriptor (eventfd) and not a timer: a timer that is due at once makes the kernel handle a timer interrupt, which
 * takes a virtual machine about 40 µs.
 */

#include <systemd/sd-event.h>

#include "util/clock.h"

#define NM_LOOP_URGENT (SD_EVENT_PRIORITY_NORMAL - 10)
#define NM_LOOP_WATCH (SD_EVENT_PRIORITY_NORMAL - 5)
#define NM_LOOP_LATE (SD_EVENT_PRIORITY_NORMAL + 1)
#define NM_LOOP_WORK (SD_EVENT_PRIORITY_NORMAL + 10)

#define NM_LOOP_TURN_USEC (10 * NM_USEC_PER_MSEC)

/* Adds a work source with the priority NM_LOOP_WORK. Each nm_loop_schedule_work() before a turn, or during it, leads to
 * one turn afterwards. */
int nm_loop_add_work(sd_event *event, const char *description, sd_event_handler_t handler, void *userdata,
                     sd_event_source **ret);
int nm_loop_schedule_work(sd_event_source *work);
