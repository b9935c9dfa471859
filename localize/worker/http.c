/* SPDX-License-Identifier: Apache-2.0 */

/* See http.h. A client makes one request at a time. */

#include "localize/worker/http.h"

#include <assert.h>
#include <inttypes.h>

#include "util/clock.h"
#include "util/curl.h"
#include "util/error.h"
#include "util/fileio.h"

/* Time limit for connecting to one address. After it the next name node is asked. */
#define CONNECT_MSEC 20000L
#define MAX_REDIRECTS 10L
/* Limit on all headers: curl limits the length of a line, but not the number of lines. */
#define MAX_HEADER_BYTES (64U << 10)
#define MAX_TEXT_BYTES (64U << 10) /* of a refusal */
#define LEAST_BYTES_PER_SEC 1024L /* mean over idle_usec; a server that is slower counts as failed */

struct nm_http {
    struct nm_curl curl; /* the body: a status or a refusal */
    struct curl_slist *body_headers; /* the type that HttpFS demands of a body */
    char *system_ca_file, *system_ca_dir; /* curl's default store; NULL: curl has no default of this kind */
    const struct nm_http_request *request; /* the present request */
    size_t header_bytes;
    uint64_t body_bytes;
    uint64_t most_bytes; /* the limit that was exceeded, for -EFBIG */
};

struct nm_http *nm_http_free(struct nm_http *h)
{
    if (!h)
        return NULL;
    nm_curl_done(&h->curl);
    curl_slist_free_all(h->body_headers);
    free(h->system_ca_file);
    free(h->system_ca_dir);
    free(h);
    return NULL;
}

/* Stops curl from a callback. Stores the exceeded limit for the message, so that the reader knows which limit to
 * raise. */
static size_t too_much(struct nm_http *h, uint64_t most_bytes)
{
    h->most_bytes = most_bytes;
    return nm_curl_stop(&h->curl, -EFBIG);
}

/* Takes the body. curl calls this function only for the last response of a chain of redirects. The text of a refusal is
 * never written to the file. */
static size_t take_body(char *data, size_t unit, size_t n, void *userdata)
{
    struct nm_http *h = userdata;
    size_t size = unit * n; /* curl passes at most 16 KiB */
    uint64_t most_bytes = h->request->most_bytes;
    long status = 0;
    int r;

    (void)curl_easy_getinfo(h->curl.handle, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200)
        most_bytes = NM_MIN(most_bytes, (uint64_t)MAX_TEXT_BYTES);
    if (size > most_bytes - h->body_bytes)
        return too_much(h, most_bytes);
    h->body_bytes += size;
    r = status == 200 && h->request->fd >= 0 ? nm_write_all(h->request->fd, data, size)
                                             : nm_curl_append_body(&h->curl, data, size, (size_t)most_bytes);
    return r < 0 ? nm_curl_stop(&h->curl, r) : size;
}

/* Counts header bytes. The count restarts for each response of a chain of redirects, which begins with a status
 * line. */
static size_t count_header(char *data, size_t unit, size_t n, void *userdata)
{
    struct nm_http *h = userdata;

    if (unit * n >= 5 && memcmp(data, "HTTP/", 5) == 0)
        h->header_bytes = 0;
    h->header_bytes += unit * n;
    return h->header_bytes > MAX_HEADER_BYTES ? too_much(h, MAX_HEADER_BYTES) : unit * n;
}

/* Passes the request's body to curl. */
static size_t give_body(char *buf, size_t unit, size_t n, void *userdata)
{
    struct nm_http *h = userdata;
    ssize_t size = h->request->body->read(h->request->body->userdata, buf, unit * n);

    if (size >= 0)
        return (size_t)size;
    (void)nm_curl_stop(&h->curl, (int)size);
    return CURL_READFUNC_ABORT;
}

/* Begins the body again. curl needs this if the server has closed a connection that curl reuses. */
static int restart_body(void *userdata, curl_off_t offset, int origin)
{
    struct nm_http *h = userdata;

    if (!h->request->body || offset != 0 || origin != SEEK_SET)
        return CURL_SEEKFUNC_CANTSEEK;
    return h->request->body->restart(h->request->body->userdata) < 0 ? CURL_SEEKFUNC_FAIL : CURL_SEEKFUNC_OK;
}

