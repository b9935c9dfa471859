/* SPDX-License-Identifier: Apache-2.0 */

/* Decision records: their texts, and JSON in both directions. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/decision/decision.h"

#define GIB (UINT64_C(1) << 30)

/* Returns a decision of a node with 8 GiB and 4 cores. */
static struct nm_decision sample(enum nm_decision_kind kind, enum nm_reason reason)
{
    return (struct nm_decision){
        .number = 17,
        .kind = kind,
        .reason = reason,
        .outcome = NM_OUTCOME_DONE,
        .container_id = "container_1_000002",
        .container_name = "hash",
        .type = NM_OPPORTUNISTIC,
        .request = {GIB, 1000},
        .used = {4 * GIB, 1500},
        .allocated = {6 * GIB, 3000},
        .allocated_guaranteed = {5 * GIB, 2000},
        .capacity = {8 * GIB, 4000},
        .over_allocation_threshold = {0.8, 0.8},
        .preemption_threshold = {0.95, 0.95},
        .cpu_samples = 4,
        .queue_length = 3,
        .queue_max_length = 10,
    };
}

static void assert_summary(const struct nm_decision *d, const char *expected)
{
    char buf[512];

    assert_ptr_equal(nm_decision_summary(d, buf, sizeof(buf)), buf);
    assert_string_equal(buf, expected);
}

static void assert_contains(const struct nm_decision *d, const char *expected)
{
    char buf[512];

    assert_non_null(strstr(nm_decision_summary(d, buf, sizeof(buf)), expected));
}

static void test_the_text_of_an_admission_gives_its_reason(void **state)
{
    struct nm_decision d = sample(NM_DECISION_ADMIT, NM_REASON_GUARANTEED);

    (void)state;
    d.type = NM_GUARANTEED;
    assert_summary(&d, "admitted container_1_000002 (hash): it is guaranteed and its request fits "
                       "(memory at 50 % of capacity, 62.5 % with its request; CPU at 37.5 % of capacity, 62.5 % "
                       "with its request)");
    d.used.memory_bytes = 7 * GIB;
    assert_summary(&d, "admitted container_1_000002 (hash): it is guaranteed and no more resources of opportunistic "
                       "containers could be taken back for it (memory at 87.5 % of capacity, 100 % with its request; "
                       "CPU at 37.5 % of capacity, 62.5 % with its request)");
    d.allocated = d.allocated_guaranteed;
    assert_contains(&d, "it is guaranteed and all guaranteed requests together fit the node (memory at 87.5 % of ");
    d = sample(NM_DECISION_ADMIT, NM_REASON_WITHIN_ALLOCATION);
    assert_summary(&d, "admitted container_1_000002 (hash): the node can hold all requests "
                       "together (7.0 GiB of 8.0 GiB, "
                       "4 of 4 vcores, this one included)");
    d = sample(NM_DECISION_ADMIT, NM_REASON_OVER_ALLOCATION);
    d.container_name[0] = '\0';
    assert_summary(&d, "admitted container_1_000002: others use less than they asked for (memory "
                       "at 50 % of capacity, 62.5 % with its request; CPU at 37.5 % of capacity, 62.5 % with its "
                       "request), and that stays within the preemption thresholds of 95 % of memory and 95 % of CPU");
}

