/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The order in which the event loop's sources get their turns. All priorities are here; a lower number goes first,
 * and nothing of a higher number happens while something of a lower one is due. From the first to the last:
 *
 *   NM_LOOP_URGENT  a round that wants a fresh sample, because something grows or presses
 *   NM_LOOP_WATCH   the samples in turn, and the glances between two of them
 *   (the default)   what kernel, shims and systemd tell of containers, ends, kills, deadlines; the upstream's answers;
 *                   signals. Each is short, and there are no more of them than things that happen
 *   NM_LOOP_LATE    a child's end, behind what it has written before
 *   NM_LOOP_WORK    what others can make much of: requests of the local interface and of other nodes' RPC, starts of
 *                   containers, preparing and localizing what they need, and the round that follows from a mere change
 *
 * So whatever keeps the node in bounds waits for one turn of work at most, and a turn has to be short: who has many
 * things to do does as many as go into NM_LOOP_TURN_USEC, and then wants another turn.
 *
 * Work is done in the order in which it became due. That holds for descriptors and timers. A deferred source counts as
 * due since it was made, and so is ahead of all others of its priority each time: one that wants turn after turn keeps
 * all of them waiting. nm_loop_add_work() makes a source that goes to the end of the line. And as each source has a
 * place in the line, many things of one kind (one for each container) share a source that takes them one by one.
 */

#include <systemd/sd-event.h>

#include "util/clock.h"

#define NM_LOOP_URGENT (SD_EVENT_PRIORITY_NORMAL - 10)
#define NM_LOOP_WATCH (SD_EVENT_PRIORITY_NORMAL - 5)
#define NM_LOOP_LATE (SD_EVENT_PRIORITY_NORMAL + 1)
#define NM_LOOP_WORK (SD_EVENT_PRIORITY_NORMAL + 10)

#define NM_LOOP_TURN_USEC (10 * NM_USEC_PER_MSEC)

/* A source of NM_LOOP_WORK for what there is to do. It rests until nm_loop_want(), and again after each turn. */
int nm_loop_add_work(sd_event *event, const char *description, sd_event_time_handler_t handler, void *userdata,
                     sd_event_source **ret);
int nm_loop_want(sd_event_source *work);
