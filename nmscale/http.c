/* SPDX-License-Identifier: Apache-2.0 */

/* See http.h. */

#include "nmscale/http.h"

#include "util/curl.h"
#include "util/error.h"

struct nm_scale_http {
    struct nm_curl curl;
    const volatile bool *stop;
    size_t most;
};

struct nm_scale_http *nm_scale_http_free(struct nm_scale_http *h)
{
    if (!h)
        return NULL;
    nm_curl_done(&h->curl);
    free(h);
    return NULL;
}

void nm_scale_http_set_stop(struct nm_scale_http *h, const volatile bool *stop)
{
    h->stop = stop;
}

/* Takes a piece of the body. */
static size_t take(char *data, size_t unit, size_t n, void *userdata)
{
    struct nm_scale_http *h = userdata;
    size_t size = unit * n; /* curl passes at most 16 KiB */
    int r = nm_curl_append_body(&h->curl, data, size, h->most);

    return r < 0 ? nm_curl_stop(&h->curl, r) : size;
}

/* Checks whether nmscale is to stop. curl calls this function about once a second while no data arrives, so that Ctrl-C
 * doesn't have to wait for the time-out. */
static int check_stop(void *userdata, curl_off_t down, curl_off_t down_now, curl_off_t up, curl_off_t up_now)
{
    const struct nm_scale_http *h = userdata;

    (void)down, (void)down_now, (void)up, (void)up_now;
    return h->stop && *h->stop;
}

/* Makes a client with one handle for all requests, which reuses the connection: a poll with 2,000 applications takes
 * 4,000 requests. Redirects aren't followed: a redirect from a standby ResourceManager is reported. */
int nm_scale_http_new(uint64_t timeout_usec, const volatile bool *stop, struct nm_scale_http **ret)
{
    _cleanup_(nm_scale_http_freep) struct nm_scale_http *h = calloc(1, sizeof *h);
    long msec = (long)NM_MIN(timeout_usec / NM_USEC_PER_MSEC + 1, (uint64_t)INT32_MAX);
    int r;

    if (!h)
        return -ENOMEM;
    h->stop = stop;
    r = nm_curl_init(&h->curl, "nmscale/" NM_VERSION);
    if (r >= 0)
        r = nm_curl_set_callbacks(&h->curl, take, check_stop, h);
    if (r < 0)
        return r;
    if (curl_easy_setopt(h->curl.handle, CURLOPT_TIMEOUT_MS, msec) != CURLE_OK)
        return -ENOTSUP;
    *ret = STEAL_PTR(h);
    return 0;
}

/* Reports a redirect. A standby ResourceManager redirects to the active one, or sends no target if it doesn't know the
 * active one. */
static int sent_elsewhere(struct nm_scale_http *h, long status, char **ret_location, char **ret_message)
{
    char *to = NULL;

    *ret_location = NULL;
    if (curl_easy_getinfo(h->curl.handle, CURLINFO_REDIRECT_URL, &to) == CURLE_OK && to) {
        *ret_location = strdup(to);
        if (!*ret_location)
            return -ENOMEM;
    }
    return nm_fail(ret_message, -ELOOP, "HTTP %ld: redirected %s%s", status, to ? "to " : "elsewhere", to ? to : "");
}

int nm_scale_http_get(struct nm_scale_http *h, const char *url, size_t most, char **ret_body, size_t *ret_size,
                      char **ret_location, char **ret_message)
{
    long status = 0;
    int r;

    h->most = most;
    r = nm_curl_perform(&h->curl, url, ret_message);
    if (r == -EFBIG)
        return nm_fail(ret_message, -E2BIG, "the answer is larger than %zu MiB", most >> 20);
    if (r < 0)
        return r;
    (void)curl_easy_getinfo(h->curl.handle, CURLINFO_RESPONSE_CODE, &status);
    if (status >= 300 && status < 400)
        return sent_elsewhere(h, status, ret_location, ret_message);
    if (status != 200)
        return nm_fail(ret_message, -EREMOTEIO, "HTTP %ld%s", status,
                       status == 401 || status == 403
                           ? ": it requires authentication, which nmscale does not support" : "");
    /* curl doesn't call take() for an empty body. */
    if (!h->curl.body && !(h->curl.body = strdup("")))
        return -ENOMEM;
    *ret_size = h->curl.body_size;
    *ret_body = STEAL_PTR(h->curl.body);
    return 0;
}