static void test_the_text_of_a_queueing_or_refusal_gives_its_reason(void **state)
{
    struct nm_decision d = sample(NM_DECISION_QUEUE, NM_REASON_OVER_ALPHA);

    (void)state;
    d.resource = NM_CPU;
    d.used.cpu_millicores = 3250;
    assert_summary(&d, "queued container_1_000002 (hash): CPU is at 81.2 % of capacity, and opportunistic containers "
                       "start only below the over-allocation threshold of 80 %");
    d.reason = NM_REASON_WOULD_EXCEED_BETA;
    assert_summary(&d, "queued container_1_000002 (hash): CPU is at 81.2 % of capacity, and with "
                       "the 1 vcore that it asks for "
                       "would be at 106.2 %, over the limit of 95 %");
    d.used.cpu_millicores = 2801; /* a value above the limit isn't rounded down to the limit */
    assert_contains(&d, "with the 1 vcore that it asks for would be at 95.03 %, over the limit of 95 %");
    d.used.cpu_millicores = 3250;
    d.reason = NM_REASON_BREAKER;
    assert_summary(&d, "queued container_1_000002 (hash): containers were killed recently for lack of room, so no "
                       "opportunistic container is admitted for some time");
    d = sample(NM_DECISION_QUEUE, NM_REASON_ALLOCATION_FULL);
    assert_summary(&d, "queued container_1_000002 (hash): over-allocation is off, the allocated memory is 6.0 GiB of "
                       "8.0 GiB, and it asks for 1.0 GiB");
    d = sample(NM_DECISION_REFUSE, NM_REASON_LARGER_THAN_NODE);
    d.container_id[0] = '\0';
    d.request = (struct nm_resources){10 * GIB, 1000};
    assert_summary(
        &d, "refused hash: it asks for 10.0 GiB of memory, and the whole node offers 8.0 GiB");
    d.request = (struct nm_resources){GIB, 4500};
    d.container_name[0] = '\0';
    assert_summary(&d,
                   "refused a request: it asks for 4.5 vcores, and the whole node offers 4 vcores");
    d = sample(NM_DECISION_REFUSE, NM_REASON_GUARANTEED_FULL);
    d.request = (struct nm_resources){4 * GIB, 100};
    assert_summary(&d, "refused container_1_000002 (hash): guaranteed containers already hold 5.0 "
                       "GiB of 8.0 GiB of memory, "
                       "and it asks for 4.0 GiB");
    d = sample(NM_DECISION_REFUSE, NM_REASON_QUEUE_FULL);
    d.queue_length = 10;
    assert_summary(&d, "refused container_1_000002 (hash): the queue is full: 10 opportunistic containers are queued, "
                       "the maximum is 10");
    d.reason = NM_REASON_QUEUE_KEPT;
    d.queue_length = 6;
    assert_summary(&d, "refused container_1_000002 (hash): 6 opportunistic containers are queued, and surges of "
                       "guaranteed containers leave little memory: the rest of the queue, of at most 10, is kept for "
                       "containers that ask for more CPU per memory");
    d = sample(NM_DECISION_REFUSE, NM_REASON_QUEUE_FULL);
    d.queue_length = 10;
    d.queue_max_length = UINT32_MAX;
    d.waiting = (struct nm_resources){8 * GIB, 2000};
    assert_contains(&d, "the queue is full: its 10 opportunistic containers and all other queued containers ask for "
                        "8.0 GiB of 8.0 GiB and 2 of 4 vcores, and it doesn't fit the node beside them");
    d = sample(NM_DECISION_QUEUE, NM_REASON_NEVER_FITS);
    assert_contains(&d, "of 8.0 GiB, others on the node use a part, and the limit is 95 %"); /* text of an older nmd */
    d.others.memory_bytes = 2 * GIB;
    d.request.memory_bytes = 7 * GIB;
    assert_contains(&d, "with the 7.0 GiB of memory that it asks for, it would not fit even if no other container ran: "
                        "memory would be at 112.5 %, over the limit of 95 % (of 8.0 GiB, 2.0 GiB are used by others on "
                        "the node); up to 5.5 GiB fits; meanwhile smaller containers pass it");
    d.resource = NM_CPU;
    d.capacity = (struct nm_resources){8 * GIB, 2000};
    d.capacity_vcores_milli = 4000;
    d.request.cpu_millicores = 500;
    d.others.cpu_millicores = 1980;
    assert_contains(&d, "with the 1 vcore (0.5 cores) that it asks for, it would not fit even if no other container ran"
                        ": CPU would be at 124 %, over the limit of 95 % (of 2 cores (4 vcores), 1.98 cores are used "
                        "by others on the node); no request fits until others use less");
    d.others.cpu_millicores = 1700;
    d.request.memory_bytes = 7 * GIB;
    assert_contains(&d, "CPU would be at 110 %, over the limit of 95 % (of 2 cores (4 vcores), 1.7 cores are used by "
                        "others on the node); memory would not suffice, either; meanwhile smaller containers pass it");
}

