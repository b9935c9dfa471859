/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The link sampler, if its socket can't be made, and if it receives unexpected answers. After any failure the caller's
 * figures are unchanged, and the next sample is complete.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <netlink/errno.h>
#include <string.h>

#include "monitor/monitor.h"
#include "tests/unit/fail-nth.h"
#include "tests/unit/fake-netlink.h"
#include "util/macros.h"

#define SPEED_MBIT 10
#define SAMPLER_ALLOCATIONS 2 /* number of allocations: the sampler and its buffer; libnl allocates the socket */
#define UNCHANGED 77          /* the number of links before a sample that fails */

static struct nm_link_sampler *new_sampler(void)
{
    struct nm_link_sampler *s = NULL;

    assert_int_equal(nm_link_sampler_new(SPEED_MBIT, &s), 0);
    return s;
}

/* The result of one sample. */
struct sampled {
    int result;
    struct nm_link_sample links[NM_LINKS_MAX];
    unsigned n_links;
};

static struct sampled sample_at_usec(struct nm_link_sampler *s, uint64_t now_usec)
{
    struct sampled got = {.n_links = UNCHANGED};

    got.result = nm_link_sampler_sample(s, now_usec, got.links, &got.n_links);
    return got;
}

static struct sampled sample_at(struct nm_link_sampler *s, unsigned sec)
{
    return sample_at_usec(s, sec * NM_USEC_PER_SEC);
}

static void assert_sampled(const struct sampled *got, unsigned n_links)
{
    assert_int_equal(got->result, 0);
    assert_int_equal(got->n_links, n_links);
}

static void assert_failed(const struct sampled *got, int error)
{
    assert_int_equal(got->result, error);
    assert_int_equal(got->n_links, UNCHANGED);
}

/* ---- the socket -------------------------------------------------------------------------------- */

static void test_if_the_socket_can_not_be_made_the_error_of_libnl_is_returned(void **state)
{
    static const struct {
        int nle, expected;
    } cases[] = {
        {NLE_NOMEM, -ENOMEM},         {NLE_NOACCESS, -EPERM},   {NLE_PERM, -EPERM},
        {NLE_AGAIN, -EAGAIN},         {NLE_BUSY, -EBUSY},       {NLE_AF_NOSUPPORT, -EAFNOSUPPORT},
        {NLE_PROTO_MISMATCH, -EAFNOSUPPORT}, {NLE_OPNOTSUPP, -EOPNOTSUPP}, {NLE_OBJ_NOTFOUND, -ENODEV},
        {NLE_NODEV, -ENODEV},         {NLE_INVAL, -EINVAL},     {NLE_FAILURE, -EIO},
    };
    struct nm_link_sampler *s = NULL;

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        fake_netlink.connect_fails = -cases[i].nle;
        assert_int_equal(nm_link_sampler_new(0, &s), cases[i].expected);
        fake_netlink.connect_fails = 0;
        fake_netlink.nonblocking_fails = -cases[i].nle;
        assert_int_equal(nm_link_sampler_new(0, &s), cases[i].expected);
        fake_netlink.nonblocking_fails = 0;
    }
    fake_netlink.alloc_fails = true;
    assert_int_equal(nm_link_sampler_new(0, &s), -ENOMEM);
    assert_null(s);
    assert_null(nm_link_sampler_free(NULL));
}

static int make_one(void *userdata)
{
    struct nm_link_sampler *s = NULL;
    int r = nm_link_sampler_new(0, &s);

    (void)userdata;
    assert_true((s != NULL) == (r == 0));
    (void)nm_link_sampler_free(s);
    return r;
}

static void test_each_failed_allocation_is_an_error(void **state)
{
    (void)state;
    assert_int_equal(fail_each(make_one, NULL), SAMPLER_ALLOCATIONS);
}

/* ---- answers --------------------------------------------------------------------------------- */

