/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * An HTTP server in a separate process, on a loopback port that the kernel chooses. The server looks up the beginning
 * of a request's first line in a table, sends the bytes of that row, and closes. Needs cmocka and _GNU_SOURCE.
 */

#include <arpa/inet.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "util/fileio.h"
#include "util/macros.h"

enum canned_after {
    CANNED_CLOSE,
    CANNED_HANG,    /* sends no more bytes, and keeps the connection open */
    CANNED_ENDLESS, /* repeats the last 1024 bytes of the answer without end */
};

#define CANNED_MAX 80 /* rows of a table, including the last, empty one */

struct canned {
    const char *request; /* beginning of the first line, such as "GET /a" */
    const char *answer;
    enum canned_after after;
};

struct canned_server {
    pid_t pid;
    unsigned port;
};

/* Reads the head of a request. The tests send no body. */
static inline void canned_read(int fd, char *buf, size_t size)
{
    size_t len = 0;

    for (ssize_t n; len < size - 1 && (n = read(fd, buf + len, size - 1 - len)) > 0;) {
        len += (size_t)n;
        buf[len] = '\0';
        if (strstr(buf, "\r\n\r\n"))
            break;
    }
    buf[len] = '\0';
}

static inline void canned_answer(int fd, const struct canned *table)
{
    char request[8192];
    size_t len;

    canned_read(fd, request, sizeof request);
    while (table->request && strncmp(request, table->request, strlen(table->request)) != 0)
        table++;
    if (!table->request)
        return;
    len = strlen(table->answer);
    (void)nm_write_all(fd, table->answer, len);
    while (table->after == CANNED_ENDLESS && nm_write_all(fd, table->answer + len - 1024, 1024) == 0)
        ;
    if (table->after == CANNED_HANG)
        (void)read(fd, request, 1);
}

/* Serves each connection in a separate process, so that a connection that hangs does not block the others. */
static inline _Noreturn void canned_serve(int listening, const struct canned *table)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGCHLD, SIG_IGN);
    for (;;) {
        int fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC);

        if (fd >= 0 && fork() == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
            canned_answer(fd, table);
            _exit(0);
        }
        (void)nm_close(fd);
    }
}

/* Starts the server. make() fills the table, whose last row has a NULL request. make() gets the port, so that rows can
 * contain the port. */
static inline struct canned_server canned_start(void (*make)(unsigned port, struct canned *table))
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct canned_server s;

    assert_true(fd >= 0 && bind(fd, (struct sockaddr *)&a, size) == 0 && listen(fd, 16) == 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &size), 0);
    s.port = ntohs(a.sin_port);
    s.pid = fork();
    assert_true(s.pid >= 0);
    if (s.pid == 0) {
        struct canned table[CANNED_MAX] = {{0}};

        make(s.port, table);
        canned_serve(fd, table);
    }
    (void)close(fd);
    return s;
}

static inline void canned_stop(struct canned_server *s)
{
    (void)kill(s->pid, SIGKILL);
    (void)waitpid(s->pid, NULL, 0);
}
