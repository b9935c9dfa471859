/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The policy: a pure function from (settings, its own small memory, views of all live containers,
 * the node's sample, now) to a list of actions. No clock, no I/O, no logging, and no allocation in
 * nm_policy_decide(): its workspace is grown beforehand by nm_policy_reserve(). The daemon, the
 * tests, the fuzzer and the simulator run this same code.
 *
 * The rules are DESIGN.md section 5, with these points settled here:
 *
 *  - Estimated use U_r = max(sum of estimates, node-level use beyond the reserve + what warm-up
 *    reserves and the node can't show yet). Worked out as sum of estimates + "system": what the
 *    newest sample showed in use at node level beyond the reserve and beyond what it showed in the
 *    containers. The system part is remembered until the next sample, the estimates are of this
 *    very moment: so in a CHANGE round a container that has ended since the sample takes its use
 *    with it, one that was admitted counts with its request, and a frozen one's CPU is free at
 *    once.
 *  - Reservations never make victims: what is held against beta before anything is taken back is
 *    the use that was really measured (verdict.in_use), without warm-up. Only the room for a
 *    guaranteed container is reckoned with U.
 *  - A container leaves its warm-up when warmup_usec have passed *and* it has warmup_samples
 *    samples.
 *  - With over-allocation off, U is the sum of requests, both thresholds are 1, and nothing is
 *    taken back except to make room for a guaranteed container: plain YARN.
 *  - The plain rule ("total allocation + request <= C") also wants U < beta*C and U + request <= C
 *    for every resource: what the system around the containers uses is not there to be given away.
 *  - Nothing, guaranteed or not, is admitted without a fresh sample, and nothing is killed without
 *    one: not even at its pause deadline. Opportunistic containers also need its CPU figure
 *    (cpu_valid).
 *  - Memory and CPU are taken back on their thresholds only in SAMPLE and PRESSURE rounds (CPU:
 *    SAMPLE and LOOK); room for a guaranteed container is made in any round.
 *  - Samples in a row mean their time as well: N of them are N - 1 periods from the first to the
 *    last, less the jitter of a timer. A look between two samples may be the first of them, and so
 *    the only one where one is enough; it never is one of several, nor ends their row.
 *  - A victim is stuck when it has neither gone nor let go of a good piece of its memory for
 *    NM_STUCK_USEC: a large one takes its time.
 *  - A freeze that is not done after NM_STUCK_USEC (a process hangs in the kernel, and its siblings
 *    are half frozen with it) is taken back, without a sample, too. For NM_FREEZE_AGAIN_USEC that
 *    container is passed over, and another is paused in its place.
 *  - After the host has slept, pauses don't end at their deadline before NM_WAKE_SAMPLES samples, and
 *    as many as settling takes, have given them the chance to end by going on.
 *  - Each resource settles by itself: a freeze never delays a kill for memory. While one settles,
 *    or a squeeze is on, nothing opportunistic is admitted or resumed.
 *  - The kill budget holds back kills for memory and CPU over beta. Kills that make room for a
 *    guaranteed container or end a pause at its deadline are not held back (requests and clock
 *    bound them), but are counted. A pause that a person began is that person's affair: its end
 *    counts for neither budget nor breaker.
 *  - The breaker is about load: a kill that makes room for a guaranteed container says nothing of it,
 *    is no reason to hold admissions, and leaves the hold as it was.
 *  - Where surges of guaranteed containers cost opportunistic ones too much of their work, nothing
 *    opportunistic is admitted for a while but beside such a surge (policy-margin.c), not even by the
 *    plain rule.
 *  - What the kernel kills for want of memory holds admissions as a kill of ours does: it says that
 *    we were too slow. So it spends nothing of the budget, which is there to bound ourselves.
 *  - Resume: CPU U + last use <= beta*C, CPU U < alpha*C, memory in use <= beta*C; strictly in
 *    arrival order. A container that used nearly all CPU would wait for its deadline even on an
 *    idle node: it is let go again when no other opportunistic container runs, CPU U < alpha*C/2
 *    and a sixteenth of its pause deadline is over.
 *  - A guaranteed container whose CPU is a share (cpu_is_share) is promised memory and a weight. Its CPU is no reason
 *    to refuse it, to let it wait or to take anything back for it, and takes no part of what is promised to others;
 *    it counts as everybody's does in U and in what is allocated, which may so exceed C. An opportunistic one's CPU
 *    is looked at whatever it will be when it is promoted.
 *  - Smaller containers may pass a head of the queue that is too large for now, by a rule that bounds
 *    what it costs that one; policy-pass.c describes it.
 *  - Paused containers have the first claim on CPU: a queued one is admitted only beside what the
 *    paused ones will use when resumed (each at most its request, so that one that burst can't
 *    block the queue).
 *  - Before a running container is killed for memory over beta, a part of its memory goes to swap, if
 *    that does it within reclaim_usec and before the growth of use reaches C. policy-reclaim.c has
 *    the rule.
 *  - What a container has in swap comes back when it runs again. So a paused one is resumed only if
 *    memory U + its swap <= beta*C, counts with it until it has run for as long as a warm-up, and a
 *    queued one is admitted only beside the swap of all paused ones, a person's included: they
 *    count their memory in full, wherever it is. What is still in swap after that is not in use.
 *  - With pausing on, CPU never kills. With it off, what would have been paused is killed.
 *  - A container inside its minimum run time is passed over as a victim while any other will do.
 *    Application masters (exempt) are never victims.
 *  - squeeze: as soon as CPU is over beta once, opportunistic containers together get a CPU quota
 *    that brings use back to between alpha and beta, with a floor for each; only if CPU stays over
 *    beta for cpu_samples samples are containers frozen. It is lifted when they no longer use what
 *    it leaves them. Needs the cpu controller (can_squeeze). policy-squeeze.c describes the
 *    controller.
 *  - What guaranteed containers feel counts, too: where one of them waits for CPUs for longer than
 *    it does without opportunistic work, those are squeezed, whatever CPU use is (guard_stall).
 *    policy-stall.c has the rule. It freezes and kills nothing.
 *  - Where that guard stands and CPU is not taken back by its threshold, nothing that opportunistic
 *    containers do to CPUs comes at the cost of anybody else. So the over-allocation rule wants only half
 *    of the CPU request free for them (U + request / 2 <= beta*C), unless surges cost them work
 *    (policy-margin.c). U < alpha*C holds for them as ever.
 *  - An upstream's container that waits is given back to it when nothing opportunistic has started or gone on for
 *    give_back_usec, so that it can run elsewhere, whatever it is that holds the queue. While something opportunistic
 *    runs, whose end would let the next one start, the wait is NM_GIVE_BACK_BUSY times as long. When the last of
 *    these has ended the short wait begins anew, since queued containers may start now. Starts of others don't
 *    prolong the wait for ever: it ends after NM_GIVE_BACK_MOST times give_back_usec in the queue, and after
 *    NM_GIVE_BACK_BUSY times that for a container that doesn't fit the node at all as it is used.
 *  - No more than NM_STARTS_AT_ONCE opportunistic containers are admitted within NM_STARTS_PAUSE_USEC, and
 *    those count among them that were admitted before and of which nmd hasn't started the shim yet.
 *  - With beta = 1 and no reserve CPU is not taken back by its threshold: nobody can use more than
 *    all CPUs, and if the figures say so, they were not taken in the same instant.
 */

#include "agent/policy/policy-types.h"

int nm_policy_new(struct nm_policy **ret);
struct nm_policy *nm_policy_free(struct nm_policy *p);
NM_DEFINE_CLEANUP(struct nm_policy *, nm_policy_free)
/* Grows the workspace for n live containers. The only function here that allocates. */
int nm_policy_reserve(struct nm_policy *p, size_t n_views, size_t n_apps);

/* One round. Admissions of one round see each other. Never fails: with views beyond what was
 * reserved it asserts. */
void nm_policy_decide(struct nm_policy *p, const struct nm_policy_settings *s,
                      const struct nm_policy_input *in, struct nm_policy_verdict *ret);

/* Why this queued container waits, by the verdict of the round before: BEHIND_OTHERS and
 * GUARANTEED_FIRST for those that are not the head. NM_REASON_NONE for one that doesn't wait. */
enum nm_reason nm_policy_hold_reason(const struct nm_policy_verdict *verdict,
                                     const struct nm_policy_container *v);

/* What a new request is held against: what guaranteed containers are promised, and what those that wait ask for, of
 * which so many are opportunistic. Dying ones don't count, nor does `self`. */
struct nm_policy_claims {
    struct nm_resources guaranteed, waiting;
    uint32_t queued;
};
void nm_policy_get_claims(struct nm_policy_container *const *views, size_t n_views,
                          const struct nm_policy_container *self,
                          struct nm_policy_claims *ret);

/* May this request be taken at all? NM_REASON_NONE, or why it is refused (LARGER_THAN_NODE,
 * GUARANTEED_FULL, QUEUE_FULL). Dying guaranteed containers don't count: the new one waits for
 * them. Those that are being prepared do, and opportunistic ones have their place in the queue.
 * cpu_is_share: as in nm_policy_container. `self`: a live container whose own request is not counted (update,
 * promotion, demotion), or NULL. */
enum nm_reason nm_policy_check_request(const struct nm_policy_settings *s,
                                       struct nm_policy_container *const *views, size_t n_views,
                                       enum nm_execution_type type,
                                       const struct nm_resources *request, bool cpu_is_share,
                                       const struct nm_policy_container *self);

/* The cheap invariants, checked after every round at run time and in the property tests: NULL, or a
 * sentence saying which one is broken. */
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
