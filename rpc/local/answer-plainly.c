/* SPDX-License-Identifier: Apache-2.0 */

#include "rpc/local/answer-plainly.h"

#include <assert.h>
#include <stdio.h>
#include <sys/socket.h>

void nm_answer_plainly(int fd, const char *status, const char *code, const char *thing, const char *message)
{
    char body[320], answer[512];
    int n = snprintf(body, sizeof body,
                     "{\"error\":{\"code\":\"%s\",\"thing\":\"%s\",\"value\":\"\",\"message\":\"%s\"}}"
                     "\n",
                     code, thing, message);

    assert((size_t)n < sizeof body);
    n = snprintf(answer, sizeof answer,
                 "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"
                 "Connection: close\r\n\r\n%s",
                 status, n, body);
    assert((size_t)n < sizeof answer);
    (void)send(fd, answer, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void nm_answer_busy(int fd)
{
    nm_answer_plainly(fd, "503 Service Unavailable", "unavailable", "connection",
                      "Too many clients are connected to nmd at the moment; try again.");
    (void)shutdown(fd, SHUT_WR);
}