/* Amounts that look the same when rounded are shown exactly. */
static void test_amounts_that_look_equal_are_shown_exactly(void **state)
{
    struct nm_decision d = sample(NM_DECISION_REFUSE, NM_REASON_LARGER_THAN_NODE);

    (void)state;
    d.request.memory_bytes = d.capacity.memory_bytes + 1;
    assert_contains(&d, "it asks for 8589934593 bytes of memory, and the whole node offers 8589934592 bytes");
    d.request.memory_bytes = 1 * GIB;
    d.request.cpu_millicores = d.capacity.cpu_millicores + 1;
    assert_contains(&d, "it asks for 4.001 vcores, and the whole node offers 4 vcores");
}

/* The request alone exceeds the limit. The text names neither the use of others as the cause nor waiting as advice. */
static void test_the_text_of_a_request_above_the_limit_names_the_request_as_the_cause(void **state)
{
    struct nm_decision d = sample(NM_DECISION_QUEUE, NM_REASON_NEVER_FITS);
    _cleanup_free_ char *text = NULL;

    (void)state;
    d.resource = NM_CPU;
    d.capacity.cpu_millicores = 2000;
    d.request.cpu_millicores = 2000;
    d.others.cpu_millicores = 10;
    assert_contains(&d, "with the 2 vcores that it asks for, it would not fit even if no other container ran: CPU "
                        "would be at 100.5 %, over the limit of 95 % (of 2 cores, 0.01 cores are used by others on the "
                        "node); up to 1.89 vcores fit; meanwhile smaller containers pass it");
    assert_int_equal(nm_decision_explain(&d, &text), 0);
    assert_non_null(strstr(text, "What you can do: ask for less, or ask for it as guaranteed."));
}

static void assert_advice(const struct nm_decision *d, bool less, bool guaranteed)
{
    _cleanup_free_ char *text = NULL;

    assert_int_equal(nm_decision_explain(d, &text), 0);
    assert_int_equal(strstr(text, "ask for less") != NULL, less);
    assert_int_equal(strstr(text, "ask for it as guaranteed") != NULL, guaranteed);
}

/* The advice to request less isn't given if the use of others alone exceeds the limit, so that no request is small
 * enough. */
static void test_a_smaller_request_is_only_advised_if_it_could_start(void **state)
{
    static const enum nm_reason reasons[] = {NM_REASON_OVER_ALPHA, NM_REASON_WOULD_EXCEED_BETA, NM_REASON_NEVER_FITS};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(reasons); i++) {
        struct nm_decision d = sample(NM_DECISION_QUEUE, reasons[i]);

        d.resource = NM_CPU;
        d.others.cpu_millicores = 3700;
        assert_advice(&d, true, true);
        d.others.cpu_millicores = 3800;
        assert_advice(&d, false, true);
    }
}

/* The text gives the measured use, the reserve and the use of others as separate figures. */
static void test_measured_use_reserve_and_others_are_separate_figures(void **state)
{
    struct nm_decision d = sample(NM_DECISION_QUEUE, NM_REASON_WOULD_EXCEED_BETA);
    _cleanup_free_ char *text = NULL;

    (void)state;
    d.resource = NM_CPU;
    d.used.cpu_millicores = 5760;
    d.measured.cpu_millicores = 1500;
    d.reserved.cpu_millicores = 4000;
    d.others.cpu_millicores = 260;
    assert_summary(&d, "queued container_1_000002 (hash): CPU used or reserved is at 144 % of capacity "
                        "(1.5 cores used by containers, 4 "
                       "cores reserved while they warm up, 0.26 cores used by others on the node), and with the 1 "
                       "vcore that it asks for would be at 169 %, over the limit of 95 %");
    assert_int_equal(nm_decision_explain(&d, &text), 0);
    assert_non_null(strstr(text, "  CPU:    1.5 cores used by containers, 4 cores reserved while they warm up, "
                                 "0.26 cores used "
                                 "by others on the node: together 5.76 cores of 4 cores (144 %); 3 of 4 vcores "
                                 "allocated; "));
    d = sample(NM_DECISION_KILL, NM_REASON_MEMORY_OVER_BETA);
    d.used.memory_bytes = d.measured.memory_bytes = 7800 * NM_MIB;
    assert_summary(&d, "killed container_1_000002 (hash): memory was at 95.2 % of capacity (7.6 GiB of 8.0 GiB: "
                       "7.6 GiB used by containers), over the preemption threshold of 95 %");
}

