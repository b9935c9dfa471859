/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A journal (store-fixture.h) in which calls inside SQLite and jansson fail. Their allocations fail if a test sets
 * FAIL_MEMORY of fail-nth.h. SQLite's system calls fail if a test names one of these calls to fail_call() of
 * failing-calls.h: sqlite-open, sqlite-read, sqlite-write, sqlite-truncate, sqlite-stat and sqlite-sync.
 */

#include "tests/unit/failure.h"
#include "tests/unit/store-fixture.h"

/* Installs the functions that can fail. Call it before the first use of SQLite. Returns 0 or -1. */
int sqlite_failures_begin(void);
