/* SPDX-License-Identifier: Apache-2.0 */

/* See load.h. */

#include "tests/bench/shuffle/load.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <zlib.h>

#include "rpc/hadoop/digest.h"
#include "shuffle/request.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/fileio.h"
#include "util/macros.h"

#define KEY "8letters"

void die(const char *what)
{
    perror(what);
    exit(1);
}

/* ---- outputs of maps ------------------------------------------------------------------------- */

static void attempt_of(unsigned job, unsigned map, char ret[64])
{
    (void)snprintf(ret, 64, "attempt_1_%04u_m_%06u_0", job, map);
}

void path_of(const char *dir, unsigned job, unsigned map, const char *name, char ret[PATH_MAX])
{
    char attempt[64];

    attempt_of(job, map, attempt);
    (void)snprintf(ret, PATH_MAX, "%s/usercache/bench/appcache/application_1_%04u/output/%s%s%s", dir, job, attempt,
                   *name ? "/" : "", name);
}

static void write_file(const char *path, const void *data, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);

    if (fd < 0 || nm_write_all(fd, data, size) < 0 || close(fd) < 0)
        die(path);
}

/* Writes an index of which the first n parts have this length, and the others are empty. */
static void write_index(const char *path, unsigned n, uint64_t part_bytes)
{
    static uint64_t index[3 * REDUCERS + 1];

    for (unsigned i = 0; i < REDUCERS; i++) {
        index[3 * i] = htobe64(NM_MIN(i, n) * part_bytes);
        index[3 * i + 1] = index[3 * i + 2] = htobe64(i < n ? part_bytes : 0);
    }
    index[3 * REDUCERS] = htobe64(crc32(0, (const Bytef *)index, sizeof index - 8));
    write_file(path, index, sizeof index);
}

void write_output(const char *dir, unsigned job, unsigned map, unsigned n, uint64_t part_bytes)
{
    char path[PATH_MAX], *data = malloc(n * part_bytes);

    if (!data)
        die("malloc");
    for (uint64_t i = 0; i < n * part_bytes; i++)
        data[i] = (char)(i * 31 + map);
    path_of(dir, job, map, "", path);
    if (nm_mkdir_p(path, 0755) < 0)
        die(path);
    path_of(dir, job, map, "file.out", path);
    write_file(path, data, n * part_bytes);
    path_of(dir, job, map, "file.out.index", path);
    write_index(path, n, part_bytes);
    free(data);
}

/* ---- the client ------------------------------------------------------------------------------ */

int dial(uint16_t port)
{
    const struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || connect(fd, (const struct sockaddr *)&to, sizeof to) < 0)
        die("connect");
    return fd;
}

/* Discards bytes in the kernel, so that the client takes little of the CPU that the server needs. */
void discard(int fd, uint64_t bytes)
{
    while (bytes > 0) {
        ssize_t n = recv(fd, NULL, NM_MIN(bytes, (uint64_t)1 << 20), MSG_TRUNC);

        if (n <= 0)
            die("the connection broke");
        bytes -= (uint64_t)n;
    }
}

/* Fetches the parts of one reducer. Returns the length of the answer's body. */
uint64_t fetch(uint16_t port, int fd, unsigned job, unsigned reduce, unsigned first_map, unsigned n_maps)
{
    char target[4096], text[8192], hash[NM_DIGEST_TEXT_SIZE], attempt[64], *end = NULL, *length;
    int n = snprintf(target, sizeof target, "/mapOutput?job=job_1_%04u&reduce=%u&keepAlive=true&map=", job, reduce);
    uint8_t digest[NM_DIGEST_SIZE];
    size_t size = 0;
    uint64_t body;

    for (unsigned i = 0; i < n_maps; i++) {
        attempt_of(job, first_map + i, attempt);
        n += snprintf(target + n, sizeof target - (size_t)n, "%s%s", i > 0 ? "," : "", attempt);
    }
    n = snprintf(text, sizeof text, "%u%s", port, target);
    (void)nm_digest_hmac((const uint8_t *)KEY, strlen(KEY), (const uint8_t *)text, (size_t)n, digest);
    nm_digest_text(digest, hash);
    n = snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nname: mapreduce\r\nversion: 1.0.0\r\nUrlHash: %s\r\n\r\n",
                 target, hash);
    if (nm_write_all(fd, text, (size_t)n) < 0)
        die("send");
    while (!end) {
        ssize_t got = recv(fd, text + size, sizeof text - 1 - size, 0);

        if (got <= 0)
            die("the connection broke");
        size += (size_t)got;
        text[size] = '\0';
        end = strstr(text, "\r\n\r\n");
    }
    length = strcasestr(text, "Content-Length: "); /* Hadoop's handler writes it in lower case */
    if (strncmp(text, "HTTP/1.1 200", 12) != 0 || !length) {
        fprintf(stderr, "the server does not send the parts: %s\n", text);
        exit(1);
    }
    body = strtoull(length + strlen("Content-Length: "), NULL, 10);
    discard(fd, body - (size - (size_t)(end + 4 - text)));
    return body;
}

uint64_t cpu_of(pid_t pid)
{
    clockid_t clock;

    return clock_getcpuclockid(pid, &clock) == 0 ? nm_clock_usec(clock) : 0;
}
