/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a reducer asks for, as the fetchers of MapReduce and Tez say it over HTTP:
 *
 *   GET /mapOutput?job=job_TS_N[&dag=N]&reduce=N&map=attempt_...,attempt_...[&keepAlive=true] HTTP/1.1
 *   name: mapreduce
 *   version: 1.0.0
 *   UrlHash: base64(HMAC-SHA1(the job's key, "<port>" and the target as it stands above))
 *
 * Tez' own handler, the service tez_shuffle, also takes a range of reducers (reduce=0-5, with both ends). To
 * mapreduce_shuffle Tez speaks as MapReduce does, but a range is taken here as well.
 *
 * Names and values may be percent-encoded. Everything points into the head that was parsed, or into its decoded query.
 * No server of a library fits: the answer is put together of pieces of many files, by sendfile, which waits for the
 * disk; and it is so little of HTTP.
 */

#include <stdbool.h>
#include <stdint.h>

#include "rpc/hadoop/bytes.h"

/* A head, with its empty line, is no longer than this. Fetcher asks for 20 maps at once, of some 40 characters. */
#define NM_SHUFFLE_HEAD_MAX 16384u
#define NM_SHUFFLE_MAPS_MAX 256u
/* Reducers in a request's range. The lengths of so many parts are kept while it is answered, 16 bytes for each: of all
 * its maps where they fit, else of some maps at a time. */
#define NM_SHUFFLE_PARTS_MAX 4096u

/* Positive outcomes: the status of HTTP that the client is to have. */
enum nm_shuffle_status {
    NM_SHUFFLE_OK = 200,
    NM_SHUFFLE_BAD_REQUEST = 400,
    NM_SHUFFLE_UNAUTHORIZED = 401,
    NM_SHUFFLE_BAD_METHOD = 405,
    NM_SHUFFLE_TOO_MANY = 429,
    NM_SHUFFLE_HEAD_TOO_LARGE = 431,
    NM_SHUFFLE_FAILED = 500,
};

struct nm_shuffle_request {
    struct nm_bytes target, url_hash; /* as they came */
    struct nm_bytes job;              /* job_<digits>_<digits> */
    struct nm_bytes maps[NM_SHUFFLE_MAPS_MAX]; /* attempt_<letters, digits and '_'>: safe as file names */
    unsigned n_maps;
    uint32_t reduce, n_reduces; /* the first one, and how many from there on */
    bool is_range;              /* it was written as one, though it be of one reducer */
    bool keep_alive;
};

/* The length of the head at the front of what has come, with its empty line; 0: it isn't all there yet. */
size_t nm_shuffle_head_size(struct nm_bytes come);

/* 0, or a status, with a sentence in *ret_why. A head is what nm_shuffle_head_size() found, of at most
 * NM_SHUFFLE_HEAD_MAX bytes. decoded: room for its query, which must last as long as the request. */
int nm_shuffle_request_parse(struct nm_bytes head, uint8_t decoded[static NM_SHUFFLE_HEAD_MAX],
                             struct nm_shuffle_request *ret, const char **ret_why);

/* The application that a job belongs to: application_<digits>_<digits>. The job must be a request's. */
void nm_shuffle_application_of(struct nm_bytes job, char *ret, size_t size);

bool nm_shuffle_is_job(struct nm_bytes word);