/* The node has eight vcores and four CPUs. Requests are shown in vcores, the unit in which they were made. */
static void test_requests_are_shown_in_vcores(void **state)
{
    struct nm_decision d = sample(NM_DECISION_REFUSE, NM_REASON_GUARANTEED_FULL);

    (void)state;
    d.capacity_vcores_milli = 8000;
    d.allocated_guaranteed.cpu_millicores = 3500;
    assert_contains(&d, "guaranteed containers already hold 7 of 8 vcores, and it asks for 2 vcores");
}

static void test_repeated_refusals_are_counted(void **state)
{
    struct nm_decision d = sample(NM_DECISION_REFUSE, NM_REASON_QUEUE_FULL);
    _cleanup_free_ char *text = NULL;

    (void)state;
    setenv("TZ", "UTC", 1);
    d.container_id[0] = '\0';
    d.n_times = 1;
    assert_contains(&d, "refused hash: the queue is full");
    d.n_times = 240;
    d.realtime_usec = UINT64_C(1763769112000000);
    d.first_realtime_usec = d.realtime_usec - 62 * NM_USEC_PER_SEC;
    assert_contains(&d, "refused 240 requests, the last one hash: the queue is full");
    assert_int_equal(nm_decision_explain(&d, &text), 0);
    assert_non_null(strstr(text, "Refused 240 requests, the last one hash at 2025-11-21 23:51:52, the first at "
                                 "23:50:50 "));
    d.container_name[0] = '\0';
    assert_contains(&d, "refused 240 requests: the queue is full");
}