/* Messages that don't belong to the answer are skipped, and all links are found. */
static void test_messages_that_do_not_belong_to_the_answer_are_skipped(void **state)
{
    static const enum netlink_answer answers[] = {LINKS, INTERRUPTED, OF_ANOTHER_PROCESS, OF_EARLIER_REQUEST,
                                                  WITH_UNNAMED_LINK};
    _cleanup_(nm_link_sampler_freep) struct nm_link_sampler *s = new_sampler();

    (void)state;
    for (unsigned i = 0; i < NM_ARRAY_SIZE(answers); i++) {
        struct sampled got;

        fake_netlink.answer = answers[i];
        fake_netlink.send_interrupted = i;
        fake_netlink.bytes += 1000;

        got = sample_at(s, i + 1);

        assert_sampled(&got, 2);
        assert_string_equal(got.links[0].name, "one");
        assert_string_equal(got.links[1].name, "two");
        assert_false(got.links[0].uplink);
        assert_int_equal(got.links[0].rx_bytes_per_sec, i == 0 ? 0 : 1000);
        assert_int_equal(got.links[0].speed_mbit, SPEED_MBIT);
    }
}

static void test_the_link_of_the_default_route_is_the_uplink(void **state)
{
    _cleanup_(nm_link_sampler_freep) struct nm_link_sampler *s = new_sampler();
    struct sampled got;

    (void)state;
    fake_netlink.has_routes = true;

    got = sample_at(s, 1);

    assert_sampled(&got, 2);
    assert_true(got.links[0].uplink);
    assert_false(got.links[1].uplink);
}

/* A sampler that keeps the uplinks asks for them again after a minute, or at once when it no longer keeps them. */
static void test_kept_uplinks_are_looked_up_once_per_minute(void **state)
{
    static const struct {
        unsigned at_sec;
        bool keeps, has_routes, is_uplink;
    } steps[] = {{1, true, false, false}, {2, true, true, true},   {3, true, false, true},  {61, true, false, true},
                 {62, true, false, false}, {63, true, true, true}, {64, false, false, false}};
    _cleanup_(nm_link_sampler_freep) struct nm_link_sampler *s = new_sampler();

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(steps); i++) {
        struct sampled got;

        nm_link_sampler_keep_uplinks(s, steps[i].keeps);
        fake_netlink.has_routes = steps[i].has_routes;
        got = sample_at(s, steps[i].at_sec);
        assert_sampled(&got, 2);
        if (got.links[0].uplink != steps[i].is_uplink)
            fail_msg("second %u: the uplink is not as expected", steps[i].at_sec);
    }
}

static void test_an_invalid_answer_leaves_the_figures_unchanged(void **state)
{
    static const struct {
        enum netlink_answer answer;
        int expected;
    } cases[] = {
        {FAILS, -ENOBUFS}, {EMPTY, -EIO}, {TOO_LONG, -E2BIG}, {REFUSED, -EBUSY}, {REFUSED_TOO_SHORT, -EBADMSG},
    };
    _cleanup_(nm_link_sampler_freep) struct nm_link_sampler *s = new_sampler();
    struct sampled got = sample_at(s, 1);

    (void)state;
    assert_int_equal(got.result, 0);
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        fake_netlink.answer = cases[i].answer;
        got = sample_at(s, 2);
        assert_failed(&got, cases[i].expected);
    }
    fake_netlink.send_fails = ECONNREFUSED;
    got = sample_at(s, 2);
    assert_failed(&got, -ECONNREFUSED);
}

static void test_after_a_failed_sample_rates_are_computed_from_the_last_good_sample(void **state)
{
    _cleanup_(nm_link_sampler_freep) struct nm_link_sampler *s = new_sampler();
    struct sampled got = sample_at(s, 1);
    double utilization;

    (void)state;
    assert_int_equal(got.result, 0);
    fake_netlink.send_fails = ECONNREFUSED;
    got = sample_at(s, 2);
    assert_failed(&got, -ECONNREFUSED);

    fake_netlink.send_fails = 0;
    fake_netlink.bytes = 4000;
    got = sample_at(s, 3);

    assert_int_equal(got.result, 0);
    assert_int_equal(got.links[1].tx_bytes_per_sec, 4000 / 2);
    utilization = 4000 / 2 * 8 / (SPEED_MBIT * 1e6);
    assert_true(got.links[1].utilization > utilization - 0.0001 && got.links[1].utilization < utilization + 0.0001);
}

