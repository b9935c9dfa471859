/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The policy: a pure function from (settings, its own small memory, views of all live containers, the node's sample,
 * now) to a list of actions. The policy uses no clock, I/O or logging, and nm_policy_decide() does not allocate:
 * nm_policy_reserve() grows its workspace beforehand. The daemon, the tests, the fuzzer and the simulator run this same
 * code.
 *
 * docs/concepts.md has a summary of the rules. These are the details:
 *
 *  - Estimated use U_r = max(sum of estimates, node-level use beyond the reserve + reservations of warm-ups that the
 *    node can't show yet). U is computed as the sum of estimates + "system". The system part is the use that the newest
 *    sample showed at node level, less the reserve and less the use that it showed in the containers. The system part
 *    is kept until the next sample, while estimates are current. So in a CHANGE round, a container that has ended since
 *    the sample no longer counts. A newly admitted container counts with its request. The CPU of a frozen container is
 *    free immediately.
 *  - Reservations never cause victims. Before resources are taken back, the measured use (verdict.in_use), without
 *    warm-up, is compared with beta. Only the room that a guaranteed container needs is computed from U.
 *  - A container leaves its warm-up when warmup_usec have passed *and* it has warmup_samples
 *    samples.
 *  - With over-allocation off, U is the sum of requests, both thresholds are 1, and resources are
 *    taken back only to make room for a guaranteed container, as in plain YARN.
 *  - The plain rule ("total allocation + request <= C") also requires U < beta*C and U + request <= C
 *    for every resource, because memory and CPU that the system uses can't be allocated.
 *  - Without a fresh sample no container, guaranteed or not, is admitted or killed, not even at its pause deadline.
 *    Opportunistic containers also need the sample's CPU figure (cpu_valid).
 *  - Memory and CPU are taken back on their thresholds only in SAMPLE and PRESSURE rounds (CPU:
 *    SAMPLE and EXTRA_SAMPLE). Room for a guaranteed container is made in any round.
 *  - Consecutive samples also have to cover their time: N of them span N - 1 periods from the first to the last, less
 *    the jitter of a timer. An EXTRA_SAMPLE between two periodic samples may be the first of the consecutive samples,
 *    and is sufficient if one sample is enough. An EXTRA_SAMPLE never counts as a later one of these samples, and never
 *    resets the count.
 *  - A victim is stuck when it has neither ended nor released a substantial part of its memory for NM_STUCK_USEC. Large
 *    victims need longer to end.
 *  - A freeze that is incomplete after NM_STUCK_USEC (a process hangs in the kernel, and its siblings are half frozen)
 *    is undone, even without a sample. For NM_FREEZE_AGAIN_USEC that container is passed over, and another container is
 *    paused instead.
 *  - After the host has slept, a pause ends at its deadline only after NM_WAKE_SAMPLES samples, and
 *    at least as many as settling takes, so that the container may be resumed instead.
 *  - Each resource settles separately: a freeze never delays a kill for memory. While a resource settles, or during a
 *    squeeze, no opportunistic container is admitted or resumed.
 *  - The kill budget limits kills for memory and CPU over beta. Kills that make room for a guaranteed
 *    container or end a pause at its deadline are not limited (requests and the clock bound them), but
 *    they are counted. If a person began the pause, its end counts for neither budget nor breaker.
 *  - The breaker reacts to load. A kill that makes room for a guaranteed container does not indicate load, so the kill
 *    neither holds admissions nor changes an existing hold.
 *  - Where surges of guaranteed containers cost opportunistic containers too much work, an opportunistic container is
 *    admitted for a while only if it fits beside such a surge (policy-margin.c), even by the plain rule, or if it is
 *    expected to end before the next surge (policy-surges.c).
 *  - An OOM kill by the kernel holds admissions as a policy kill does, because it shows that nmd was too slow. An OOM
 *    kill does not use up the budget, which limits nmd itself.
 *  - Resume: CPU U + last use <= beta*C, CPU U < alpha*C, memory in use <= beta*C; strictly in
 *    arrival order. A container that used nearly all CPU would wait for its deadline even on an
 *    idle node. Therefore it is resumed when no other opportunistic container runs, CPU U < alpha*C/2
 *    and a sixteenth of its pause deadline has passed.
 *  - A guaranteed container whose CPU is a share (cpu_is_share) is promised memory and a weight. For its CPU, the
 *    container is neither refused nor delayed, no resources are taken back, and no other promise is reduced. Its CPU
 *    counts in U and in the allocation like any other CPU use, so the allocation may exceed C. The CPU of an
 *    opportunistic container is checked whether or not it would be a share after a promotion.
 *  - Smaller containers may pass a head of the queue that is too large for now, under a rule that
 *    bounds the delay of the head (policy-pass.c).
 *  - Paused containers have priority for CPU: a queued container is admitted only beside the CPU that the paused
 *    containers will use when resumed. For each paused container this is at most its request, so that a container with
 *    a burst can't block the queue.
 *  - Before a running container is killed for memory over beta, a part of its memory is reclaimed to
 *    swap, if that takes no longer than reclaim_usec and ends before the growth of use reaches C
 *    (policy-reclaim.c).
 *  - Memory in swap returns when a container runs again. So a paused container is resumed only if memory U + its swap
 *    <= beta*C, and counts with its swap until it has run for as long as a warm-up. A queued container is admitted only
 *    beside the swap of all paused containers. Containers paused by a person count with their full memory, in RAM or in
 *    swap. Swap that remains after the warm-up does not count as use.
 *  - With pausing on, no container is killed for CPU. With pausing off, containers are killed instead of paused.
 *  - A container inside its minimum run time is passed over as a victim if other victims suffice. Application masters
 *    (exempt) are never victims.
 *  - squeeze: after a single sample with CPU over beta, opportunistic containers together get a CPU quota that brings
 *    use back to between alpha and beta, with a minimum for each container. Containers are frozen only if CPU stays
 *    over beta for cpu_samples samples. The quota is lifted when opportunistic containers no longer use all of it. This
 *    needs the cpu controller (can_squeeze). policy-squeeze.c describes the feedback controller.
 *  - Stalls of guaranteed containers count, too: where a guaranteed container waits for CPUs longer than without
 *    opportunistic work, opportunistic containers are squeezed at any CPU use (guard_stall). policy-squeeze.c describes
 *    the rule. A stall never causes a freeze or a kill.
 *  - Where the guard against stalls (guard_stall) is active and CPU is not taken back by its threshold, opportunistic
 *    containers can't take CPU from any other container. So the over-allocation rule requires only half of their CPU
 *    request to be free (U + request / 2 <= beta*C), unless surges cost opportunistic containers work
 *    (policy-margin.c). These containers still need U < alpha*C.
 *  - A queued container of an upstream is given back when no opportunistic container has started or been resumed for
 *    give_back_usec, so that the queued container can run elsewhere. The queue reason does not matter. While an
 *    opportunistic container runs, whose end would make room for the next container, the wait is NM_GIVE_BACK_BUSY
 *    times as long. When the last running container has ended, the short wait begins again, since queued containers may
 *    start now. Starts of other containers don't prolong the wait without limit: the wait ends after NM_GIVE_BACK_MOST
 *    times give_back_usec in the queue. For a container that can't fit the node at all beside the system's use, it ends
 *    after NM_GIVE_BACK_BUSY times give_back_usec.
 *  - At most NM_STARTS_AT_ONCE opportunistic containers are admitted within NM_STARTS_PAUSE_USEC. Earlier
 *    admissions whose shim nmd has not started yet are included in that number.
 *  - With beta = 1 and no reserve, CPU is not taken back by its threshold. Use can't exceed all CPUs; if the figures
 *    exceed all CPUs, they were not read at the same instant.
 */

#include "agent/policy/policy-types.h"

int nm_policy_new(struct nm_policy **ret);
struct nm_policy *nm_policy_free(struct nm_policy *p);
NM_DEFINE_CLEANUP(struct nm_policy *, nm_policy_free)
/* Grows the workspace for n_views live containers. Only this function and nm_policy_new() allocate. */
int nm_policy_reserve(struct nm_policy *p, size_t n_views, size_t n_apps);

/* Decides one round. Each admission takes the earlier admissions of the same round into account. Never fails; asserts
 * that the views fit the reserved workspace. */
void nm_policy_decide(struct nm_policy *p, const struct nm_policy_settings *s,
                      const struct nm_policy_input *in, struct nm_policy_verdict *ret);

/* Returns why a queued container waits, from the verdict of the previous round. Containers behind the head get
 * BEHIND_OTHERS or GUARANTEED_FIRST; a container that doesn't wait gets NM_REASON_NONE. */
enum nm_reason nm_policy_queue_reason(const struct nm_policy_verdict *verdict,
                                      const struct nm_policy_container *v);

/* The claims that a new request competes with: the promises of guaranteed containers, and the requests of waiting
 * containers, `queued` of which are opportunistic. Excludes containers that are ending, and `self`. */
struct nm_policy_claims {
    struct nm_resources guaranteed, waiting;
    uint32_t queued;
};
void nm_policy_get_claims(struct nm_policy_container *const *views, size_t n_views,
                          const struct nm_policy_container *self,
                          struct nm_policy_claims *ret);

/* Returns NM_REASON_NONE if the request can be accepted, or why it is refused (LARGER_THAN_NODE, GUARANTEED_FULL,
 * QUEUE_FULL). Ending guaranteed containers don't count, since the new container waits for their end. Containers that
 * are being prepared do count. Opportunistic containers that are being prepared also take a place in the queue.
 * cpu_is_share: as in nm_policy_container. `self`: a live container whose own request is not counted (update,
 * promotion, demotion), or NULL. */
enum nm_reason nm_policy_check_request(const struct nm_policy_settings *s,
                                       struct nm_policy_container *const *views, size_t n_views,
                                       enum nm_execution_type type,
                                       const struct nm_resources *request, bool cpu_is_share,
                                       const struct nm_policy_container *self);

/* Returns whether the queue takes a new opportunistic container that nm_policy_check_request() accepts. While memory is
 * kept free for surges (policy-margin.c), memory limits the opportunistic work of the node, and CPU is unused. Then the
 * second half of the queue is kept for containers that request more CPU per memory than most of the waiting containers:
 * the number of waiting containers, and the number of those that request more CPU per memory than the new container,
 * must together be below the maximum length. Equal containers are all taken. Containers that are expected to end
 * between two surges are all taken, too, since they need no memory in a surge (expected_usec: expected run time, 0 if
 * it is not known). */
bool nm_policy_queue_takes(const struct nm_policy *p, const struct nm_policy_settings *s,
                           struct nm_policy_container *const *views, size_t n_views,
                           const struct nm_resources *request, uint64_t expected_usec, uint64_t now_usec);

/* Checks the cheap invariants, after every round at run time and in the property tests. Returns NULL, or a sentence
 * that names the violated invariant. */
const char *nm_policy_check_invariants(const struct nm_policy_settings *s,
                                       const struct nm_policy_input *in,
                                       const struct nm_policy_verdict *v);

void nm_policy_get_memory(const struct nm_policy *p, struct nm_policy_memory *ret);
void nm_policy_set_memory(struct nm_policy *p, const struct nm_policy_memory *m);

const char *nm_victim_order_name(enum nm_victim_order o);
int nm_victim_order_from_string(const char *s, enum nm_victim_order *ret);
const char *nm_queue_order_name(enum nm_queue_order o);
int nm_queue_order_from_string(const char *s, enum nm_queue_order *ret);
const char *nm_queue_policy_name(enum nm_queue_policy p);
int nm_queue_policy_from_string(const char *s, enum nm_queue_policy *ret);
const char *nm_reason_name(enum nm_reason r); /* "over-alpha", ... for JSON */
int nm_reason_from_string(const char *s, enum nm_reason *ret);
