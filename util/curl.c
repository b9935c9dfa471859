/* SPDX-License-Identifier: Apache-2.0 */

/* See curl.h. */

#include "util/curl.h"

#include <errno.h>
#include <stdbool.h>

/* Checks the result of each option, because an ignored option would break the guarantees of curl.h. NOSIGNAL is set
 * because libcurl otherwise limits name look-ups with alarm(). */
int nm_curl_new(const char *agent, char reason[CURL_ERROR_SIZE], CURL **ret)
{
    CURL *curl;
    bool ok;

    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return -ENOMEM;
    curl = curl_easy_init();
    if (!curl)
        return -ENOMEM;
    ok = curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
         curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https") == CURLE_OK &&
         curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
         curl_easy_setopt(curl, CURLOPT_PROXY, "") == CURLE_OK && /* also ignore proxies from the environment */
         curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
         curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, reason) == CURLE_OK &&
         curl_easy_setopt(curl, CURLOPT_USERAGENT, agent) == CURLE_OK;
    if (!ok) {
        curl_easy_cleanup(curl);
        return -ENOTSUP;
    }
    *ret = curl;
    return 0;
}

int nm_curl_set_callbacks(CURL *curl, curl_write_callback take, curl_xferinfo_callback progress, void *userdata)
{
    bool ok = curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_WRITEDATA, userdata) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, progress) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_XFERINFODATA, userdata) == CURLE_OK &&
              curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L) == CURLE_OK;

    return ok ? 0 : -ENOTSUP;
}

int nm_curl_errno(CURLcode code)
{
    switch (code) {
    case CURLE_OUT_OF_MEMORY:
        return -ENOMEM;
    case CURLE_COULDNT_CONNECT:
        return -ECONNREFUSED;
    case CURLE_COULDNT_RESOLVE_HOST:
        return -EHOSTUNREACH;
    case CURLE_OPERATION_TIMEDOUT:
        return -ETIMEDOUT;
    case CURLE_TOO_MANY_REDIRECTS:
        return -ELOOP;
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
        return -EINVAL;
    case CURLE_ABORTED_BY_CALLBACK:
        return -ECANCELED;
    default:
        return -EIO;
    }
}
