/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The load of a shuffle server, for its benchmarks: outputs of maps, and a reducer that discards what it fetches.
 * The user of all jobs is "bench", and their key is "8letters". Errors end the program. */

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

#define REDUCERS 5000u /* of each index */

_Noreturn void die(const char *what);

/* Writes the path of a file of a map's output, or of its directory if the name is empty. */
void path_of(const char *dir, unsigned job, unsigned map, const char *name, char ret[PATH_MAX]);

/* Writes an output of which the first n parts have this length, and the others are empty. */
void write_output(const char *dir, unsigned job, unsigned map, unsigned n, uint64_t part_bytes);

/* Connects to a server on this host. */
int dial(uint16_t port);

/* Receives bytes without looking at them. */
void discard(int fd, uint64_t bytes);

/* Fetches the parts of one reducer. Returns the length of the answer's body. */
uint64_t fetch(uint16_t port, int fd, unsigned job, unsigned reduce, unsigned first_map, unsigned n_maps);

/* Returns the CPU time of a process, in microseconds. */
uint64_t cpu_of(pid_t pid);
