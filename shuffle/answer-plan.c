/* SPDX-License-Identifier: Apache-2.0 */

/* See answer-plan.h. */

#include "shuffle/answer-plan.h"

#include "shuffle/answer-pay.h"
#include "util/error.h"
#include "util/fnv1a.h"

/* Files that one request keeps open between their lookup and their sending. Fetcher requests up to 20 maps. */
#define KEPT_FILES_PER_REQUEST 32u

int nm_shuffle_plan_init(struct nm_shuffle_plan *p, const struct nm_shuffle_request *q)
{
    for (unsigned i = 0; i < q->n_maps; i++)
        p->files[i] = -EBADF;
    p->n_slots = NM_MIN(q->n_maps, NM_SHUFFLE_PARTS_MAX / q->n_reduces);
    p->lengths = calloc((size_t)p->n_slots * q->n_reduces, sizeof *p->lengths);
    for (unsigned i = 0; i < p->n_slots; i++)
        p->in_slot[i] = NM_SHUFFLE_MAPS_MAX;
    return p->lengths ? 0 : -ENOMEM;
}

/* Limits the descriptors: a request has up to 256 maps, and thousands of requests may wait for the share of their
 * job. */
static bool may_keep_file(struct nm_shuffle_service *s, const struct nm_shuffle_plan *p)
{
    if (p->n_files == KEPT_FILES_PER_REQUEST)
        return false;
    if (atomic_fetch_add(&s->n_kept_files, 1) < s->max_kept_files)
        return true;
    atomic_fetch_sub(&s->n_kept_files, 1);
    return false;
}

/* Takes ownership of the file that a lookup has opened, or of -EBADF. */
static void keep_file(struct nm_shuffle_service *s, struct nm_shuffle_plan *p, unsigned i, int file)
{
    if (file < 0)
        return;
    if (!may_keep_file(s, p)) {
        nm_close(file);
        return;
    }
    p->files[i] = file;
    p->n_files++;
}

void nm_shuffle_plan_drop_file(struct nm_shuffle_answer *a, unsigned i)
{
    struct nm_shuffle_plan *p = &a->plan;

    if (p->files[i] < 0)
        return;
    p->files[i] = nm_close(p->files[i]);
    p->n_files--;
    atomic_fetch_sub(&a->service->n_kept_files, 1);
}

void nm_shuffle_plan_done(struct nm_shuffle_answer *a)
{
    for (unsigned i = 0; a->plan.n_files > 0 && i < a->request.n_maps; i++)
        nm_shuffle_plan_drop_file(a, i);
    nm_writer_done(&a->plan.heads);
    free(a->plan.lengths);
}

static struct nm_shuffle_lengths *lengths_of(const struct nm_shuffle_answer *a, unsigned i)
{
    const struct nm_shuffle_plan *p = &a->plan;

    return p->lengths + (size_t)(p->first[i] % p->n_slots) * a->request.n_reduces;
}

/* Fills the slot of the map, which must be the first of its name. Returns 0, NM_SHUFFLE_E_WAIT or -errno. An attempt
 * that is repeated after a wait is paid for again. */
static int look_up(struct nm_shuffle_answer *a, unsigned i, struct nm_shuffle_output *ret, int *ret_file)
{
    const struct nm_shuffle_request *q = &a->request;
    const struct nm_shuffle_account account = nm_shuffle_lookup_account(a);
    int r;

    a->plan.in_slot[i % a->plan.n_slots] = NM_SHUFFLE_MAPS_MAX;
    r = nm_shuffle_output_find(
        &(struct nm_shuffle_lookup){&a->service->dirs, &a->job, &account, &a->job_dirs}, q->maps[i],
        (struct nm_shuffle_range){q->reduce, q->n_reduces}, lengths_of(a, i), ret, ret_file);
    if (r == -EINPROGRESS) {
        a->is_paid = false;
        return NM_SHUFFLE_E_WAIT;
    }
    a->paid_check_bytes = 0;
    return r;
}

static uint64_t fingerprint_of(const struct nm_shuffle_answer *a, unsigned i)
{
    return nm_fnv1a_64_more(NM_FNV1A_64_BASIS, lengths_of(a, i), a->request.n_reduces * sizeof *a->plan.lengths);
}

