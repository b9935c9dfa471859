/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The reason in plain words: a clause for every reason, with the figures that decided, and advice. The clauses continue
 * "killed container_1 (x): ", so they begin in lower case and end without a full stop.
 */

#include <inttypes.h>

#include "agent/decision/decision-internal.h"

#include <assert.h>

static const char *resource_word(enum nm_resource k)
{
    return k == NM_MEMORY ? "memory" : "CPU";
}

/* Appends "7.7 GiB of 8.0 GiB", "3.92 of 4 cores". */
static void add_of_capacity(struct nm_text *t, const struct nm_decision *d, enum nm_resource k,
                            uint64_t amount)
{
    if (k == NM_CPU)
        nm_text_add_decimal(t, (double)amount / 1000, 2);
    else
        nm_text_add_amount(t, k, amount);
    nm_text_add(t, " of ");
    nm_text_add_amount(t, k, nm_resources_get(&d->capacity, k));
}

/* Appends the parts of the use between `before` and `after`, if the parts are known. */
static void add_parts(struct nm_text *t, const struct nm_decision *d, enum nm_resource k, const char *before,
                      const char *after)
{
    size_t start = t->used;

    nm_text_add(t, "%s", before);
    if (nm_text_add_parts(t, d, k, false)) {
        nm_text_add(t, "%s", after);
        return;
    }
    t->used = start;
    t->buf[start] = '\0';
}

/* Returns the words that follow the resource's name: memory that is only reserved for warm-ups must not be called
 * used. */
static const char *use_word(const struct nm_decision *d, enum nm_resource k)
{
    return nm_text_shows(k, nm_resources_get(&d->reserved, k)) ? " used or reserved" : "";
}

/* Appends "memory is at ", "CPU used or reserved is at ". */
static void add_is_at(struct nm_text *t, const struct nm_decision *d, enum nm_resource k, const char *is)
{
    nm_text_add(t, "%s%s %s at ", resource_word(k), use_word(d, k), is);
}

/* Appends "memory was at 96 % of capacity (7.7 GiB of 8 GiB), over the preemption threshold of 95 %". */
static void add_over(struct nm_text *t, const struct nm_decision *d, enum nm_resource k,
                     const struct nm_fractions *threshold, const char *name)
{
    uint64_t used = nm_resources_get(&d->used, k);
    double limit = nm_fractions_get(threshold, k);
    double share = (double)used / (double)NM_MAX(nm_resources_get(&d->capacity, k), UINT64_C(1));

    add_is_at(t, d, k, "was");
    nm_text_add_share(t, d, k, used);
    nm_text_add(t, " of capacity (");
    add_of_capacity(t, d, k, used);
    add_parts(t, d, k, ": ", "");
    nm_text_add(t, "), %sover the %s of ", share - limit < 0.001 ? "just " : "", name);
    nm_text_add_percent(t, limit);
}

static void add_after(struct nm_text *t, const struct nm_decision *d, enum nm_resource k)
{
    uint64_t after = nm_resources_get(&d->used, k) + nm_resources_get(&d->request, k);

    nm_text_add(t, "%s%s at ", resource_word(k), use_word(d, k));
    nm_text_add_share(t, d, k, nm_resources_get(&d->used, k));
    nm_text_add(t, " of capacity, ");
    nm_text_add_share(t, d, k, after);
    nm_text_add(t, " with its request");
}

static bool exceeds_beta(const struct nm_decision *d, enum nm_resource k)
{
    double after = (double)nm_resources_get(&d->used, k) + (double)nm_resources_get(&d->request, k);

    return after > nm_fractions_get(&d->preemption_threshold, k) *
                       (double)nm_resources_get(&d->capacity, k);
}

