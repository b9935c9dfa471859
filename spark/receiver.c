/* SPDX-License-Identifier: Apache-2.0 */

/* See receiver.h. */

#include "spark/receiver.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "util/clock.h"
#include "util/macros.h"

/* Time without a frame after which a connection ends, if the operator has set no time. Clients close theirs after
 * spark.network.timeout, 120 s. */
#define IDLE_USEC (240 * NM_USEC_PER_SEC)
/* Time for a frame that has begun, and until a connection must belong to an application: other clients need its slot.
 * And the least bytes per second of a large frame. */
#define FRAME_USEC (20 * NM_USEC_PER_SEC)
#define SLOWEST_BYTES_PER_SEC 65536u
#define LARGE_FIRST_BYTES (64u << 10)
#define WIRE_BYTES (16u << 10) /* encrypted bytes that are received at once */

/* Returns the time for a frame that has begun, and for the first frame. */
static uint64_t frame_usec(const struct nm_spark_receiver *r)
{
    return NM_MIN(r->service->limits.timeout_usec ?: FRAME_USEC, FRAME_USEC);
}

void nm_spark_receiver_init(struct nm_spark_receiver *r, struct nm_spark_service *service, int fd,
                            const struct nm_spark_application *application, uint64_t host)
{
    const uint64_t now_usec = nm_now_usec();

    r->service = service;
    r->fd = fd;
    r->application = application;
    r->host = host;
    r->is_known = false;
    r->guest_deadline_usec = now_usec + frame_usec(r);
    r->cipher = NULL;
    r->plain = (struct nm_writer){};
    r->plain_used = 0;
    r->deadline_usec = now_usec + frame_usec(r); /* the first frame */
    r->skipped_bytes = 0;
    r->at = r->end = r->in_use = 0;
    r->large = NULL;
    r->large_room = 0;
}

/* A frame is received and answered before its connection gets an application. */
static int take(struct nm_spark_receiver *r, uint64_t bytes)
{
    return r->is_known ? nm_spark_memory_take(r->service->memory, r->application->uid, r->application->id, bytes)
                       : nm_spark_guests_take(r->service->guests, r->host, bytes);
}

static void give(struct nm_spark_receiver *r, uint64_t bytes)
{
    if (r->is_known)
        nm_spark_memory_give(r->service->memory, r->application->uid, r->application->id, bytes);
    else
        nm_spark_guests_give(r->service->guests, r->host, bytes);
}

static void release(struct nm_spark_receiver *r)
{
    free(r->large);
    r->large = NULL;
    give(r, r->large_room);
    r->large_room = 0;
}

uint64_t nm_spark_receiver_memory(const struct nm_spark_receiver *r)
{
    return r->plain.room + nm_spark_cipher_memory(r->cipher);
}

/* Sets the time until which a frame must have arrived. */
static void set_deadline(struct nm_spark_receiver *r, uint64_t deadline_usec)
{
    r->deadline_usec = r->is_known ? deadline_usec : NM_MIN(deadline_usec, r->guest_deadline_usec);
}

void nm_spark_receiver_done(struct nm_spark_receiver *r)
{
    release(r);
    nm_writer_done(&r->plain);
}

/* ---- bytes -------------------------------------------------------------------------------- */

/* Receives at most `size` bytes from the socket without decrypting them. Returns the number of bytes, 0 if no byte has
 * arrived yet, or -errno. */
static ssize_t receive_wire(struct nm_spark_receiver *r, void *to, size_t size)
{
    ssize_t n;

    do
        n = recv(r->fd, to, size, MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n > 0)
        return n;
    if (n == 0)
        return -ECONNRESET;
    if (errno != EAGAIN)
        return -errno;
    if (r->deadline_usec == 0)
        nm_spark_receiver_restart(r);
    return nm_now_usec() < r->deadline_usec ? 0 : -ETIMEDOUT;
}

/* Does the same with a connection that may be encrypted. */
static ssize_t receive(struct nm_spark_receiver *r, void *to, size_t size)
{
    uint8_t wire[WIRE_BYTES];
    ssize_t n;
    int result;

    if (!r->cipher)
        return receive_wire(r, to, size);
    while (r->plain_used == r->plain.size) {
        nm_writer_done(&r->plain);
        r->plain_used = 0;
        if ((n = receive_wire(r, wire, sizeof wire)) <= 0)
            return n;
        result = nm_spark_cipher_open(r->cipher, (struct nm_bytes){wire, (size_t)n}, &r->plain);
        if (result < 0)
            return result;
    }
    size = NM_MIN(size, r->plain.size - r->plain_used);
    (void)memcpy(to, r->plain.data + r->plain_used, size);
    r->plain_used += size;
    return (ssize_t)size;
}

/* Receives bytes behind those in `in`, which has room for them after they were moved to its start. */
static ssize_t receive_in(struct nm_spark_receiver *r)
{
    const bool was_empty = r->at == r->end;
    ssize_t n;

    if (r->at > 0) {
        memmove(r->in, r->in + r->at, r->end - r->at);
        r->end -= r->at;
        r->at = 0;
    }
    n = receive(r, r->in + r->end, sizeof r->in - r->end);
    if (n > 0)
        r->end += (size_t)n;
    if (n > 0 && was_empty)
        set_deadline(r, nm_now_usec() + frame_usec(r));
    return n;
}

