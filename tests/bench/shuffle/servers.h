/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The servers that a benchmark compares. Each prints {"listening": PORT} when it serves, and exits at the end of its
 * standard input. Errors end the program. */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct bench_server {
    int control[2]; /* its standard input and output */
    uint16_t port;
    pid_t pid;
};

void start_server(struct bench_server *s, char *const argv[]);
/* Starts a command of the shell, which must begin with exec: the process of the server is then that of the shell. */
void start_server_command(struct bench_server *s, const char *command);
/* Sends a line to a server of nmd, which must accept it. */
void command_server(const struct bench_server *s, const char *line, size_t size);
void stop_server(struct bench_server *s);