static void why_guaranteed(struct nm_text *t, const struct nm_decision *d)
{
    if (d->kind == NM_DECISION_RESUME) {
        nm_text_add(t, "it is guaranteed now and keeps the resources of its request");
        return;
    }
    nm_text_add(t, "it is guaranteed and ");
    if (!exceeds_beta(d, NM_MEMORY) && !exceeds_beta(d, NM_CPU))
        nm_text_add(t, "its request fits (");
    else if (d->allocated.memory_bytes > d->allocated_guaranteed.memory_bytes)
        nm_text_add(t, "no more resources of opportunistic containers could be taken back for it (");
    else
        nm_text_add(t, "all guaranteed requests together fit the node (");
    add_after(t, d, NM_MEMORY);
    nm_text_add(t, "; ");
    add_after(t, d, NM_CPU);
    nm_text_add(t, ")");
}

static void why_within_allocation(struct nm_text *t, const struct nm_decision *d)
{
    nm_text_add(t, "the node can hold all requests together (");
    nm_text_add_asked_of_capacity(t, d, NM_MEMORY, d->allocated.memory_bytes + d->request.memory_bytes);
    nm_text_add(t, ", ");
    nm_text_add_asked_of_capacity(t, d, NM_CPU, d->allocated.cpu_millicores + d->request.cpu_millicores);
    nm_text_add(t, ", this one included)");
}

static void why_over_allocation(struct nm_text *t, const struct nm_decision *d)
{
    nm_text_add(t, "others use less than they asked for (");
    add_after(t, d, NM_MEMORY);
    nm_text_add(t, "; ");
    add_after(t, d, NM_CPU);
    if (exceeds_beta(d, NM_CPU)) {
        nm_text_add(t, "), and that stays within the memory threshold of ");
        nm_text_add_percent(t, d->preemption_threshold.memory);
        nm_text_add(t, "; at least half of the CPU that it asks for is free, and guaranteed containers do not wait for "
                       "CPUs if opportunistic containers share the rest");
        return;
    }
    nm_text_add(t, "), and that stays within the preemption thresholds of ");
    nm_text_add_percent(t, d->preemption_threshold.memory);
    nm_text_add(t, " of memory and ");
    nm_text_add_percent(t, d->preemption_threshold.cpu);
    nm_text_add(t, " of CPU");
}

/* Returns whether a vcore differs from a core on this node. */
static bool has_other_vcores(const struct nm_decision *d)
{
    return d->capacity_vcores_milli > 0 && d->capacity_vcores_milli != d->capacity.cpu_millicores;
}

/* Appends "1.0 GiB", or for CPU "1 vcore", with "(0.5 cores)" if a vcore isn't a core on this node, because the rest
 * of the sentence counts in cores. */
static void add_request(struct nm_text *t, const struct nm_decision *d, enum nm_resource k)
{
    nm_text_add_asked(t, d, k, nm_resources_get(&d->request, k));
    if (k != NM_CPU || !has_other_vcores(d))
        return;
    nm_text_add(t, " (");
    nm_text_add_amount(t, k, d->request.cpu_millicores);
    nm_text_add(t, ")");
}

/* Appends "2 cores (4 vcores)" or "8.0 GiB". */
static void add_capacity(struct nm_text *t, const struct nm_decision *d, enum nm_resource k)
{
    nm_text_add_amount(t, k, nm_resources_get(&d->capacity, k));
    if (k != NM_CPU || !has_other_vcores(d))
        return;
    nm_text_add(t, " (");
    nm_text_add_asked(t, d, k, d->capacity.cpu_millicores);
    nm_text_add(t, ")");
}

static void why_would_exceed(struct nm_text *t, const struct nm_decision *d)
{
    enum nm_resource k = d->resource;

    add_is_at(t, d, k, "is");
    nm_text_add_share(t, d, k, nm_resources_get(&d->used, k));
    nm_text_add(t, " of capacity");
    add_parts(t, d, k, " (", ")");
    nm_text_add(t, ", and with the ");
    add_request(t, d, k);
    nm_text_add(t, " that it asks for would be at ");
    nm_text_add_over_limit(t, d, k, nm_resources_get(&d->used, k) + nm_resources_get(&d->request, k));
}

static void why_over_alpha(struct nm_text *t, const struct nm_decision *d)
{
    add_is_at(t, d, d->resource, "is");
    nm_text_add_share(t, d, d->resource, nm_resources_get(&d->used, d->resource));
    nm_text_add(t, " of capacity");
    add_parts(t, d, d->resource, " (", ")");
    nm_text_add(t, ", and opportunistic containers start only below the over-allocation threshold of ");
    nm_text_add_percent(t, nm_fractions_get(&d->over_allocation_threshold, d->resource));
}