/* Reports progress only for a body that is sent or goes to a file, because an answer that is kept in memory is
 * short. */
static int report_progress(void *userdata, curl_off_t total, curl_off_t now, curl_off_t up_total, curl_off_t up_now)
{
    const struct nm_http *h = userdata;

    (void)up_total;
    if (!h->request->progress)
        return 0;
    if (h->request->body)
        h->request->progress(h->request->userdata, (uint64_t)up_now, 0);
    else if (h->request->fd >= 0)
        h->request->progress(h->request->userdata, (uint64_t)now, (uint64_t)total);
    return 0;
}

/* Saves curl's default certificate store before a request sets another one: the built-in default can't be queried
 * later. */
static int keep_store(struct nm_http *h)
{
    char *file = NULL, *dir = NULL;

    (void)curl_easy_getinfo(h->curl.handle, CURLINFO_CAINFO, &file);
    (void)curl_easy_getinfo(h->curl.handle, CURLINFO_CAPATH, &dir);
    h->system_ca_file = file ? strdup(file) : NULL;
    h->system_ca_dir = dir ? strdup(dir) : NULL;
    return (file && !h->system_ca_file) || (dir && !h->system_ca_dir) ? -ENOMEM : 0;
}

/* Makes a client. Redirects may lead to any host, but not to another scheme, because the resource's own scheme limits
 * what may be read. */
int nm_http_new(const char *agent, struct nm_http **ret)
{
    _cleanup_(nm_http_freep) struct nm_http *h = calloc(1, sizeof *h);
    bool ok;
    int r;

    if (!h)
        return -ENOMEM;
    r = nm_curl_init(&h->curl, agent);
    if (r >= 0)
        r = nm_curl_set_callbacks(&h->curl, take_body, report_progress, h);
    if (r >= 0)
        r = keep_store(h);
    if (r < 0)
        return r;
    h->body_headers = curl_slist_append(NULL, "Content-Type: application/octet-stream");
    if (!h->body_headers)
        return -ENOMEM;
    ok = curl_easy_setopt(h->curl.handle, CURLOPT_MAXREDIRS, MAX_REDIRECTS) == CURLE_OK &&
         curl_easy_setopt(h->curl.handle, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MSEC) == CURLE_OK &&
         curl_easy_setopt(h->curl.handle, CURLOPT_LOW_SPEED_LIMIT, LEAST_BYTES_PER_SEC) == CURLE_OK &&
         curl_easy_setopt(h->curl.handle, CURLOPT_FILETIME, 1L) == CURLE_OK &&
         curl_easy_setopt(h->curl.handle, CURLOPT_READFUNCTION, give_body) == CURLE_OK &&
         curl_easy_setopt(h->curl.handle, CURLOPT_READDATA, h) == CURLE_OK &&
         curl_easy_setopt(h->curl.handle, CURLOPT_SEEKFUNCTION, restart_body) == CURLE_OK &&
         curl_easy_setopt(h->curl.handle, CURLOPT_SEEKDATA, h) == CURLE_OK &&
         curl_easy_setopt(h->curl.handle, CURLOPT_HEADERFUNCTION, count_header) == CURLE_OK &&
         curl_easy_setopt(h->curl.handle, CURLOPT_HEADERDATA, h) == CURLE_OK;
    if (!ok)
        return -ENOTSUP;
    *ret = STEAL_PTR(h);
    return 0;
}

/* Returns false for a server's definite answers, because asking again would only cause load on the server. */
bool nm_http_may_pass(int r)
{
    return r == -ECONNREFUSED || r == -EHOSTUNREACH || r == -ETIMEDOUT || r == -EIO;
}

/* Explains the error because of which a callback has stopped curl. */
static int fail_stopped(const struct nm_http *h, int error, char **ret_message)
{
    if (error == -EFBIG)
        return nm_fail(ret_message, error, "the server sends more than the allowed %" PRIu64 " bytes", h->most_bytes);
    return nm_fail(ret_message, error, "can't %s: %s",
                   h->request->body ? "get the data to be sent" : "store the received data", strerror(-error));
}