static void test_the_text_of_a_kill_or_pause_gives_its_reason(void **state)
{
    struct nm_decision d = sample(NM_DECISION_KILL, NM_REASON_MEMORY_OVER_BETA);

    (void)state;
    d.used.memory_bytes = 7800 * NM_MIB;
    assert_summary(&d, "killed container_1_000002 (hash): memory was at 95.2 % of capacity (7.6 "
                       "GiB of 8.0 GiB), over the "
                       "preemption threshold of 95 %");
    d.used.memory_bytes = 7783 * NM_MIB;
    assert_summary(&d, "killed container_1_000002 (hash): memory was at 95 % of capacity (7.6 GiB "
                       "of 8.0 GiB), just over the "
                       "preemption threshold of 95 %");
    d = sample(NM_DECISION_PAUSE, NM_REASON_CPU_OVER_BETA);
    d.resource = NM_CPU;
    d.used.cpu_millicores = 3920;
    d.consecutive_samples = 4;
    assert_summary(
        &d,
        "paused container_1_000002 (hash): CPU was at 98 % of capacity (3.92 of 4 cores), over the "
        "preemption threshold of 95 %, in 4 samples in a row");
    d.kind = NM_DECISION_KILL;
    assert_summary(
        &d,
        "killed container_1_000002 (hash): CPU was at 98 % of capacity (3.92 of 4 cores), over the "
        "preemption threshold of 95 %, in 4 samples in a row, and pausing is off");
    d = sample(NM_DECISION_KILL, NM_REASON_ROOM_FOR_GUARANTEED);
    strcpy(d.on_behalf_of, "container_1_000009");
    assert_summary(&d, "killed container_1_000002 (hash): container_1_000009, which is guaranteed, "
                       "needs room, and memory is "
                       "short (4.0 GiB of 8.0 GiB used or reserved)");
    d = sample(NM_DECISION_RECLAIM, NM_REASON_FROZEN_MEMORY);
    d.used.memory_bytes = 8 * GIB;
    d.predicted.memory_bytes = 512 * NM_MIB;
    assert_summary(&d, "reclaimed memory of container_1_000002 (hash): memory was at 100 % of "
                       "capacity (8.0 GiB of 8.0 GiB), "
                       "over the preemption threshold of 95 %, and it is paused, so that up to 512 "
                       "MiB of its memory can "
                       "go to swap without slowing anything down");
    d = sample(NM_DECISION_RESUME, NM_REASON_BELOW_THRESHOLD);
    d.predicted.cpu_millicores = 750;
    assert_summary(&d, "resumed container_1_000002 (hash): CPU is down to 37.5 % of capacity "
                       "(over-allocation threshold "
                       "80 %), and the 0.75 cores that it used before its pause fit again");
    d.predicted.memory_bytes = 512 * NM_MIB;
    assert_summary(&d, "resumed container_1_000002 (hash): CPU is down to 37.5 % of capacity "
                       "(over-allocation threshold "
                       "80 %), and the 0.75 cores that it used before its pause fit again, as do the 512 MiB of "
                       "its memory that comes back from swap");
    d = sample(NM_DECISION_PAUSE, NM_REASON_USER);
    strcpy(d.by_user, "fred");
    assert_summary(&d, "paused container_1_000002 (hash): fred asked for it");
    d = sample(NM_DECISION_SQUEEZE, NM_REASON_CPU_OVER_BETA);
    d.used.cpu_millicores = 4000;
    d.predicted.cpu_millicores = 1250;
    assert_summary(&d, "set the CPU limit of all opportunistic containers together to 1.25 cores: "
                       "CPU was at 100 % of "
                       "capacity (4 of 4 cores), over the preemption threshold of 95 %");
    d = sample(NM_DECISION_SQUEEZE, NM_REASON_GUARANTEED_STALLED);
    d.predicted.cpu_millicores = 1250;
    d.stall_permille = 254;
    d.stall_base_permille = 12;
    strcpy(d.on_behalf_of, "container_1_000007");
    assert_summary(&d, "set the CPU limit of all opportunistic containers together to 1.25 cores: container_1_000007, "
                       "which is guaranteed, waited for a CPU 25.4 % of the time, and 1.2 % is normal for it without "
                       "opportunistic containers");
    d = sample(NM_DECISION_QUEUE, NM_REASON_SURGE_MARGIN);
    d.margin_bytes = 3 * GIB;
    d.margin_left_usec = 150 * NM_USEC_PER_SEC;
    d.margin_peak_permille = 905;
    d.used.memory_bytes = 4 * GIB;
    d.request.memory_bytes = GIB;
    assert_summary(&d, "queued container_1_000002 (hash): it would fit now, but not beside another surge of guaranteed "
                       "containers like the last ones, when they used 90.5 % of their promised memory: 3.0 GiB are "
                       "kept free for such a surge for another 2m30s, and with the 1.0 GiB that it asks for, memory "
                       "would be at 100 %, over the limit of 95 %");
    d = sample(NM_DECISION_ADMIT, NM_REASON_OVER_ALLOCATION);
    d.preemption_threshold.cpu = 1;
    d.used.cpu_millicores = 3900;
    d.request.cpu_millicores = 200;
    assert_contains(&d, "; at least half of the CPU that it asks for is free, and guaranteed containers do not wait "
                        "for CPUs");
    strcpy(d.on_behalf_of, "container_1_000007");
    assert_contains(&d, "; it passes container_1_000007, which is before it in the queue and too large for now");
    d = sample(NM_DECISION_SQUEEZE, NM_REASON_BELOW_THRESHOLD);
    assert_summary(&d, "set the CPU limit of all opportunistic containers together to none: "
                       "no guaranteed container waits because of them, and CPU is at 37.5 % of capacity");
}

static void test_each_outcome_of_a_decision_has_a_text(void **state)
{
    struct nm_decision d = sample(NM_DECISION_PAUSE, NM_REASON_USER);

    (void)state;
    d.outcome = NM_OUTCOME_PENDING;
    assert_summary(&d, "pausing container_1_000002 (hash): a user asked for it");
    d.outcome = NM_OUTCOME_SHADOW;
    assert_summary(&d, "would have paused container_1_000002 (hash): a user asked for it");
    d.outcome = NM_OUTCOME_FAILED;
    strcpy(d.error, "its processes did not freeze within 10s");
    assert_summary(&d, "could not pause container_1_000002 (hash) (its processes did not freeze "
                       "within 10s): a user asked "
                       "for it");
}

