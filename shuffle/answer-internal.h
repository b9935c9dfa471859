/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* An answer that is being made, for the files that make it: answer-plan.c finds the maps, answer-send.c sends them, and
 * answer-pay.c charges both to the job. */

#include "rpc/hadoop/digest.h"
#include "rpc/hadoop/writable.h"
#include "shuffle/answer.h"

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
    struct nm_shuffle_wait wait;       /* after NM_SHUFFLE_E_WAIT */

    /* what is paid: the current step, and the bytes of indexes that its lookup checks */
    bool is_paid;
    uint64_t checked_bytes, paid_check_bytes;

    /* the map that is sent */
    int file;           /* file.out, if the plan has not kept it open */
    uint32_t reducer;   /* reducer whose head is next */
    off_t at, paid_to;  /* next byte of the file, and end of the bytes that are paid */
    bool drops_cache;

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

/* ---- answer-pay.c ------------------------------------------------------------------------------ */

/* Prices that a job's account is charged. For a request: its head of up to 16 KiB is parsed and signed. For each name,
 * even if repeated: it is compared with the names before it, and its file is opened, sent and closed. For each map: its
 * files are opened in each directory, and each MB of its index is checked (zlib's crc32() processes some 1,700 MB per
 * second); reading the records of a range costs the same. For each part of a range: its head is made twice and sent,
 * which takes some 0.2 us. For each MiB sent: at this price a job may fetch 2.5 GB per second. */
#define NM_SHUFFLE_REQUEST_PRICE_USEC 40u
#define NM_SHUFFLE_NAME_PRICE_USEC 5u
#define NM_SHUFFLE_LOOKUP_PRICE_USEC 5u
#define NM_SHUFFLE_PART_PRICE_USEC 1u
#define NM_SHUFFLE_CHECK_PRICE_USEC_PER_MB 1000u
#define NM_SHUFFLE_SEND_PRICE_USEC_PER_MIB 100u

/* Books the work of the current step before the work is done, unless it is booked already. Otherwise a user could
 * make this process, which runs outside of any container's limits, work without end. Returns 0, NM_SHUFFLE_E_WAIT if
 * the job's share does not permit the work yet, -EBUSY if the request must be refused, or another -errno. A step
 * that has been sent sets is_paid to false. */
int nm_shuffle_pay(struct nm_shuffle_answer *a, uint64_t work_usec);

/* Begins an attempt of a lookup, and returns its account. spend() returns -EINPROGRESS if the job's share does not
 * permit the check yet: then the step must wait (NM_SHUFFLE_E_WAIT), and the lookup must be repeated. */
struct nm_shuffle_account nm_shuffle_lookup_account(struct nm_shuffle_answer *a);

/* ---- answer-plan.c ----------------------------------------------------------------------------- */

int nm_shuffle_plan_init(struct nm_shuffle_plan *p, const struct nm_shuffle_request *q);
void nm_shuffle_plan_done(struct nm_shuffle_answer *a);

/* Plans the current map. Returns 0, NM_SHUFFLE_E_WAIT or -errno. */
int nm_shuffle_plan_map(struct nm_shuffle_answer *a);
/* Ensures that the lengths of the current map's parts are loaded. Returns 0, NM_SHUFFLE_E_WAIT, or -EBADMSG if they
 * differ from the plan. The connection must break then, because the client already has the answer's length. */
int nm_shuffle_plan_ensure_lengths(struct nm_shuffle_answer *a);
/* Makes the heads of the current map's parts, starting at this position in the range. */
int nm_shuffle_plan_make_heads(struct nm_shuffle_answer *a, uint32_t from);
/* Closes the file of a map if it was kept. */
void nm_shuffle_plan_drop_file(struct nm_shuffle_answer *a, unsigned i);

/* ---- answer-send.c ----------------------------------------------------------------------------- */

/* Adds bytes that fit. */
void nm_shuffle_out_put(struct nm_shuffle_answer *a, const void *data, size_t size);
/* Sends the collected bytes. more: further data follows, so that a packet need not end here. Returns 0,
 * NM_SHUFFLE_E_WAIT or -errno. */
int nm_shuffle_out_flush(struct nm_shuffle_answer *a, bool more);

/* The steps of sending: each returns 0, NM_SHUFFLE_E_WAIT or -errno, and sets the next phase. */
int nm_shuffle_send_begin(struct nm_shuffle_answer *a);
int nm_shuffle_send_map(struct nm_shuffle_answer *a);
int nm_shuffle_send_heads(struct nm_shuffle_answer *a);
int nm_shuffle_send_part(struct nm_shuffle_answer *a);