static void test_a_link_that_returns_is_sampled_as_a_new_link(void **state)
{
    _cleanup_(nm_link_sampler_freep) struct nm_link_sampler *s = new_sampler();
    struct sampled got;

    (void)state;
    fake_netlink.answer = ACKNOWLEDGED;
    got = sample_at(s, 1);
    assert_sampled(&got, 0);
    fake_netlink.answer = LINK_ALONE;
    fake_netlink.bytes = 1000;
    got = sample_at(s, 2);
    assert_sampled(&got, 1);

    fake_netlink.answer = ACKNOWLEDGED;
    got = sample_at(s, 3);
    assert_int_equal(got.result, 0);
    fake_netlink.answer = LINK_ALONE;
    fake_netlink.bytes = 2000;
    got = sample_at(s, 4);

    assert_int_equal(got.result, 0);
    assert_int_equal(got.links[0].rx_bytes_per_sec, 0);
}

/* If the clock was set back, no rate is computed until the next sample. */
static void test_if_the_clock_was_set_back_no_rate_is_computed(void **state)
{
    static const struct {
        unsigned at_sec;
        uint64_t bytes, expected_rate;
    } samples[] = {{100, 0, 0}, {50, 5000, 0}, {51, 5500, 500}};
    _cleanup_(nm_link_sampler_freep) struct nm_link_sampler *s = new_sampler();

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(samples); i++) {
        struct sampled got;

        fake_netlink.bytes = samples[i].bytes;
        got = sample_at(s, samples[i].at_sec);
        assert_int_equal(got.result, 0);
        assert_int_equal(got.links[0].rx_bytes_per_sec, samples[i].expected_rate);
    }
}

/* If the kernel doesn't know the speed of a link, the configured speed is used. The kernel's speed is read when a link
 * comes up, and once a minute. */
static void test_the_configured_speed_is_used_for_a_link_of_unknown_speed(void **state)
{
    static const struct {
        const char *speed;
        uint64_t after_sec;
        bool is_down;
        uint64_t expected_mbit;
    } steps[] = {
        {"-1\n", 1, false, SPEED_MBIT},   {"25000\n", 59, false, SPEED_MBIT}, {"25000\n", 1, false, 25000},
        {"1000\n", 1, false, 25000},      {"1000\n", 1, true, SPEED_MBIT},    {"1000\n", 1, false, 1000},
        {"4294967295\n", 60, false, SPEED_MBIT}, {"fast\n", 60, false, SPEED_MBIT},  {NULL, 60, false, SPEED_MBIT},
    };
    _cleanup_(nm_link_sampler_freep) struct nm_link_sampler *s = new_sampler();
    uint64_t now = NM_USEC_PER_SEC;

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(steps); i++) {
        struct sampled got;

        fake_netlink.speed = steps[i].speed;
        fake_netlink.is_down = steps[i].is_down;
        now += steps[i].after_sec * NM_USEC_PER_SEC;
        got = sample_at_usec(s, now);
        assert_int_equal(got.result, 0);
        assert_int_equal(got.links[0].up, !steps[i].is_down);
        if (got.links[0].speed_mbit != steps[i].expected_mbit)
            fail_msg("step %zu: %u Mbit/s", i, (unsigned)got.links[0].speed_mbit);
    }
}

#define link_test(f) cmocka_unit_test_setup(f, fake_netlink_reset)

int main(void)
{
    const struct CMUnitTest tests[] = {
        link_test(test_if_the_socket_can_not_be_made_the_error_of_libnl_is_returned),
        link_test(test_each_failed_allocation_is_an_error),
        link_test(test_messages_that_do_not_belong_to_the_answer_are_skipped),
        link_test(test_the_link_of_the_default_route_is_the_uplink),
        link_test(test_kept_uplinks_are_looked_up_once_per_minute),
        link_test(test_an_invalid_answer_leaves_the_figures_unchanged),
        link_test(test_after_a_failed_sample_rates_are_computed_from_the_last_good_sample),
        link_test(test_a_link_that_returns_is_sampled_as_a_new_link),
        link_test(test_if_the_clock_was_set_back_no_rate_is_computed),
        link_test(test_the_configured_speed_is_used_for_a_link_of_unknown_speed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
