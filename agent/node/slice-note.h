/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Records who set the slice's memory.low. All zeros: nmd has not set it yet. */
struct nm_slice_note {
    uint64_t own_bytes;      /* value that the administrator has set; 0 if the administrator has set no value */
    uint64_t asked_bytes[4]; /* values that nmd set and that differ from own_bytes, the newest first */
    bool unsaved;
};

/* Compares the file's value, is_bytes, with the note. Returns true if the value is new and nmd did not set it. Then an
 * administrator has set the value, and it becomes own_bytes. */
bool nm_slice_note_see(struct nm_slice_note *n, uint64_t is_bytes);
/* Notes a value before nmd sets it. */
void nm_slice_note_ask(struct nm_slice_note *n, uint64_t bytes);

/* Returns 0 whether or not the file exists. A damaged file counts as missing. */
int nm_slice_note_load(const char *directory, struct nm_slice_note *ret);
/* Writes the note if it has changed. */
int nm_slice_note_save(const char *directory, struct nm_slice_note *n);
