/* SPDX-License-Identifier: Apache-2.0 */

/* See servers.h. */

#include "tests/bench/shuffle/servers.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/shuffle/load.h"
#include "util/fileio.h"
#include "util/macros.h"

/* Reads up to the end of the first line, which the JVM writes in several pieces. */
static void read_line(int fd, char *ret, size_t size)
{
    size_t len = 0;
    ssize_t n;

    do {
        n = read(fd, ret + len, size - 1 - len);
        len += (size_t)NM_MAX(n, 0);
        ret[len] = '\0';
    } while (n > 0 && len < size - 1 && !strchr(ret, '\n'));
}

void start_server(struct bench_server *s, char *const argv[])
{
    int in[2], out[2];
    char text[200];
    unsigned port;

    if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 || (s->pid = fork()) < 0)
        die(argv[0]);
    if (s->pid == 0) {
        if (dup2(in[0], STDIN_FILENO) >= 0 && dup2(out[1], STDOUT_FILENO) >= 0)
            (void)execvp(argv[0], argv);
        perror(argv[0]);
        _exit(127);
    }
    (void)close(in[0]);
    (void)close(out[1]);
    s->control[0] = in[1];
    s->control[1] = out[0];
    read_line(out[0], text, sizeof text);
    if (sscanf(text, "{\"listening\": %u}", &port) != 1)
        die("a server does not listen");
    s->port = (uint16_t)port;
}

void start_server_command(struct bench_server *s, const char *command)
{
    start_server(s, (char *[]){(char *)"sh", (char *)"-c", (char *)command, NULL});
}

void command_server(const struct bench_server *s, const char *line, size_t size)
{
    char answer[300];

    if (nm_write_all(s->control[0], line, size) < 0)
        die("a server has ended");
    read_line(s->control[1], answer, sizeof answer);
    if (strncmp(answer, "{\"ok\"", 5) != 0) {
        fprintf(stderr, "the server refused %.*s%s", (int)size, line, answer);
        die("it can't be measured");
    }
}

void stop_server(struct bench_server *s)
{
    (void)close(s->control[0]);
    (void)waitpid(s->pid, NULL, 0);
    (void)close(s->control[1]);
}
