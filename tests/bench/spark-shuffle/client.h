/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Files of Spark's executors, and a client that fetches their blocks as reduce tasks do: it opens a stream with blocks
 * of one executor and one reducer (FetchShuffleBlocks), and then requests all chunks at once. It discards the data.
 *
 * Applications are application_1_0001 and so on, of the user "bench". Their executors have numbers, and a directory in
 * each of LOCAL_DIRS local directories, DIR/1, DIR/2 and so on. Errors end the program.
 */

#include <stddef.h>
#include <stdint.h>

#define LOCAL_DIRS 4u

/* Writes the path of a local directory. */
void local_dir(const char *dir, unsigned number, char *ret, size_t size);

struct bench_map {
    unsigned app, exec, shuffle, map;
};

/* Writes the files of a map whose blocks have this length for each of n reducers. */
void write_map(const char *dir, const struct bench_map *m, unsigned n_reducers, uint64_t block_bytes);

void register_executor(int fd, const char *dir, unsigned app, unsigned exec);

/* The blocks of one reducer in `n_maps` maps, from the map m on. All have the same length. */
struct bench_blocks {
    struct bench_map m;
    unsigned n_maps, reduce;
    uint64_t block_bytes;
};

/* Fetches the blocks, and checks the frames and the first byte of each block. Returns the bytes of all blocks. */
uint64_t fetch_blocks(int fd, const struct bench_blocks *b);
/* Requests the blocks without reading them. */
void ask_for_blocks(int fd, const struct bench_blocks *b);
