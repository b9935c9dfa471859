/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Files of slots of one size. Each slot has a checksum and a text, padded with zeroes. Such files hold data beside the
 * journal on which no decision depends. A file does not grow and is written one slot at a time. The checksum detects a
 * slot that was written partly or by another program; such a slot counts as empty.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NM_SLOT_SUM_BYTES 9 /* eight digits and a blank, before the text */
#define NM_SLOT_BYTES_MAX 1024

/* `text` has slot_bytes - NM_SLOT_SUM_BYTES bytes; the checksum covers all of them. */
void nm_slot_seal(const char *text, char *slot, size_t slot_bytes);
/* Returns false if the slot is damaged. `text` has room for the slot's text and one more byte, which is set to 0. */
bool nm_slot_open(const char *slot, size_t slot_bytes, char *text);

/* Opens state_dir/name, and makes the file if it is missing. Returns a descriptor owned by the caller, or -errno. */
int nm_slot_file_open(const char *state_dir, const char *name);
/* Reads the text of slot i, terminated by NUL. Returns false if the slot has no valid text. */
bool nm_slot_file_get(int fd, uint64_t i, size_t slot_bytes, char *text);
/* Returns 0 or -errno. */
int nm_slot_file_put(int fd, uint64_t i, size_t slot_bytes, const char *text);
