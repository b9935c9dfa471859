/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Common part of all HTTP and HTTPS requests with libcurl. Requests go only to the URL that the caller gives: proxies
 * of the environment, .netrc and other schemes are not used. The code is a library of its own (libnm-curl), so that
 * only programs that fetch something link libcurl.
 */

#include <curl/curl.h>
#include <stddef.h>

/* A client, which makes one request at a time. Must not move in memory, because curl has a pointer to `reason`. */
struct nm_curl {
    CURL *handle;
    char reason[CURL_ERROR_SIZE]; /* curl's message about the failure of the last request; "": curl gave none */
    char *body;                   /* NUL-terminated; NULL: nm_curl_append_body() wasn't called in this request */
    size_t body_size, body_room;
    int error; /* local error because of which a callback has stopped the request; 0: none */
};

/* Initializes a client. agent: the User-Agent header. Returns 0, -ENOMEM, or -ENOTSUP if this libcurl lacks an option
 * that this library depends on. */
int nm_curl_init(struct nm_curl *c, const char *agent);
/* Releases a client, which may be all zeros. */
void nm_curl_done(struct nm_curl *c);
/* Sets the callbacks for received data (`take`) and for progress, both called with `userdata`. Returns 0 or
 * -ENOTSUP. */
int nm_curl_set_callbacks(struct nm_curl *c, curl_write_callback take, curl_xferinfo_callback progress, void *userdata);

/* Requests the URL. Frees the body of the previous request first. Returns 0 if the server has answered, with any
 * status; the error of nm_curl_stop() without a message; or the error of nm_curl_errno() with a message. */
int nm_curl_perform(struct nm_curl *c, const char *url, char **ret_message);

/* ---- for callbacks --------------------------------------------------------------------------- */

/* Appends received data to the body, which must not exceed max_bytes. Returns 0, -EFBIG or -ENOMEM. */
int nm_curl_append_body(struct nm_curl *c, const char *data, size_t size, size_t max_bytes);
/* Stores the local error. Returns 0: a callback that returns fewer bytes than it was given stops the request. */
size_t nm_curl_stop(struct nm_curl *c, int error);

/* ---- errors ---------------------------------------------------------------------------------- */

/* Converts a CURLcode other than CURLE_OK to a negative errno:
 *   -ECONNREFUSED, -EHOSTUNREACH, -ETIMEDOUT, -EIO  error of the server or the network
 *   -ELOOP      too many redirects
 *   -EINVAL     invalid URL
 *   -ECANCELED  a callback aborted the transfer
 *   -ENOMEM */
int nm_curl_errno(CURLcode code);
