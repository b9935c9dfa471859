/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Runs the nmctl program ($NMCTL, or nmctl/nmctl here) for tests, against a fake nmd with canned replies. Any failure
 * fails the test. */

#include <stdio.h>
#include <sys/types.h>

#include "fake-nmd.h"

#define NMCTL_DEADLINE_USEC (30 * NM_USEC_PER_SEC)

#define OK(body) "HTTP/1.1 200 OK\r\n\r\n" body
#define CREATED(body) "HTTP/1.1 201 Created\r\n\r\n" body
#define ID "container_1763769112_000001"
#define RUNNING RUNNING_AS(ID)
#define RUNNING_AS(id)                                                                             \
    "{\"id\":\"" id "\",\"name\":\"web\",\"execution_type\":\"GUARANTEED\",\"state\":\"RUNNING\"," \
    "\"memory_bytes\":536870912,\"vcores\":0.5,\"cpu_request_millicores\":1000,\"memory_used_bytes\":104857600," \
    "\"cpu_used_millicores\":250,"                                                                  \
    "\"submitted_usec\":1763769112000000,\"started_usec\":1763769112000000,\"finished_usec\":"     \
    "null,\"exit_code\":null,"                                                                     \
    "\"exit_reason\":null,\"command\":[\"sh\",\"-c\",\"echo \\u001b[31mred\"]}"
#define QUEUED \
    "{\"id\":\"" ID "\",\"state\":\"SCHEDULED\",\"state_text\":\"QUEUED\",\"queue_position\":2,\"hold\":\"over-alpha\"}"
/* ENDED() is the reply of an older nmd, whose state_text is empty. ENDED_AS() is the reply of an nmd with a
 * state_text. */
#define ENDED(code, reason) ENDED_AS(code, reason, "")
#define ENDED_AS(code, reason, text)                                                                \
    "{\"id\":\"" ID "\",\"state\":\"COMPLETED\",\"state_text\":\"" text "\",\"exit_code\":" code                       \
    ",\"exit_reason\":\"" reason "\",\"message\":null}"
#define REFUSED(status, message)                                                                   \
    "HTTP/1.1 " status " Refused\r\n\r\n{\"error\":{\"code\":\"x\",\"thing\":\"y\",\"value\":"     \
                       "\"z\",\"message\":\"" message "\"}}"

struct nmctl_result {
    int status;
    char out[16384], err[16384];
};

struct nmctl_started {
    pid_t pid;
    FILE *out, *err;
};

void nmctl_start(struct nmctl_started *s, const char *const *argv);
/* Waits until nmctl has ended. */
void nmctl_finish(struct nmctl_started *s, struct nmctl_result *ret);
/* Waits until nmctl has printed the text. */
void nmctl_await(FILE *f, const char *text);

#define RUN(ret, ...) nmctl_run(ret, (const char *const[]){"nmctl", __VA_ARGS__, NULL})
void nmctl_run(struct nmctl_result *ret, const char *const *argv);
/* Asserts that `part` is in `text`. */
void nmctl_expect(const char *text, const char *part);
/* Starts a fake nmd, and sets NMD_SOCKET to its socket. */
void nmctl_serve(struct fake_nmd *f, const struct fake_exchange *x, size_t n);