static void why_allocation_full(struct nm_text *t, const struct nm_decision *d)
{
    enum nm_resource k = d->resource;

    nm_text_add(t, "over-allocation is off, the allocated %s is ", resource_word(k));
    nm_text_add_asked_of_capacity(t, d, k, nm_resources_get(&d->allocated, k));
    nm_text_add(t, ", and it asks for ");
    nm_text_add_asked(t, d, k, nm_resources_get(&d->request, k));
}

/* Appends an amount of a request that is larger than the node. A difference of less than a hundredth would not be seen
 * in rounded figures. */
static void add_larger(struct nm_text *t, const struct nm_decision *d, enum nm_resource k, uint64_t amount)
{
    uint64_t capacity = nm_resources_get(&d->capacity, k), request = nm_resources_get(&d->request, k);

    if (request - capacity > capacity / 100)
        nm_text_add_asked(t, d, k, amount);
    else if (k == NM_MEMORY)
        nm_text_add(t, "%" PRIu64 " bytes", amount);
    else
        nm_text_add_vcores_exactly(t, d, amount);
}

static void why_larger(struct nm_text *t, const struct nm_decision *d)
{
    enum nm_resource k = d->request.memory_bytes > d->capacity.memory_bytes ? NM_MEMORY : NM_CPU;

    nm_text_add(t, "it asks for ");
    add_larger(t, d, k, nm_resources_get(&d->request, k));
    nm_text_add(t, "%s, and the whole node offers ", k == NM_MEMORY ? " of memory" : "");
    add_larger(t, d, k, nm_resources_get(&d->capacity, k));
}

static void why_guaranteed_full(struct nm_text *t, const struct nm_decision *d)
{
    uint64_t memory = d->allocated_guaranteed.memory_bytes;
    enum nm_resource k =
        memory + d->request.memory_bytes > d->capacity.memory_bytes ? NM_MEMORY : NM_CPU;

    nm_text_add(t, "guaranteed containers already hold ");
    nm_text_add_asked_of_capacity(t, d, k, nm_resources_get(&d->allocated_guaranteed, k));
    nm_text_add(t, "%s, and it asks for ", k == NM_MEMORY ? " of memory" : "");
    nm_text_add_asked(t, d, k, nm_resources_get(&d->request, k));
}

static void why_cpu_over(struct nm_text *t, const struct nm_decision *d)
{
    add_over(t, d, NM_CPU, &d->preemption_threshold, "preemption threshold");
    if (d->consecutive_samples > 1)
        nm_text_add(t, ", in %" PRIu32 " samples in a row", d->consecutive_samples);
    if (d->kind == NM_DECISION_KILL)
        nm_text_add(t, ", and pausing is off");
}

static void why_stalled(struct nm_text *t, const struct nm_decision *d)
{
    nm_text_add(t, "%s, which is guaranteed, waited for a CPU ",
                d->on_behalf_of[0] != '\0' ? d->on_behalf_of : "another container");
    nm_text_add_percent(t, d->stall_permille / 1000.0);
    nm_text_add(t, " of the time, and ");
    nm_text_add_percent(t, d->stall_base_permille / 1000.0);
    nm_text_add(t, " is normal for it without opportunistic containers");
}

static void why_room(struct nm_text *t, const struct nm_decision *d)
{
    nm_text_add(t, "%s, which is guaranteed, needs room",
                d->on_behalf_of[0] != '\0' ? d->on_behalf_of : "another container");
    nm_text_add(t, ", and %s is short (", resource_word(d->resource));
    add_of_capacity(t, d, d->resource, nm_resources_get(&d->used, d->resource));
    nm_text_add(t, " used or reserved");
    add_parts(t, d, d->resource, ": ", "");
    nm_text_add(t, ")");
}

/* Returns the amount that all containers together may use below the preemption threshold, beside the use by the rest of
 * the node. */
