/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The newest events, beside the journal, so that what happened can still be asked for after a restart of nmd. It is a
 * file of NM_EVENT_RING slots, as the ring in memory is, so it never grows beyond them; each slot holds one event as a
 * line of text with its checksum. Nothing is decided by what it says: a slot that can't be read is an event that is no
 * longer kept, and a file that can't be written costs no more than that.
 */

#include "agent/state/manager-state.h"

#define NM_EVENT_SLOT_BYTES 640

/* Fills the slot up with zeroes. */
void nm_event_print(const struct nm_event_record *e, char slot[NM_EVENT_SLOT_BYTES]);
/* -EBADMSG: there is no whole event in it. */
int nm_event_parse(const char slot[NM_EVENT_SLOT_BYTES], struct nm_event_record *ret);
/* What is behind the checksum; the text is taken apart. */
int nm_event_parse_body(char *body, struct nm_event_record *ret);

/* Reads what an earlier nmd has left into `ring`, each at its number modulo NM_EVENT_RING; *ret_next: the number of the
 * next one. Returns the descriptor for nm_event_file_put(), or -errno. */
int nm_event_file_open(const char *state_dir, struct nm_event_record *ring, uint64_t *ret_next);
/* 0 or -errno. */
int nm_event_file_put(int fd, const struct nm_event_record *e);
