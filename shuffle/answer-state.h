/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The state of an answer that is being made. */

#include "rpc/hadoop/digest.h"
#include "rpc/hadoop/writable.h"
#include "shuffle/request.h"
#include "shuffle/service.h"
#include "shuffle/wait.h"

/* The plan of an answer. A range has very many heads, so they are made twice, NM_SHUFFLE_HEADS_AT_ONCE in a row: first
 * for their length, then to be sent. If the lengths of all maps' parts do not fit into memory, the lengths of a map's
 * parts are looked up again before the map is sent. So a request's memory does not grow with the request's size. */
struct nm_shuffle_plan {
    struct nm_shuffle_output outputs[NM_SHUFFLE_MAPS_MAX];
    unsigned first[NM_SHUFFLE_MAPS_MAX];       /* index of the first map of the same name */
    uint64_t head_bytes[NM_SHUFFLE_MAPS_MAX];  /* sum over all parts of the map */
    uint64_t fingerprint[NM_SHUFFLE_MAPS_MAX]; /* hash of the planned lengths */
    int files[NM_SHUFFLE_MAPS_MAX];            /* open file.out; -EBADF: it will be opened to be sent */
    unsigned n_files;
    struct nm_shuffle_lengths *lengths;        /* n_slots slots, each with an entry per reducer of the request */
    /* map whose lengths are in the slot; NM_SHUFFLE_MAPS_MAX: the slot is empty */
    unsigned n_slots, in_slot[NM_SHUFFLE_MAPS_MAX];
    struct nm_writer heads;
    uint64_t length_bytes;
};

#define NM_SHUFFLE_HEADS_AT_ONCE 64u
/* Bytes that are collected before they are sent. A part of up to NM_SHUFFLE_COPIED_MAX bytes is copied to them. */
#define NM_SHUFFLE_OUT_BYTES (64u << 10)
#define NM_SHUFFLE_COPIED_MAX (16u << 10)

/* The steps of an answer. It is refused in any step before its first byte is sent. */
enum nm_shuffle_phase {
    NM_SHUFFLE_PHASE_BEGIN,
    NM_SHUFFLE_PHASE_PLAN,
    NM_SHUFFLE_PHASE_MAP, /* opens the next map */
    NM_SHUFFLE_PHASE_HEADS,
    NM_SHUFFLE_PHASE_PART,
    NM_SHUFFLE_PHASE_END, /* sends the rest of the collected bytes */
    NM_SHUFFLE_PHASE_DONE,
};

struct nm_shuffle_answer {
    struct nm_shuffle_service *service;
    int fd;
    unsigned slot;
    struct nm_bytes head;
    struct nm_shuffle_job job;         /* without its key */
    struct nm_shuffle_request request; /* points into head and decoded */
    char reply_hash[NM_DIGEST_TEXT_SIZE];
    enum nm_shuffle_phase phase;
    bool is_refused;
    unsigned map;                      /* map that the current step is for */
    uint64_t deadline_usec;            /* time until which the answer must have been sent */
    uint64_t stalled_usec;             /* time until which the reducer must have read something */
    struct nm_shuffle_wait wait;       /* after NM_SHUFFLE_E_WAIT */

    /* what is paid: the current step, and the bytes of indexes that its lookup checks */
    bool is_paid;
    uint64_t checked_bytes, paid_check_bytes;

    /* the map that is sent */
    int file;           /* file.out, if the plan has not kept it open */
    uint32_t reducer;   /* reducer whose head is next */
    off_t at, paid_to;  /* next byte of the file, and end of the bytes that are paid */
    bool reads_disk; /* the part is read ahead from the disk, and removed from the page cache after it was sent */

    struct nm_shuffle_job_dirs job_dirs; /* open during a turn */
    struct nm_shuffle_plan plan;
    size_t out_sent, out_size; /* bytes of `out` that are sent, and its length */
    uint8_t out[NM_SHUFFLE_OUT_BYTES];
    uint8_t decoded[NM_SHUFFLE_HEAD_MAX];
};

static inline bool nm_shuffle_answer_is_sending(const struct nm_shuffle_answer *a)
{
    return a->phase >= NM_SHUFFLE_PHASE_MAP && a->phase <= NM_SHUFFLE_PHASE_END && !a->is_refused;
}
