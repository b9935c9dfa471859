/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Whose the slice's memory.low is. All zeros: nothing was asked for yet. */
struct nm_slice_note {
    uint64_t own_bytes;      /* the administrator's; 0: none */
    uint64_t asked_bytes[4]; /* nmd's own, where they differed from that, the newest first */
    bool unsaved;
};

/* The file has `is_bytes`. True when that is somebody else's, which then is the administrator's own. */
bool nm_slice_note_see(struct nm_slice_note *n, uint64_t is_bytes);
/* Before nmd asks for it. */
void nm_slice_note_ask(struct nm_slice_note *n, uint64_t bytes);

/* 0 with or without a file; a damaged one is none. */
int nm_slice_note_load(const char *directory, struct nm_slice_note *ret);
/* If there is anything new. */
int nm_slice_note_save(const char *directory, struct nm_slice_note *n);