static uint64_t room_beside_others(const struct nm_decision *d, enum nm_resource k)
{
    double limit = nm_fractions_get(&d->preemption_threshold, k) * (double)nm_resources_get(&d->capacity, k);

    return nm_sub_u64((uint64_t)limit, nm_resources_get(&d->others, k));
}

/* Returns whether the request would not fit in this resource even if no other container ran. */
static bool fits_never(const struct nm_decision *d, enum nm_resource k)
{
    uint64_t after = nm_add_u64(nm_resources_get(&d->others, k), nm_resources_get(&d->request, k));

    return room_beside_others(d, k) == 0 || after > nm_resources_get(&d->capacity, k);
}

/* Appends how much can be asked for, rounded down, so that the user can copy the figure. */
static void add_what_fits(struct nm_text *t, const struct nm_decision *d, enum nm_resource k)
{
    const enum nm_resource other = k == NM_MEMORY ? NM_CPU : NM_MEMORY;
    uint64_t room = room_beside_others(d, k);
    char size[32];

    if (room == 0 || (k == NM_CPU && room < 10)) { /* less than a hundredth of a core */
        nm_text_add(t, "no request fits until others use less");
        return;
    }
    if (fits_never(d, other))
        nm_text_add(t, "%s would not suffice, either", resource_word(other));
    else if (k == NM_MEMORY)
        nm_text_add(t, "up to %s fits", nm_format_size_down(room, size, sizeof size));
    else
        nm_text_add_vcores_down(t, d, room);
    nm_text_add(t, "; meanwhile smaller containers pass it");
}

static void why_never(struct nm_text *t, const struct nm_decision *d)
{
    enum nm_resource k = d->resource;
    uint64_t after = nm_add_u64(nm_resources_get(&d->others, k), nm_resources_get(&d->request, k));

    nm_text_add(t, "with the ");
    add_request(t, d, k);
    nm_text_add(t, "%s that it asks for, it would not fit even if no other container ran: ",
                k == NM_MEMORY ? " of memory" : "");
    if (nm_resources_get(&d->others, k) > 0 && nm_resources_get(&d->request, k) > room_beside_others(d, k)) {
        nm_text_add(t, "%s would be at ", resource_word(k));
        nm_text_add_over_limit(t, d, k, after);
        nm_text_add(t, " (of ");
        add_capacity(t, d, k);
        nm_text_add(t, ", ");
        nm_text_add_amount(t, k, nm_resources_get(&d->others, k));
        nm_text_add(t, " are used by others on the node); ");
        add_what_fits(t, d, k);
    } else { /* the record of an older nmd doesn't have the use of others */
        nm_text_add(t, "of ");
        add_capacity(t, d, k);
        nm_text_add(t, ", others on the node use a part, and the limit is ");
        nm_text_add_percent(t, nm_fractions_get(&d->preemption_threshold, k));
        nm_text_add(t, "; meanwhile smaller containers pass it");
    }
}

static void why_room_for_head(struct nm_text *t, const struct nm_decision *d)
{
    nm_text_add(t, "it passed %s, which is larger and was first in the queue, and the larger container has now been "
                   "delayed for the longest allowed time (configuration: [queue] backfill)",
                d->on_behalf_of[0] != '\0' ? d->on_behalf_of : "another container");
}

static void why_below(struct nm_text *t, const struct nm_decision *d)
{
    if (d->kind == NM_DECISION_SQUEEZE) {
        nm_text_add(t, "no guaranteed container waits because of them, and CPU is at ");
        nm_text_add_share(t, d, NM_CPU, d->used.cpu_millicores);
        nm_text_add(t, " of capacity");
        return;
    }
    nm_text_add(t, "CPU is down to ");
    nm_text_add_share(t, d, NM_CPU, d->used.cpu_millicores);
    nm_text_add(t, " of capacity (over-allocation threshold ");
    nm_text_add_percent(t, d->over_allocation_threshold.cpu);
    nm_text_add(t, ")");
    if (d->kind != NM_DECISION_RESUME)
        return;
    nm_text_add(t, ", and the ");
    nm_text_add_amount(t, NM_CPU, d->predicted.cpu_millicores);
    nm_text_add(t, " that it used before its pause fit again");
    if (d->predicted.memory_bytes == 0)
        return;
    nm_text_add(t, ", as do the ");
    nm_text_add_amount(t, NM_MEMORY, d->predicted.memory_bytes);
    nm_text_add(t, " of its memory that comes back from swap");
}

