/* SPDX-License-Identifier: Apache-2.0 */

/* See worker.h. curl loads the file only for a TLS connection. This code therefore connects curl to its own socket, and
 * closes the socket as soon as curl has connected. The connection fails, but by then curl has loaded the file. */

#include "localize/worker/worker.h"

#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>

#include "util/curl.h"
#include "util/error.h"

#define MOST_MSEC 3000L
#define TURN_MSEC 100

/* Listens on a loopback port that the kernel chooses. */
static int open_listener(char *url, size_t size)
{
    _cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof in;

    if (fd < 0 || bind(fd, (struct sockaddr *)&in, sizeof in) < 0 || listen(fd, 1) < 0 ||
        getsockname(fd, (struct sockaddr *)&in, &length) < 0)
        return -errno;
    (void)snprintf(url, size, "https://127.0.0.1:%u/", ntohs(in.sin_port));
    return STEAL_FD(fd);
}

static bool set_options(CURL *curl, const char *url, const char *file)
{
    return curl_easy_setopt(curl, CURLOPT_URL, url) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, MOST_MSEC) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_CAPATH, NULL) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_CAINFO, file) == CURLE_OK;
}

/* Makes the connection and returns its result. curl_easy_perform() can't be used, because the other end of the
 * connection is in this process. */
static CURLcode connect_once(CURLM *multi, int listener)
{
    struct curl_waitfd extra = {.fd = listener, .events = CURL_WAIT_POLLIN};
    CURLMsg *message;
    int running = 1, left;

    while (curl_multi_perform(multi, &running) == CURLM_OK && running > 0) {
        const int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

        if (fd >= 0)
            (void)close(fd);
        if (curl_multi_poll(multi, &extra, 1, TURN_MSEC, NULL) != CURLM_OK)
            return CURLE_FAILED_INIT;
    }
    message = curl_multi_info_read(multi, &left);
    return message && message->msg == CURLMSG_DONE ? message->data.result : CURLE_FAILED_INIT;
}

static int load(const char *file, CURLcode *ret)
{
    char url[64];
    _cleanup_close_ int listener = open_listener(url, sizeof url);
    struct nm_curl curl = {};
    CURLM *multi = NULL;
    bool ok;

    if (listener < 0)
        return listener;
    (void)signal(SIGPIPE, SIG_IGN);
    ok = nm_curl_init(&curl, "nm-localizer/" NM_VERSION) == 0 && (multi = curl_multi_init()) &&
         set_options(curl.handle, url, file) && curl_multi_add_handle(multi, curl.handle) == CURLM_OK;
    if (ok) {
        *ret = connect_once(multi, listener);
        (void)curl_multi_remove_handle(multi, curl.handle);
    }
    nm_curl_done(&curl);
    (void)curl_multi_cleanup(multi);
    return ok ? 0 : -ENOTSUP;
}

/* Returns whether curl failed before it loaded the file. */
static bool never_connected(CURLcode code)
{
    return code == CURLE_COULDNT_CONNECT || code == CURLE_OPERATION_TIMEDOUT || code == CURLE_FAILED_INIT ||
           code == CURLE_OUT_OF_MEMORY;
}

int nm_ca_check(const char *file, char **ret_message)
{
    _cleanup_close_ int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    CURLcode code = CURLE_OK;
    int r;

    if (fd < 0)
        return nm_fail(ret_message, -errno, "%s", strerror(errno));
    r = load(file, &code);
    if (r < 0 || never_connected(code))
        return nm_fail(ret_message, -ENOTCONN, "it can't be checked: %s",
                       r < 0 ? strerror(-r) : curl_easy_strerror(code));
    if (code != CURLE_SSL_CACERT_BADFILE)
        return 0; /* the other results occur after the file has been loaded */
    return nm_fail(ret_message, -EBADMSG, "it contains no certificate in PEM format, or a damaged one");
}