int nm_shuffle_plan_make_heads(struct nm_shuffle_answer *a, uint32_t from)
{
    const struct nm_shuffle_request *q = &a->request;
    const struct nm_shuffle_lengths *lengths = lengths_of(a, a->map);
    struct nm_writer *heads = &a->plan.heads;

    heads->size = 0;
    if (q->is_range && from == 0)
        nm_writer_vint(heads, q->n_reduces);
    for (uint32_t k = from; k < q->n_reduces && k < from + NM_SHUFFLE_HEADS_AT_ONCE; k++) {
        nm_writer_bytes(heads, q->maps[a->map]);
        nm_writer_vint(heads, (int64_t)lengths[k].part_bytes);
        nm_writer_vint(heads, (int64_t)lengths[k].raw_bytes);
        nm_writer_vint(heads, (int64_t)q->reduce + k);
    }
    return heads->failed ? -ENOMEM : 0;
}

static int find(struct nm_shuffle_answer *a)
{
    struct nm_shuffle_plan *p = &a->plan;
    const unsigned i = a->map;
    int file, r;

    p->first[i] = i;
    if ((r = look_up(a, i, &p->outputs[i], &file)) != 0)
        return r;
    keep_file(a->service, p, i, file);
    p->in_slot[i % p->n_slots] = i;
    p->fingerprint[i] = fingerprint_of(a, i);
    p->head_bytes[i] = 0;
    for (uint32_t from = 0; from < a->request.n_reduces; from += NM_SHUFFLE_HEADS_AT_ONCE) {
        if ((r = nm_shuffle_plan_make_heads(a, from)) < 0)
            return r;
        p->head_bytes[i] += p->heads.size;
    }
    return 0;
}

static uint64_t parts_usec(const struct nm_shuffle_request *q)
{
    return q->is_range ? (uint64_t)q->n_reduces * NM_SHUFFLE_PART_PRICE_USEC : 0;
}

static uint64_t lookup_usec(const struct nm_shuffle_answer *a)
{
    return (uint64_t)NM_SHUFFLE_LOOKUP_PRICE_USEC * a->service->dirs.n;
}

/* Plans a map. The length of the whole answer must be sent before its first byte; the data are checked again when they
 * are sent. A map that is named again uses the plan of its first occurrence. */
int nm_shuffle_plan_map(struct nm_shuffle_answer *a)
{
    const struct nm_shuffle_request *q = &a->request;
    struct nm_shuffle_plan *p = &a->plan;
    unsigned first = 0;
    int r;

    while (first < a->map && !nm_bytes_equal(q->maps[a->map], q->maps[first]))
        first++;
    r = nm_shuffle_pay(a, NM_SHUFFLE_NAME_PRICE_USEC + parts_usec(q) + (first == a->map ? lookup_usec(a) : 0));
    if (r != 0 || (first == a->map && (r = find(a)) != 0))
        return r;
    p->first[a->map] = first;
    p->outputs[a->map] = p->outputs[first];
    p->length_bytes = nm_add_u64(p->length_bytes, p->head_bytes[first]);
    p->length_bytes = nm_add_u64(p->length_bytes, p->outputs[first].part.part_bytes);
    a->is_paid = false;
    return 0;
}

int nm_shuffle_plan_ensure_lengths(struct nm_shuffle_answer *a)
{
    struct nm_shuffle_plan *p = &a->plan;
    const unsigned first = p->first[a->map];
    const struct nm_shuffle_part *planned = &p->outputs[first].part;
    struct nm_shuffle_output output;
    int r;

    if (p->in_slot[first % p->n_slots] == first)
        return 0;
    r = nm_shuffle_pay(a, lookup_usec(a) + parts_usec(&a->request));
    if (r != 0 || (r = look_up(a, first, &output, NULL)) != 0)
        return r;
    if (output.dir != p->outputs[first].dir || output.part.start_bytes != planned->start_bytes ||
        output.part.part_bytes != planned->part_bytes || fingerprint_of(a, first) != p->fingerprint[first])
        return -EBADMSG;
    p->in_slot[first % p->n_slots] = first;
    a->is_paid = false;
    return 0;
}