/* Discards bytes. Returns 1 if all are discarded. */
static int skip(struct nm_spark_receiver *r)
{
    while (r->skipped_bytes > 0) {
        size_t n = (size_t)NM_MIN((uint64_t)(r->end - r->at), r->skipped_bytes);
        ssize_t received;

        r->at += n;
        r->skipped_bytes -= n;
        if (r->skipped_bytes > 0 && (received = receive_in(r)) <= 0)
            return (int)received;
    }
    return 1;
}

/* ---- large frames ------------------------------------------------------------------------- */

/* Reserves memory as bytes arrive, so that a client that only announces a large frame does not get it. */
static int grow(struct nm_spark_receiver *r)
{
    const uint64_t room = NM_MIN(NM_MAX(2 * r->large_room, (uint64_t)LARGE_FIRST_BYTES), r->large_size);
    const uint64_t more = room - r->large_room;
    uint8_t *large;

    if (take(r, more) < 0)
        return -ENOBUFS;
    large = realloc(r->large, room);
    if (!large) {
        give(r, more);
        return -ENOMEM;
    }
    r->large = large;
    r->large_room = room;
    return 0;
}

/* Begins with what `in` has of the frame. */
static int begin_large(struct nm_spark_receiver *r, uint64_t size)
{
    int result;

    r->large_size = size;
    r->large_received = 0;
    if ((result = grow(r)) < 0)
        return result;
    r->large_received = r->end - r->at;
    (void)memcpy(r->large, r->in + r->at, r->large_received);
    r->at = r->end = 0;
    r->deadline_usec = nm_now_usec() + FRAME_USEC + size / SLOWEST_BYTES_PER_SEC * NM_USEC_PER_SEC;
    return 0;
}

static int receive_large(struct nm_spark_receiver *r, struct nm_bytes *ret)
{
    while (r->large_received < r->large_size) {
        ssize_t n;
        int result;

        if (r->large_received == r->large_room && (result = grow(r)) < 0)
            return result;
        n = receive(r, r->large + r->large_received, r->large_room - r->large_received);
        if (n <= 0)
            return (int)n;
        r->large_received += (uint64_t)n;
    }
    *ret = (struct nm_bytes){r->large, r->large_size};
    return 1;
}

/* ---- frames ------------------------------------------------------------------------------- */

/* Returns the size of the frame that begins in `in`, 0 if it is not known yet, -EBADMSG or -EMSGSIZE. */
static int64_t size_of_frame(const struct nm_spark_receiver *r)
{
    uint64_t size;

    if (r->end - r->at < NM_SPARK_FRAME_SIZE_BYTES)
        return 0;
    size = nm_spark_frame_size(r->in + r->at);
    if (size == 0)
        return -EBADMSG;
    return size > (r->is_known || !r->service->auth.is_required ? NM_SPARK_FRAME_MAX
                                                                : NM_SPARK_UNAUTHENTICATED_FRAME_MAX)
               ? -EMSGSIZE
               : (int64_t)size;
}

int nm_spark_receiver_frame(struct nm_spark_receiver *r, struct nm_bytes *ret)
{
    int result = skip(r);

    if (result <= 0)
        return result;
    while (!r->large) {
        const int64_t size = size_of_frame(r);
        ssize_t n;

        if (size < 0)
            return (int)size;
        if (size > 0 && (uint64_t)size <= r->end - r->at) {
            r->in_use = (size_t)size;
            *ret = (struct nm_bytes){r->in + r->at, r->in_use};
            return 1;
        }
        if (size > (int64_t)sizeof r->in) {
            if ((result = begin_large(r, (uint64_t)size)) < 0)
                return result;
        } else if ((n = receive_in(r)) <= 0) {
            return (int)n;
        }
    }
    return receive_large(r, ret);
}

int nm_spark_receiver_encrypt(struct nm_spark_receiver *r, struct nm_spark_cipher *cipher)
{
    const size_t from = r->at + r->in_use;
    const struct nm_bytes wire = {r->in + from, r->end - from};

    r->cipher = cipher;
    r->end = from;
    return nm_spark_cipher_open(cipher, wire, &r->plain);
}

void nm_spark_receiver_next(struct nm_spark_receiver *r, uint64_t skipped_bytes)
{
    release(r);
    r->at += r->in_use;
    r->in_use = 0;
    r->skipped_bytes = skipped_bytes;
    r->deadline_usec = 0;
}

void nm_spark_receiver_restart(struct nm_spark_receiver *r)
{
    const uint64_t idle_usec = r->service->limits.timeout_usec ?: IDLE_USEC;
    const bool has_begun = r->at < r->end || r->plain_used < r->plain.size || r->skipped_bytes > 0;

    set_deadline(r, nm_now_usec() + (has_begun || !r->is_known ? frame_usec(r) : idle_usec));
}
