/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* For tests of the journal: a journal in a temporary directory, and the rows that were loaded from it. */

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "agent/store/store.h"

#define N_LOADED 600

struct fixture {
    char dir[64], file[96];
    struct nm_store *store;
    struct nm_store_opened opened;
    struct nm_container *loaded[N_LOADED];
    unsigned n_loaded, n_bad;
    struct nm_decision decisions[32];
    unsigned n_decisions;
};

int set_up(void **state);
int tear_down(void **state);
void open_store(struct fixture *w, const char *boot_id);
void close_store(struct fixture *w);
void load(struct fixture *w);
struct nm_container *make(unsigned seq);
void assert_same(const struct nm_container *a, const struct nm_container *b);
void put(struct fixture *w, unsigned seq, int expected);
void run_sql(const struct fixture *w, const char *sql);
/* Returns the first column of the first row. The store must be closed. */
int64_t query(const struct fixture *w, const char *sql);
void put_decision(struct fixture *w, uint64_t number, const char *id, int expected);
void on_decision(const struct nm_decision *d, void *userdata); /* userdata: the fixture; adds d to its decisions */
void load_decisions(struct fixture *w, const char *id, unsigned max);
void leave_log(struct fixture *w, unsigned n);
