/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Failures inside SQLite and jansson. Their allocations fail as fail-nth.h says (FAIL_MEMORY), and SQLite's system
 * calls as failing-calls.h says: sqlite-open, sqlite-read, sqlite-write, sqlite-truncate, sqlite-stat and
 * sqlite-sync.
 */

/* Replaces the functions. Call it before the first use of SQLite. Returns 0 or -1. */
int sqlite_failures_begin(void);
