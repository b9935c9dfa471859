/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A local directory with map outputs as MapReduce writes them, for tests of shuffle/. */

#include <stdint.h>

#include "shuffle/map-output.h"

#define JOB "job_1410901177871_0001"
#define ATTEMPT(n) "attempt_1410901177871_0001_m_00000" #n "_0"

struct shuffle_fixture {
    char dir[32];
    struct nm_shuffle_job job; /* a job of the user who runs the test */
};

void shuffle_fixture_new(struct shuffle_fixture *w);
void shuffle_fixture_done(struct shuffle_fixture *w);
/* Makes another, empty local directory. Returns its path, which the caller frees. */
char *shuffle_fixture_local(const struct shuffle_fixture *w, const char *name);

/* Returns the path of a file in an attempt's output directory, or of the directory itself if name is "". */
const char *shuffle_fixture_path(const struct shuffle_fixture *w, const char *local, const char *attempt,
                                 const char *name);

/* Writes the parts (NULL-terminated) one after the other to file.out, and writes its index. The raw lengths in the
 * index are twice the parts' lengths. */
void shuffle_fixture_output(const struct shuffle_fixture *w, const char *local, const char *attempt,
                            const char *const *parts);
/* Writes an index for n reducers whose parts are empty. */
void shuffle_fixture_empty_index(const struct shuffle_fixture *w, const char *local, const char *attempt, uint32_t n);
/* Overwrites bytes of a file. */
void shuffle_fixture_poke(const char *path, long at, const void *bytes, size_t size);