static void why_paused_first(struct nm_text *t, const struct nm_decision *d)
{
    if (d->resource == NM_MEMORY)
        nm_text_add(t, "the free memory is kept for paused containers, which have as much in swap and get it back when "
                       "they are resumed");
    else
        nm_text_add(t, "the free CPU is kept for paused containers, which are resumed first");
}

static void why_reclaim(struct nm_text *t, const struct nm_decision *d)
{
    add_over(t, d, NM_MEMORY, &d->preemption_threshold, "preemption threshold");
    nm_text_add(t, ", and it is paused, so that up to ");
    nm_text_add_amount(t, NM_MEMORY, d->predicted.memory_bytes);
    nm_text_add(t, " of its memory can go to swap without slowing anything down");
}

static void why_reclaim_running(struct nm_text *t, const struct nm_decision *d)
{
    add_over(t, d, NM_MEMORY, &d->preemption_threshold, "preemption threshold");
    nm_text_add(t, ", and ");
    nm_text_add_amount(t, NM_MEMORY, d->predicted.memory_bytes);
    nm_text_add(t, " of its memory can go to swap in time, which slows it down but avoids a kill");
}

static void why_user(struct nm_text *t, const struct nm_decision *d)
{
    nm_text_add(t, "%s asked for it", d->by_user[0] != '\0' ? d->by_user : "a user");
}

static void why_queue_full(struct nm_text *t, const struct nm_decision *d)
{
    if (d->queue_max_length != UINT32_MAX) {
        nm_text_add(t, "the queue is full: %" PRIu32 " opportunistic containers are queued, the maximum is %" PRIu32,
                    d->queue_length, d->queue_max_length);
        return;
    }
    nm_text_add(t, "the queue is full: its %" PRIu32 " opportunistic containers and all other queued containers ask "
                   "for ",
                d->queue_length);
    nm_text_add_asked_of_capacity(t, d, NM_MEMORY, d->waiting.memory_bytes);
    nm_text_add(t, " and ");
    nm_text_add_asked_of_capacity(t, d, NM_CPU, d->waiting.cpu_millicores);
    nm_text_add(t, ", and it doesn't fit the node beside them");
}

static void why_queue_kept(struct nm_text *t, const struct nm_decision *d)
{
    nm_text_add(t, "%" PRIu32 " opportunistic containers are queued, and surges of guaranteed containers leave "
                   "little memory: the rest of the queue, of at most %" PRIu32 ", is kept for containers that ask "
                   "for more CPU per memory",
                d->queue_length, d->queue_max_length);
}

/* Appends the figures of the surge margin, unless an older nmd wrote the record without them. */
static void why_margin(struct nm_text *t, const struct nm_decision *d)
{
    char left[32];

    nm_text_add(t, "it would fit now, but not beside another surge of guaranteed containers like the last ones");
    if (d->margin_bytes == 0)
        return;
    nm_text_add(t, ", when they used ");
    nm_text_add_percent(t, d->margin_peak_permille / 1000.0);
    nm_text_add(t, " of their promised memory: ");
    nm_text_add_amount(t, NM_MEMORY, d->margin_bytes);
    nm_text_add(t, " are kept free for such a surge for another %s, and with the ",
                nm_format_duration(d->margin_left_usec, left, sizeof left));
    nm_text_add_amount(t, NM_MEMORY, d->request.memory_bytes);
    nm_text_add(t, " that it asks for, memory would be at ");
    nm_text_add_over_limit(t, d, NM_MEMORY, d->used.memory_bytes + d->margin_bytes + d->request.memory_bytes);
}

static void why_memory_over(struct nm_text *t, const struct nm_decision *d)
{
    add_over(t, d, NM_MEMORY, &d->preemption_threshold, "preemption threshold");
}

