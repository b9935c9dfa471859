/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Common part of all HTTP and HTTPS requests with libcurl. Requests go only to the URL that the caller gives: proxies
 * of the environment, .netrc and other schemes are not used. The code is a library of its own (libnm-curl), so that
 * only programs that fetch something link libcurl.
 */

#include <curl/curl.h>

/* Creates a handle. agent: the User-Agent header. reason: buffer for curl's error messages, which must outlive the
 * handle. Returns 0, -ENOMEM, or -ENOTSUP if this libcurl lacks an option that this library depends on. */
int nm_curl_new(const char *agent, char reason[CURL_ERROR_SIZE], CURL **ret);
/* Sets the callbacks for received data (`take`) and for progress, both called with `userdata`. Returns 0 or
 * -ENOTSUP. */
int nm_curl_set_callbacks(CURL *curl, curl_write_callback take, curl_xferinfo_callback progress, void *userdata);

/* Converts a CURLcode other than CURLE_OK to a negative errno:
 *   -ECONNREFUSED, -EHOSTUNREACH, -ETIMEDOUT, -EIO  error of the server or the network
 *   -ELOOP      too many redirects
 *   -EINVAL     invalid URL
 *   -ECANCELED  a callback aborted the transfer
 *   -ENOMEM */
int nm_curl_errno(CURLcode code);
