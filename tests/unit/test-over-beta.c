/* SPDX-License-Identifier: Apache-2.0 */

/* Each reason for which nmd takes no action although memory is above the preemption threshold, and the sentence for
 * this reason. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/node/over-beta.h"

#define MIB(n) ((uint64_t)(n) * NM_MIB)

static struct nm_policy_settings settings = {
    .capacity = {.memory_bytes = MIB(1000), .cpu_millicores = 2000},
    .over_allocation = true,
    .preemption_threshold = {.memory = 0.95, .cpu = 0.95},
    .kills_per_minute = 20,
};

/* Returns input values for which the next sample would lead to an action. */
static struct nm_over_beta acted_on(void)
{
    return (struct nm_over_beta){.settings = &settings, .used_bytes = MIB(970), .in_use_bytes = MIB(960),
                                 .guaranteed_bytes = MIB(500), .others_bytes = MIB(60), .takeable_bytes = MIB(400)};
}

static void expect(const struct nm_over_beta *o, const char *part)
{
    char text[400];

    assert_true(nm_over_beta_explain(o, text, sizeof text));
    print_message("%s\n", text);
    assert_non_null(strstr(text, "Memory used or reserved is 970 MiB of 1000 MiB (97.0 %), above the preemption "
                                 "threshold of 95 %, but nmd takes no memory back: "));
    assert_non_null(strstr(text, part));
    assert_int_equal(text[strlen(text) - 1], '.'); /* the buffer must hold the complete sentence */
}

static void test_below_beta_no_reason_is_reported(void **state)
{
    struct nm_over_beta o = acted_on();
    char text[400] = "x";

    (void)state;
    assert_false(nm_over_beta_explain(&o, text, sizeof text));
    assert_string_equal(text, "");
    o.used_bytes = MIB(950); /* memory is at the threshold, not above it */
    o.takeable_bytes = 0;
    assert_false(nm_over_beta_explain(&o, text, sizeof text));
    assert_string_equal(text, "");
}

static void test_each_reason_has_a_sentence(void **state)
{
    struct nm_over_beta o = acted_on();

    (void)state;
    o.preempt_wait_reason = NM_REASON_SETTLING;
    expect(&o, "some samples must first show the memory that was taken back last.");
    o.kills_last_minute = 20;
    expect(&o, "20 containers were ended within the last minute, and [preemption] kills-per-minute allows no more.");
    o.takeable_bytes = MIB(1) - 1;
    expect(&o, "no opportunistic container holds memory that can be taken back. Guaranteed containers use 500 MiB, "
               "which they keep, and other processes on the node use 60.0 MiB.");
    o.ending_bytes = MIB(300);
    expect(&o, "300 MiB are being freed already");
    o.in_use_bytes = MIB(950);
    expect(&o, "only 950 MiB of it is in use. The rest is reserved for containers that have just started");
    settings.over_allocation = false;
    expect(&o, "over-allocation is off");
    settings.over_allocation = true;
    o.shadow = true;
    expect(&o, "shadow mode");
    o.stale = true;
    expect(&o, "no fresh sample");
}

static void test_the_reason_names_a_kill_budget_of_zero(void **state)
{
    struct nm_over_beta o = acted_on();

    (void)state;
    settings.kills_per_minute = 0;
    expect(&o, "0 containers were ended within the last minute");
    settings.kills_per_minute = 20;
}

static void test_a_sentence_does_not_overrun_a_small_buffer(void **state)
{
    struct nm_over_beta o = acted_on();
    char text[16];

    (void)state;
    o.stale = true;
    assert_true(nm_over_beta_explain(&o, text, sizeof text));
    assert_string_equal(text, "Memory used or ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_below_beta_no_reason_is_reported),
        cmocka_unit_test(test_each_reason_has_a_sentence),
        cmocka_unit_test(test_the_reason_names_a_kill_budget_of_zero),
        cmocka_unit_test(test_a_sentence_does_not_overrun_a_small_buffer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