/* Every reason has either a function that writes figures or a fixed clause. */
static const struct {
    const char *plain;
    void (*with_numbers)(struct nm_text *t, const struct nm_decision *d);
} clauses[NM_REASON_COUNT] = {
    [NM_REASON_NONE] = {"no reason was recorded", NULL},
    [NM_REASON_GUARANTEED] = {"it is guaranteed", why_guaranteed},
    [NM_REASON_WITHIN_ALLOCATION] = {"all requests together fit the node", why_within_allocation},
    [NM_REASON_OVER_ALLOCATION] = {"others use less than they asked for", why_over_allocation},
    [NM_REASON_BEHIND_OTHERS] = {"other containers are before it in the queue", NULL},
    [NM_REASON_OVER_ALPHA] = {"use is not below the over-allocation threshold", why_over_alpha},
    [NM_REASON_WOULD_EXCEED_BETA] = {"its request does not fit beside the memory and CPU that are used or reserved",
                                     why_would_exceed},
    [NM_REASON_NEVER_FITS] = {"it asks for more than would fit even if no other container ran", why_never},
    [NM_REASON_ALLOCATION_FULL] = {"the node is fully allocated", why_allocation_full},
    [NM_REASON_NO_SAMPLE] = {"there is no fresh sample of the node, and no container is started without one",
                             NULL},
    [NM_REASON_BREAKER] =
        {"containers were killed recently for lack of room, so no opportunistic container is admitted for some "
         "time", NULL},
    [NM_REASON_UPLINK] = {"the network uplink is saturated", NULL},
    [NM_REASON_DRAINING] = {"the node is being drained and starts no containers", NULL},
    [NM_REASON_UNHEALTHY] = {"the node is unhealthy and starts no containers", NULL},
    [NM_REASON_WAITING_FOR_VICTIMS] = {"room for it is being taken back from opportunistic containers",
                                       NULL},
    [NM_REASON_GUARANTEED_FIRST] = {"a guaranteed container is queued, and comes first", NULL},
    [NM_REASON_PAUSED_FIRST] = {"the free resources are kept for paused containers, which are resumed first",
                                why_paused_first},
    [NM_REASON_SURGE_MARGIN] =
        {"there is room for it now, but guaranteed containers have repeatedly taken their resources back: for some "
         "time only containers that fit beside such a surge are started",
         why_margin},
    [NM_REASON_SQUEEZED] = {"the CPU of all opportunistic containers together is limited now", NULL},
    [NM_REASON_NEXT_ROUND] = {"other containers before it are being started, and the number of simultaneous starts is "
                              "limited", NULL},
    [NM_REASON_LARGER_THAN_NODE] = {"it asks for more than the node has", why_larger},
    [NM_REASON_GUARANTEED_FULL] = {"guaranteed containers hold the node's capacity",
                                   why_guaranteed_full},
    [NM_REASON_QUEUE_FULL] = {"the queue is full", why_queue_full},
    [NM_REASON_QUEUE_KEPT] = {"surges of guaranteed containers leave little memory, so the rest of the queue is "
                              "kept for containers that ask for more CPU per memory", why_queue_kept},
    [NM_REASON_MEMORY_OVER_BETA] = {"memory is over the preemption threshold", why_memory_over},
    [NM_REASON_GUARANTEED_STALLED] = {"guaranteed containers wait for CPUs because of opportunistic ones",
                                      why_stalled},
    [NM_REASON_CPU_OVER_BETA] = {"CPU is over the preemption threshold", why_cpu_over},
    [NM_REASON_ROOM_FOR_GUARANTEED] = {"a guaranteed container needs the room", why_room},
    [NM_REASON_ROOM_FOR_HEAD] = {"it passed a larger container, which has now waited for the longest allowed "
                                 "time", why_room_for_head},
    [NM_REASON_PAUSE_DEADLINE] =
        {"its pause lasted for the longest allowed time, and it was not resumed before",
         NULL},
    [NM_REASON_KILL_BUDGET] = {"no more containers may be killed within this minute", NULL},
    [NM_REASON_SETTLING] = {"the samples must first show the resources that were just taken back", NULL},
    [NM_REASON_SHED] = {"the limit of the queue was lowered, and the newest queued container is discarded first",
                        NULL},
    [NM_REASON_WAITED_TOO_LONG] = {"it has waited for as long as [queue] give-back allows, and the node has had no "
                                   "room for it meanwhile",
                                   NULL},
    [NM_REASON_DRAIN_DEADLINE] = {"the deadline of the drain has passed", NULL},
    [NM_REASON_BELOW_THRESHOLD] = {"there is room again", why_below},
    [NM_REASON_PAUSE_EXPIRED] = {"it was paused for as long as a pause may last", NULL},
    [NM_REASON_FREEZE_HANGS] =
        {"it was not frozen within 10 s, because a process in it hangs; it keeps running, and for some minutes other "
         "containers are paused instead",
         NULL},
    [NM_REASON_FROZEN_MEMORY] = {"its memory can go to swap while it is paused", why_reclaim},
    [NM_REASON_RUNNING_MEMORY] = {"a part of its memory can go to swap, which avoids a kill", why_reclaim_running},
    [NM_REASON_USER] = {"a user asked for it", why_user},
    [NM_REASON_KERNEL_OOM] = {"the kernel's OOM killer ended it, because the slice or the node ran out of memory; the "
                              "container was within its own limit",
                              NULL},
    [NM_REASON_OWNER] = {"the system that submitted it to this node asked for it", NULL},
};