/* Sets the method. An upload without bytes has Content-Length: 0, which servers demand of PUT and POST. HTTPGET resets
 * an earlier upload. */
static CURLcode set_method(struct nm_http *h, const struct nm_http_request *request)
{
    CURL *curl = h->curl.handle;
    const bool is_upload = request->method && !nm_streq(request->method, "DELETE");
    CURLcode code = curl_easy_setopt(curl, CURLOPT_HTTPGET, 1L);

    assert(is_upload || !request->body);
    if (code == CURLE_OK && is_upload)
        code = curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
    if (code == CURLE_OK)
        code = curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, (curl_off_t)(request->body ? -1 : 0));
    if (code == CURLE_OK)
        code = curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
    if (code == CURLE_OK)
        code = curl_easy_setopt(curl, CURLOPT_HTTPHEADER, request->body ? h->body_headers : NULL);
    return code;
}

static CURLcode set_store(struct nm_http *h, const char *ca_file)
{
    CURLcode code = curl_easy_setopt(h->curl.handle, CURLOPT_CAINFO, ca_file ?: h->system_ca_file);

    if (code == CURLE_OK)
        code = curl_easy_setopt(h->curl.handle, CURLOPT_CAPATH, ca_file ? NULL : h->system_ca_dir);
    return code;
}

/* Sets up a request. Reuses the curl handle, and therefore the connections to a name node. */
static int begin(struct nm_http *h, const struct nm_http_request *request)
{
    uint64_t left_usec = nm_sub_u64(request->deadline_usec, nm_now_usec());
    CURLcode code;

    h->header_bytes = 0;
    h->body_bytes = 0;
    h->request = request;
    if (left_usec == 0)
        return -ETIMEDOUT;
    code = curl_easy_setopt(h->curl.handle, CURLOPT_TIMEOUT_MS,
                            (long)NM_MIN(left_usec / NM_USEC_PER_MSEC + 1, (uint64_t)INT32_MAX));
    if (code == CURLE_OK)
        code = curl_easy_setopt(h->curl.handle, CURLOPT_LOW_SPEED_TIME,
                                (long)NM_MIN(request->idle_usec / NM_USEC_PER_SEC + 1, (uint64_t)INT32_MAX));
    if (code == CURLE_OK)
        code = curl_easy_setopt(h->curl.handle, CURLOPT_FOLLOWLOCATION, request->returns_redirect ? 0L : 1L);
    if (code == CURLE_OK)
        code = set_method(h, request);
    if (code == CURLE_OK)
        code = set_store(h, request->ca_file);
    return code == CURLE_OK ? 0 : -ENOMEM;
}

int nm_http_perform(struct nm_http *h, const struct nm_http_request *request, struct nm_http_answer *ret,
                    char **ret_message)
{
    struct nm_http_answer answer = {0};
    curl_off_t modified_sec = -1;
    char *location = NULL;
    int r;

    assert(request->url && ret);
    r = begin(h, request);
    if (r < 0)
        return nm_fail(ret_message, r, "%s", r == -ETIMEDOUT ? "the time limit was reached" : strerror(-r));
    r = nm_curl_perform(&h->curl, request->url, ret_message);
    if (r < 0)
        return h->curl.error < 0 ? fail_stopped(h, r, ret_message) : r;
    (void)curl_easy_getinfo(h->curl.handle, CURLINFO_RESPONSE_CODE, &answer.status);
    (void)curl_easy_getinfo(h->curl.handle, CURLINFO_FILETIME_T, &modified_sec);
    (void)curl_easy_getinfo(h->curl.handle, CURLINFO_REDIRECT_URL, &location);
    answer.location = location;
    answer.bytes = h->body_bytes;
    answer.modified_msec = modified_sec > 0 ? (uint64_t)modified_sec * 1000 : 0;
    answer.text = h->curl.body ? h->curl.body : "";
    answer.text_size = h->curl.body_size;
    *ret = answer;
    return 0;
}