/* Each reason needs a text with numbers and a text without numbers. No text may exceed its buffer. */
static void test_each_kind_and_reason_of_a_decision_has_a_text(void **state)
{
    (void)state;
    for (enum nm_decision_kind k = 0; k < NM_DECISION_KIND_COUNT; k++)
        for (enum nm_reason r = 0; r < NM_REASON_COUNT; r++) {
            struct nm_decision d = sample(k, r), bare = {.kind = k, .reason = r};
            _cleanup_free_ char *text = NULL, *bare_text = NULL;
            char buf[512], tiny[16];

            assert_true(strlen(nm_reason_text(r)) > 8);
            assert_int_equal(nm_decision_explain(&d, &text), 0);
            assert_int_equal(nm_decision_explain(&bare, &bare_text), 0);
            nm_decision_summary(&d, buf, sizeof(buf));
            nm_decision_summary(&d, tiny, sizeof(tiny));
            assert_true(strlen(buf) > 30 && strlen(buf) < sizeof(buf) - 1);
            assert_memory_equal(buf, tiny, strlen(tiny));
            assert_non_null(strstr(text, "Why: "));
        }
}

static struct nm_decision complete(void)
{
    struct nm_decision d = sample(NM_DECISION_KILL, NM_REASON_MEMORY_OVER_BETA);

    d.realtime_usec = UINT64_C(1763769112000000);
    d.used.memory_bytes = 7800 * NM_MIB;
    d.capacity_vcores_milli = 4000;
    d.waiting = (struct nm_resources){GIB, 250};
    d.n_times = 1;
    d.first_realtime_usec = d.realtime_usec;
    d.predicted = (struct nm_resources){900 * NM_MIB, 250};
    d.regained = (struct nm_resources){880 * NM_MIB, 240};
    d.regained_known = true;
    d.cause_usec = 5000000;
    d.decided_usec = 5000300;
    d.acted_usec = 5001500;
    d.effective_usec = 5046700;
    d.n_candidates_total = 15;
    d.n_candidates = 4;
    for (uint32_t i = 0; i < d.n_candidates; i++) {
        struct nm_decision_candidate *c = &d.candidates[i];

        (void)snprintf(c->id, sizeof(c->id), "container_1_%06u", 4 - i);
        strcpy(c->name, i == 1 ? "" : "hash");
        c->started_usec = 4000000 - i * 1000000;
        c->use = (struct nm_resources){900 * NM_MIB, 250};
        c->cpu_usage_usec = 1500000 * i;
    }
    d.candidates[0].passed_over = NM_PASSED_MIN_RUNTIME;
    d.candidates[1].passed_over = NM_PASSED_EXEMPT;
    strcpy(d.candidates[2].id, d.container_id);
    d.candidates[3].passed_over = NM_PASSED_NOT_NEEDED;
    return d;
}

