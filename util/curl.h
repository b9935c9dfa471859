/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What all requests over HTTP and HTTPS with libcurl have in common: where they go is what their caller says and
 * nothing else, neither a proxy of the environment nor .netrc nor another scheme. A library of its own (libnm-curl),
 * so that only who fetches something links libcurl.
 */

#include <curl/curl.h>

/* agent: what we call ourselves. reason: where curl writes why a request failed, for as long as the handle lives. 0,
 * -ENOMEM, or -ENOTSUP: this libcurl doesn't know an option that is a promise here. */
int nm_curl_new(const char *agent, char reason[CURL_ERROR_SIZE], CURL **ret);
/* What is received goes to `take` and what is under way to `progress`, both with `userdata`. 0 or -ENOTSUP. */
int nm_curl_set_callbacks(CURL *curl, curl_write_callback take, curl_xferinfo_callback progress, void *userdata);

/* A CURLcode that isn't CURLE_OK as a negative errno:
 *   -ECONNREFUSED, -EHOSTUNREACH, -ETIMEDOUT, -EIO  the server, or the way to it
 *   -ELOOP      too many redirects
 *   -EINVAL     no such URL
 *   -ECANCELED  a callback wanted it
 *   -ENOMEM */
int nm_curl_errno(CURLcode code);
