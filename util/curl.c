/* SPDX-License-Identifier: Apache-2.0 */

/* See curl.h. */

#include "util/curl.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>

#include "util/error.h"
#include "util/macros.h"

/* Checks the result of each option, because an ignored option would break the guarantees of curl.h. NOSIGNAL is set
 * because libcurl otherwise limits name look-ups with alarm(). */
int nm_curl_init(struct nm_curl *c, const char *agent)
{
    CURL *curl;
    bool ok;

    *c = (struct nm_curl){};
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
         curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, c->reason) == CURLE_OK &&
         curl_easy_setopt(curl, CURLOPT_USERAGENT, agent) == CURLE_OK;
    if (!ok) {
        curl_easy_cleanup(curl);
        return -ENOTSUP;
    }
    c->handle = curl;
    return 0;
}

static void clear_body(struct nm_curl *c)
{
    free(STEAL_PTR(c->body));
    c->body_size = c->body_room = 0;
}

void nm_curl_done(struct nm_curl *c)
{
    curl_easy_cleanup(STEAL_PTR(c->handle));
    clear_body(c);
}

int nm_curl_set_callbacks(struct nm_curl *c, curl_write_callback take, curl_xferinfo_callback progress, void *userdata)
{
    bool ok = curl_easy_setopt(c->handle, CURLOPT_WRITEFUNCTION, take) == CURLE_OK &&
              curl_easy_setopt(c->handle, CURLOPT_WRITEDATA, userdata) == CURLE_OK &&
              curl_easy_setopt(c->handle, CURLOPT_XFERINFOFUNCTION, progress) == CURLE_OK &&
              curl_easy_setopt(c->handle, CURLOPT_XFERINFODATA, userdata) == CURLE_OK &&
              curl_easy_setopt(c->handle, CURLOPT_NOPROGRESS, 0L) == CURLE_OK;

    return ok ? 0 : -ENOTSUP;
}

/* Checks for a local error first, because curl would only report that writing failed. */
int nm_curl_perform(struct nm_curl *c, const char *url, char **ret_message)
{
    CURLcode code;

    clear_body(c);
    c->error = 0;
    c->reason[0] = '\0';
    code = curl_easy_setopt(c->handle, CURLOPT_URL, url);
    if (code == CURLE_OK)
        code = curl_easy_perform(c->handle);
    if (code == CURLE_OK)
        return 0;
    if (c->error < 0)
        return c->error;
    return nm_fail(ret_message, nm_curl_errno(code), "%s", *c->reason ? c->reason : curl_easy_strerror(code));
}

/* Checks the size for each piece, because the length in the header may be wrong. Doubles the buffer, because growing by
 * single pieces could take quadratic time. */
int nm_curl_append_body(struct nm_curl *c, const char *data, size_t size, size_t max_bytes)
{
    assert(c->body_size <= max_bytes && max_bytes < SIZE_MAX / 2);
    if (size > max_bytes - c->body_size)
        return -EFBIG;
    if (c->body_size + size >= c->body_room) {
        size_t room = NM_MIN(NM_MAX(2 * c->body_room, c->body_size + size + 1), max_bytes + 1);
        char *grown = realloc(c->body, room);

        if (!grown)
            return -ENOMEM;
        c->body = grown;
        c->body_room = room;
    }
    memcpy(c->body + c->body_size, data, size);
    c->body_size += size;
    c->body[c->body_size] = '\0';
    return 0;
}

size_t nm_curl_stop(struct nm_curl *c, int error)
{
    c->error = error;
    return 0;
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
