/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Files of slots of one size, each of which is a checksum and a text, filled up with zeroes: what nmd keeps beside
 * its journal since nothing is decided by it. Such a file doesn't grow, and is written a slot at a time; a slot
 * that was written in part, or by a foreign hand, is seen and counts as empty.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NM_SLOT_SUM_BYTES 9 /* eight digits and a blank, before the text */
#define NM_SLOT_BYTES_MAX 1024

/* `text` has slot_bytes - NM_SLOT_SUM_BYTES bytes, all of which count. */
void nm_slot_seal(const char *text, char *slot, size_t slot_bytes);
/* False: the slot isn't whole. `text` has room for as much, and is ended by one more byte of 0. */
bool nm_slot_open(const char *slot, size_t slot_bytes, char *text);

/* Opens state_dir/name, and makes the file if it isn't there. Returns the caller's descriptor, or -errno. */
int nm_slot_file_open(const char *state_dir, const char *name);
/* The text of slot i, with a 0 behind it. False: there is none. */
bool nm_slot_file_get(int fd, uint64_t i, size_t slot_bytes, char *text);
/* 0 or -errno. */
int nm_slot_file_put(int fd, uint64_t i, size_t slot_bytes, const char *text);
