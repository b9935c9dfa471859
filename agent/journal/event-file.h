/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Keeps the newest events in a file beside the journal, so that they can still be queried after a restart of nmd. The
 * file has NM_EVENT_RING slots, like the ring in memory, and does not grow. Each slot holds one event as a line of text
 * with its checksum. No decision depends on the file: an unreadable slot counts as an event that is no longer kept, and
 * a failure to write the file has no other effect.
 */

#include "agent/state/manager-state.h"

#define NM_EVENT_SLOT_BYTES 640

/* Prints the event and pads the slot with zeroes. */
void nm_event_print(const struct nm_event_record *e, char slot[NM_EVENT_SLOT_BYTES]);
/* Returns -EBADMSG if the slot has no complete event. */
int nm_event_parse(const char slot[NM_EVENT_SLOT_BYTES], struct nm_event_record *ret);
/* Parses the text after the checksum, which it modifies. */
int nm_event_parse_body(char *body, struct nm_event_record *ret);

/* Reads the events of an earlier nmd into `ring`, each at its number modulo NM_EVENT_RING. *ret_next: the next event's
 * number. Returns the descriptor for nm_event_file_put(), or -errno. */
int nm_event_file_open(const char *state_dir, struct nm_event_record *ring, uint64_t *ret_next);
/* Returns 0 or -errno. */
int nm_event_file_put(int fd, const struct nm_event_record *e);
