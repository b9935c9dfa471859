/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The request of a reducer, in the format of the fetchers of MapReduce and Tez:
 *
 *   GET /mapOutput?job=job_TS_N[&dag=N]&reduce=N&map=attempt_...,attempt_...[&keepAlive=true] HTTP/1.1
 *   name: mapreduce
 *   version: 1.0.0
 *   UrlHash: base64(HMAC-SHA1(the job's key, "<port>" and the target as above))
 *
 * Tez' own handler, the service tez_shuffle, also takes a range of reducers (reduce=0-5, with both ends). Tez uses
 * MapReduce's format for mapreduce_shuffle, but this parser also accepts a range.
 *
 * Names and values may be percent-encoded. All fields point into the parsed head, or into its decoded query. No HTTP
 * library is used. The answer consists of pieces of many files, sent with sendfile, which blocks on the disk. Also,
 * only a small part of HTTP is needed.
 */

#include <stdbool.h>
#include <stdint.h>

#include "rpc/hadoop/bytes.h"

/* Maximum length of a head, with its empty line. Fetcher requests up to 20 maps in one request, with names of some 40
 * characters. */
#define NM_SHUFFLE_HEAD_MAX 16384u
#define NM_SHUFFLE_MAPS_MAX 256u
/* Maximum number of reducers in a request's range. The lengths of this many parts, 16 bytes each, are kept while the
 * request is answered: of all maps of the request if they fit, otherwise of some maps at a time. */
#define NM_SHUFFLE_PARTS_MAX 4096u

/* Positive outcomes: the HTTP status for the client. */
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
    struct nm_bytes target, url_hash; /* both as received */
    struct nm_bytes job;              /* job_<digits>_<digits> */
    struct nm_bytes maps[NM_SHUFFLE_MAPS_MAX]; /* attempt_<letters, digits and '_'>: safe as file names */
    unsigned n_maps;
    uint32_t reduce, n_reduces; /* first reducer, and number of reducers */
    bool is_range;              /* the request has the form of a range, even if the range has only one reducer */
    bool keep_alive;
};

/* Returns the length of the head at the front of the received bytes, with its empty line; 0: the head is not complete
 * yet. */
size_t nm_shuffle_head_size(struct nm_bytes received);

/* Parses a head that nm_shuffle_head_size() found, of at most NM_SHUFFLE_HEAD_MAX bytes. Returns 0, or a status with a
 * sentence in *ret_why. decoded: room for the query, which must exist as long as the request. */
int nm_shuffle_request_parse(struct nm_bytes head, uint8_t decoded[static NM_SHUFFLE_HEAD_MAX],
                             struct nm_shuffle_request *ret, const char **ret_why);

/* Writes the application of a job: application_<digits>_<digits>. The job must come from a parsed request. */
void nm_shuffle_application_of(struct nm_bytes job, char *ret, size_t size);

bool nm_shuffle_is_job(struct nm_bytes word);