static void test_the_explanation_of_a_decision_has_all_amounts(void **state)
{
    struct nm_decision d = complete();
    _cleanup_free_ char *text = NULL;

    (void)state;
    setenv("TZ", "UTC", 1);
    assert_int_equal(nm_decision_explain(&d, &text), 0);
    assert_string_equal(
        text, "Killed container_1_000002 (hash) at 2025-11-21 23:51:52 (decision 17).\n  Why: memory was at 95.2 % of "
              "capacity (7.6 GiB of 8.0 GiB), over the preemption threshold of 95 %.\n  Memory: 7.6 GiB of 8.0 GiB "
              "(95.2 %); 6.0 GiB of 8.0 GiB allocated; over-allocation threshold 80 %, preemption threshold 95 %.\n  "
              "CPU:    1.5 cores of 4 cores (37.5 %); 3 of 4 vcores allocated; over-allocation threshold 80 %, "
              "preemption threshold 95 %.\n  It is opportunistic and asks for 1.0 GiB and 1 vcore.\n  Considered, the "
              "latest-started first (reverse-arrival):\n    1. container_1_000004 (hash): 900 MiB and 0.25 cores, "
              "started 1s before, no CPU time so far; spared, it is still within its minimum run time.\n    2. "
              "container_1_000003: 900 MiB and 0.25 cores, started 2s before, 1.5s CPU time so far; spared, it is an "
              "application master.\n    3. container_1_000002 (hash): 900 MiB and 0.25 cores, started 3s before, 3s "
              "CPU time so far; chosen: this one.\n    4. container_1_000001 (hash): 900 MiB and 0.25 cores, started "
              "4s before, 4.5s CPU time so far; spared, the others are enough.\n       and 11 more.\n  Expected back: "
              "900 MiB and 0.25 cores; really regained: 880 MiB and 0.24 cores.\n  It took 0.3 ms from its cause to "
              "the decision, 1.2 ms until it was carried out, 45 ms until it was effective.\n  What you can do: submit "
              "it again (it will wait until there is room), ask for it as guaranteed if it must not be interrupted, or "
              "give it a minimum run time (--min-runtime), during which other containers are chosen first.\n");
}

/* The victim of this decision uses no CPU, and CPU is short. So the policy expects nothing back from its pause (the
 * victim has no credit), and the text says so. */
static void test_the_text_of_a_victim_without_credit_states_that_it_frees_nothing(void **state)
{
    struct nm_decision d = complete();
    _cleanup_free_ char *text = NULL;

    (void)state;
    d.kind = NM_DECISION_PAUSE;
    d.resource = NM_CPU;
    d.predicted = d.candidates[0].use = (struct nm_resources){0};
    d.regained = (struct nm_resources){.cpu_millicores = 0};
    assert_int_equal(nm_decision_explain(&d, &text), 0);
    assert_non_null(strstr(text, "container_1_000004 (hash): 0 cores, started"));
    assert_non_null(strstr(text, "Expected back: 0 cores; really regained: 0 cores."));
}

/* A container of a cluster gets no advice about nmctl or options, because its user can't submit it again on this
 * node. */