const char *nm_reason_text(enum nm_reason r)
{
    assert((size_t)r < NM_ARRAY_SIZE(clauses) && clauses[r].plain);
    return clauses[r].plain;
}

/* Records made without figures, for example at a start, contain zeros; such figures are omitted. */
void nm_decision_phrase_why(struct nm_text *t, const struct nm_decision *d)
{
    bool numbers = d->capacity.memory_bytes > 0 || d->reason == NM_REASON_USER;

    assert((size_t)d->reason < NM_ARRAY_SIZE(clauses));
    if (clauses[d->reason].with_numbers && numbers)
        clauses[d->reason].with_numbers(t, d);
    else
        nm_text_add(t, "%s", clauses[d->reason].plain);
    if (d->kind == NM_DECISION_ADMIT && d->on_behalf_of[0] != '\0')
        nm_text_add(t, "; it passes %s, which is before it in the queue and too large for now", d->on_behalf_of);
}

const char *nm_decision_phrase_order(enum nm_victim_order o)
{
    switch (o) {
    case NM_VICTIM_REVERSE_ARRIVAL:
        return "the latest-started";
    case NM_VICTIM_LEAST_WORK_LOST:
        return "the one with the least work done";
    case NM_VICTIM_FEWEST_VICTIMS:
        return "the largest";
    case NM_VICTIM_APP_FAIR:
        return "the latest-started of the application that holds the most";
    }
    return "none in particular";
}

/* ---- advice ---------------------------------------------------------------------------------- */

/* Recognizes an upstream's container by its id, which does not have the form of nmd's own ids. */
static bool is_of_upstream(const struct nm_decision *d)
{
    uint64_t epoch, number;

    return !nm_id_parse(d->container_id, &epoch, &number);
}

/* Returns what the container's user can do after a kill that the container itself did not cause. */
static const char *kill_advice(const struct nm_decision *d)
{
    if (is_of_upstream(d))
        return "nothing on this node: the application is informed that the node took the container back, and can ask "
               "for another container; for work that must not be interrupted, it must ask for a guaranteed container";
    switch (d->reason) {
    case NM_REASON_MEMORY_OVER_BETA:
    case NM_REASON_ROOM_FOR_GUARANTEED:
    case NM_REASON_KERNEL_OOM:
    case NM_REASON_ROOM_FOR_HEAD:
        return "submit it again (it will wait until there is room), ask for it as guaranteed if it must not be "
               "interrupted, or give it a minimum run time (--min-runtime), during which other containers are chosen "
               "first";
    case NM_REASON_CPU_OVER_BETA:
        return "submit it again; with pausing on (configuration: [preemption] pause) it would be "
               "paused instead";
    case NM_REASON_PAUSE_DEADLINE:
        return "submit it again when the node is less busy, promote a paused container before its "
               "deadline "
               "(nmctl promote), or have the pause deadline raised in nmd.conf";
    default:
        return NULL;
    }
}

