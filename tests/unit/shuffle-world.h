/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A local directory with outputs of maps, as MapReduce writes them, for the tests of shuffle/. */

#include <stdint.h>

#include "shuffle/output.h"

#define JOB "job_1410901177871_0001"
#define ATTEMPT(n) "attempt_1410901177871_0001_m_00000" #n "_0"

struct shuffle_world {
    char dir[32];
    struct nm_shuffle_job job; /* of whoever runs the test */
};

void shuffle_world_new(struct shuffle_world *w);
void shuffle_world_done(struct shuffle_world *w);
/* Makes another local directory, in which nothing is yet. Its path is the caller's to free. */
char *shuffle_world_local(const struct shuffle_world *w, const char *name);

/* Where an attempt's output is, with a name behind it ("" for the directory). */
const char *shuffle_world_path(const struct shuffle_world *w, const char *local, const char *attempt, const char *name);

/* Writes file.out, one after the other the parts (NULL-terminated), and its index, whose raw lengths are twice as long.
 */
void shuffle_world_output(const struct shuffle_world *w, const char *local, const char *attempt,
                          const char *const *parts);
/* Overwrites bytes of a file. */
void shuffle_world_poke(const char *path, long at, const void *bytes, size_t size);