static void test_the_text_for_a_container_of_a_cluster_has_no_advice(void **state)
{
    struct nm_decision d = complete();
    _cleanup_free_ char *text = NULL;

    (void)state;
    (void)strcpy(d.container_id, "container_e17_1795472749985_0008_01_000003");
    assert_int_equal(nm_decision_explain(&d, &text), 0);
    assert_non_null(strstr(text, "What you can do: nothing on this node"));
    assert_null(strstr(text, "--min-runtime"));
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void test_a_decision_reads_back_from_json(void **state)
{
    struct nm_decision d = complete(), back;
    json_t *j = nm_decision_to_json(&d);

    (void)state;
    assert_non_null(j);
    assert_string_equal(json_string_value(json_object_get(j, "kind")), "kill");
    assert_string_equal(json_string_value(json_object_get(j, "reason")), "memory-over-beta");
    assert_int_equal(nm_decision_from_json(j, &back), 0);
    assert_memory_equal(&d, &back, sizeof(d));
    json_decref(j);

    d.regained_known = false;
    d.regained = (struct nm_resources){0};
    d.n_candidates = d.n_candidates_total = 0;
    memset(d.candidates, 0, sizeof(d.candidates));
    d.waiting = (struct nm_resources){0};
    d.on_behalf_of[0] = '\0';
    j = nm_decision_to_json(&d);
    assert_null(json_object_get(j, "regained"));
    assert_null(json_object_get(j, "candidates"));
    assert_null(json_object_get(j, "waiting"));
    assert_null(json_object_get(j, "on_behalf_of"));
    assert_int_equal(nm_decision_from_json(j, &back), 0);
    assert_memory_equal(&d, &back, sizeof(d));
    json_decref(j);
}

static void test_the_json_of_a_decision_of_an_older_nmd_is_read(void **state)
{
    struct nm_decision d = complete(), back;
    json_t *j = nm_decision_to_json(&d);

    (void)state;
    json_object_del(j, "allocated_guaranteed");
    json_object_del(j, "candidates");
    json_object_set_new(j, "of a newer one", json_true());
    assert_int_equal(nm_decision_from_json(j, &back), 0);
    assert_int_equal(back.allocated_guaranteed.memory_bytes, 0);
    assert_int_equal(back.used.memory_bytes, d.used.memory_bytes);
    json_decref(j);
}

static void test_malformed_json_of_a_decision_is_refused(void **state)
{
    static const struct {
        const char *member, *value;
    } cases[] = {
        {"number", "-1"},
        {"number", "\"17\""},
        {"number", "1.5"},
        {"kind", "\"murder\""},
        {"kind", "null"},
        {"reason", "4"},
        {"resource", "\"disk\""},
        {"outcome", "\"maybe\""},
        {"execution_type", "\"\""},
        {"victim_order", "\"oldest\""},
        {"container_id", "\"0123456789012345678901234567890123456789012345678901234567890123\""},
        {"container_id", "\"a\\u0000b\""},
        {"by_user", "[]"},
        {"used", "7"},
        {"used", "{\"memory_bytes\": 7}"},
        {"used", "{\"memory_bytes\": -7, \"cpu_millicores\": 0}"},
        {"preemption_threshold", "{\"memory\": 0.9}"},
        {"preemption_threshold", "{\"memory\": 0.9, \"cpu\": 1.1}"},
        {"queue_length", "4294967296"},
        {"regained", "\"much\""},
        {"candidates", "{}"},
        {"candidates", "[7]"},
        {"candidates", "[{\"id\": \"a\"}]"},
        {"candidates", "[{},{},{},{},{},{},{},{},{},{},{},{},{}]"},
        {"n_candidates_total", "3"},
    };
    struct nm_decision d = complete(), back = {.number = 99};
    json_t *j = nm_decision_to_json(&d);

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        json_t *bad = json_copy(j),
               *value = json_loads(cases[i].value, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);

        assert_non_null(value);
        assert_int_equal(json_object_set_new(bad, cases[i].member, value), 0);
        if (nm_decision_from_json(bad, &back) != -EBADMSG)
            fail_msg("%s = %s was accepted", cases[i].member, cases[i].value);
        json_decref(bad);
    }
    for (size_t i = 0; i < 5; i++) {
        static const char *const needed[] = {"number", "kind", "reason", "outcome", "container_id"};
        json_t *bad = json_copy(j);

        json_object_del(bad, needed[i]);
        assert_int_equal(nm_decision_from_json(bad, &back), -EBADMSG);
        json_decref(bad);
    }
    assert_int_equal(nm_decision_from_json(NULL, &back), -EBADMSG);
    assert_int_equal(back.number, 99);
    json_decref(j);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_text_of_an_admission_gives_its_reason),
        cmocka_unit_test(test_the_text_of_a_queueing_or_refusal_gives_its_reason),
        cmocka_unit_test(test_the_text_of_a_request_above_the_limit_names_the_request_as_the_cause),
        cmocka_unit_test(test_amounts_that_look_equal_are_shown_exactly),
        cmocka_unit_test(test_measured_use_reserve_and_others_are_separate_figures),
        cmocka_unit_test(test_a_smaller_request_is_only_advised_if_it_could_start),
        cmocka_unit_test(test_requests_are_shown_in_vcores),
        cmocka_unit_test(test_repeated_refusals_are_counted),
        cmocka_unit_test(test_the_text_of_a_kill_or_pause_gives_its_reason),
        cmocka_unit_test(test_each_outcome_of_a_decision_has_a_text),
        cmocka_unit_test(test_each_kind_and_reason_of_a_decision_has_a_text),
        cmocka_unit_test(test_the_explanation_of_a_decision_has_all_amounts),
        cmocka_unit_test(test_the_text_of_a_victim_without_credit_states_that_it_frees_nothing),
        cmocka_unit_test(test_the_text_for_a_container_of_a_cluster_has_no_advice),
        cmocka_unit_test(test_a_decision_reads_back_from_json),
        cmocka_unit_test(test_the_json_of_a_decision_of_an_older_nmd_is_read),
        cmocka_unit_test(test_malformed_json_of_a_decision_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