/* Returns whether other use on the node alone prevents an opportunistic start, so that the container could not start
 * even if all other containers ended. */
static bool is_taken_by_others(const struct nm_decision *d)
{
    const enum nm_resource k = d->resource;

    return (double)nm_resources_get(&d->others, k) >=
           nm_fractions_get(&d->preemption_threshold, k) * (double)nm_resources_get(&d->capacity, k);
}

/* Returns whether the request alone exceeds the limit, so that it is useless to wait until others use less. */
static bool is_too_large(const struct nm_decision *d)
{
    const enum nm_resource k = d->resource;

    return (double)nm_resources_get(&d->request, k) >
           nm_fractions_get(&d->preemption_threshold, k) * (double)nm_resources_get(&d->capacity, k);
}

static const char *wait_advice(const struct nm_decision *d)
{
    switch (d->reason) {
    case NM_REASON_NEVER_FITS:
        if (is_too_large(d))
            return is_taken_by_others(d) ? "ask for it as guaranteed" : "ask for less, or ask for it as guaranteed";
        /* fall through */
    case NM_REASON_OVER_ALPHA:
    case NM_REASON_WOULD_EXCEED_BETA:
    case NM_REASON_ALLOCATION_FULL:
        return is_taken_by_others(d) ? "wait until processes outside of containers use less of the node, or ask for it "
                                       "as guaranteed"
                                     : "wait, ask for less, or ask for it as guaranteed";
    case NM_REASON_NO_SAMPLE:
        return "wait for the next sample; if there is no sample then, nmd's log shows why the node can't be sampled";
    case NM_REASON_UNHEALTHY:
        return "see nmctl status for what is wrong with the node";
    case NM_REASON_DRAINING:
        return "run it elsewhere, or end the drain with nmctl undrain";
    default:
        return NULL;
    }
}

static const char *refuse_advice(const struct nm_decision *d)
{
    switch (d->reason) {
    case NM_REASON_LARGER_THAN_NODE:
        return "ask for less, or use a larger node";
    case NM_REASON_GUARANTEED_FULL:
        return "wait until a guaranteed container ends, ask for less, or run it as opportunistic";
    case NM_REASON_QUEUE_FULL:
        return "submit it again later, or have the queue made longer in nmd.conf ([queue] max-length and policy)";
    case NM_REASON_QUEUE_KEPT:
        return "ask for less memory, submit it again when fewer containers wait, or run it as guaranteed";
    default:
        return wait_advice(d);
    }
}

static const char *pause_advice(const struct nm_decision *d)
{
    return d->reason == NM_REASON_USER ? "resume it with nmctl resume; at its pause deadline an opportunistic "
                                         "container is killed, and a guaranteed container is resumed"
                                       : "nothing: the container is resumed when CPU is free again; nmctl promote "
                                         "makes it guaranteed immediately";
}

/* Appends advice for a kill, a wait in the queue, a refusal, a pause or a shed container. Other actions need no
 * advice. */
void nm_decision_phrase_advice(struct nm_text *t, const struct nm_decision *d)
{
    const char *advice = NULL;

    if (d->outcome == NM_OUTCOME_SHADOW)
        return;
    if (d->kind == NM_DECISION_KILL)
        advice = kill_advice(d);
    else if (d->kind == NM_DECISION_QUEUE)
        advice = wait_advice(d);
    else if (d->kind == NM_DECISION_REFUSE)
        advice = refuse_advice(d);
    else if (d->kind == NM_DECISION_PAUSE)
        advice = pause_advice(d);
    else if (d->kind == NM_DECISION_SHED)
        advice = "nothing on this node: the upstream will place it elsewhere";
    if (advice)
        nm_text_add(t, "  What you can do: %s.\n", advice);
}
