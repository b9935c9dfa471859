/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sends answers, each a frame and a part of a file. Answers are collected, so that several small ones are sent in full
 * packets. Nothing here waits: a function that cannot continue returns NM_SHUFFLE_E_WAIT with what to wait for.
 */

#include "shuffle/wait.h"
#include "spark/service.h"

/* A client counts as stalled if the sender has bytes for it and the client reads none for this time. */
#define NM_SPARK_STALLED_USEC (10 * NM_USEC_PER_SEC)

struct nm_spark_sender {
    struct nm_spark_service *service;
    int fd;
    const char *app;           /* application that pays; empty: unknown, and the host pays */
    uint64_t host;
    uint64_t booked_usec;      /* work that was booked; the owner of the connection resets it */
    struct nm_spark_usage done; /* what was sent; the owner resets it, too */
    bool is_stalled;           /* the client has read no byte for NM_SPARK_STALLED_USEC */
    struct nm_spark_cipher *cipher; /* NULL: what is sent is not encrypted */
    struct nm_writer out;      /* collected bytes */
    struct nm_writer wire;     /* encrypted bytes, if there is a cipher */
    size_t sent;               /* bytes of the last of these two that are sent */
    struct nm_spark_part part; /* that is being sent */
    bool has_part;
    bool is_new;               /* nm_spark_sender_continue() begins with an answer */
    uint64_t at, paid_to;      /* next byte of the part's file, and the end of the bytes that are paid */
    bool is_paid;              /* the answer is paid that will be made next */
    uint64_t part_deadline_usec;
    uint64_t moved_usec;       /* when the client has last read */
    struct nm_shuffle_wait wait;
};

void nm_spark_sender_init(struct nm_spark_sender *s, struct nm_spark_service *service, int fd, const char *app,
                          uint64_t host);
void nm_spark_sender_done(struct nm_spark_sender *s);

/* Encrypts all bytes after those that are collected. The cipher must exist as long as the sender. Returns 0 or
 * -ENOMEM. */
int nm_spark_sender_encrypt(struct nm_spark_sender *s, struct nm_spark_cipher *cipher);
/* Pays for an answer before it is made: so many bytes are parsed, at most two files are opened, and a small part is
 * sent. extra_usec: for other work. Returns 0, NM_SHUFFLE_E_WAIT, -ECONNRESET if the application has ended, or -EBUSY
 * if the host, without an application, has used too much time. */
int nm_spark_sender_pay(struct nm_spark_sender *s, uint64_t bytes, uint64_t extra_usec, uint64_t now_usec);
/* Books the reading of so many bytes of an index (struct nm_spark_account). The next answer waits for it. Returns
 * whether it is booked. */
bool nm_spark_sender_pay_index(struct nm_spark_sender *s, uint64_t bytes);
/* Begins to send the part of a file after the collected bytes, and takes it over. */
void nm_spark_sender_begin(struct nm_spark_sender *s, const struct nm_spark_part *part);
/* Gives the part that is being sent a descriptor of its own, because the client must read first. */
void nm_spark_sender_own(struct nm_spark_sender *s);
/* Continues. Returns 0 if the whole part was sent or collected, NM_SHUFFLE_E_WAIT, NM_SHUFFLE_E_TURN if the other
 * connections should run first, or -errno. */
int nm_spark_sender_continue(struct nm_spark_sender *s, uint64_t end_usec);
/* Returns whether the collected bytes must be sent before another answer is made. */
bool nm_spark_sender_is_full(const struct nm_spark_sender *s);
/* Returns the memory of collected bytes. */
uint64_t nm_spark_sender_memory(const struct nm_spark_sender *s);
/* Sends the collected bytes. Returns 0, NM_SHUFFLE_E_WAIT or -errno. */
int nm_spark_sender_flush(struct nm_spark_sender *s, bool more);
/* Frees memory that is kept for further bytes. */
void nm_spark_sender_trim(struct nm_spark_sender *s);
