/* SPDX-License-Identifier: Apache-2.0 */

/* The parsers of kernel files that the samplers read: texts and the expected results. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <cmocka.h>

#include "monitor/parse.h"
#include "monitor/rate.h"
#include "util/macros.h"

static void test_meminfo_is_parsed(void **state)
{
    static const struct {
        const char *text;
        int result;
        struct nm_meminfo want;
    } cases[] = {
        {"MemTotal:       24731700 kB\nMemFree: 9 kB\nMemAvailable:   24370324 kB\n"
         "AnonPages: 3 kB\nShmem: 2 kB\nSwapTotal: 8 kB\nSwapFree: 4 kB\n",
         0, {24731700ull << 10, 24370324ull << 10, 8192, 4096, 3072, 2048, 0}},
        {"MemTotal: 2 kB\nMemAvailable: 1 kB", 0, {2048, 1024, 0, 0, 0, 0, 0}},
        /* huge pages of one size, and the pools of all sizes */
        {"MemTotal: 90 kB\nMemAvailable: 1 kB\nHugePages_Total: 2\nHugepagesize: 2 kB\nHugetlb: 64 kB\n", 0,
         {90 << 10, 1024, 0, 0, 0, 0, 64 << 10}},
        {"MemTotal: 2 kB\nMemFree: 1 kB\n", -EBADMSG, {0}}, /* a kernel before Linux 3.14 has no MemAvailable */
        {"MemTotal: 2 MB\nMemAvailable: 1 kB\n", -EBADMSG, {0}},
        {"MemTotal: -2 kB\nMemAvailable: 1 kB\n", -EBADMSG, {0}},
        {"MemTotal: 18014398509481984 kB\nMemAvailable: 1 kB\n", -ERANGE, {0}},
        {"XMemTotal: 2 kB\nMemAvailable: 1 kB\n", -EBADMSG, {0}},
        {"", -EBADMSG, {0}},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        struct nm_meminfo m = {0};

        assert_int_equal(nm_monitor_parse_meminfo(cases[i].text, &m), cases[i].result);
        assert_memory_equal(&m, &cases[i].want, sizeof m);
    }
}

static void test_proc_stat_is_parsed(void **state)
{
    static const struct {
        const char *text;
        int result;
        uint64_t busy, idle;
        uint32_t n_cpus;
    } cases[] = {
        /* user, nice, system, irq, softirq and steal are busy time; guest is already part of user */
        {"cpu  1 2 4 100 1000 8 16 32 64 128\ncpu0 0\ncpu3 0\nintr 5 cpu9\n", 0, 63, 1100, 2},
        {"cpu  1 0 0 9 0 0 0 0\ncpu0 1 2\ncpu1", 0, 1, 9, 2}, /* the text is cut off */
        {"cpu  1 0 0 9 0 0 0 0\nintr 1\n", -EBADMSG, 0, 0, 0},
        {"cpu  1 0 0 9 0 0 0\ncpu0 1\n", -EBADMSG, 0, 0, 0},
        {"cpu0 1 0 0 9 0 0 0 0\n", -EBADMSG, 0, 0, 0},
        {"cpu  18446744073709551615 1 0 9 0 0 0 0\ncpu0 1\n", -ERANGE, 0, 0, 0},
        {"", -EBADMSG, 0, 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        struct nm_cpu_ticks t = {0};

        assert_int_equal(nm_monitor_parse_stat(cases[i].text, &t), cases[i].result);
        assert_int_equal(t.busy, cases[i].busy);
        assert_int_equal(t.idle, cases[i].idle);
        assert_int_equal(t.n_cpus, cases[i].n_cpus);
    }
}

static void test_cpu_stat_is_parsed(void **state)
{
    static const struct {
        const char *text;
        int result;
        uint64_t usage, throttled;
    } cases[] = {
        {"usage_usec 62966310\nuser_usec 1\nsystem_usec 2\n", 0, 62966310, 0},
        {"usage_usec 7\nnr_throttled 3\nthrottled_usec 88\nburst_usec 5\n", 0, 7, 88},
        {"usage_usec 7\nfuture some=words here\n", 0, 7, 0},
        {"usage_usec_total 7\n", -EBADMSG, 0, 0},
        {"usage_usec 7 8\n", -EBADMSG, 0, 0},
        {"usage_usec\n", -EBADMSG, 0, 0},
        {"usage_usec 18446744073709551616\n", -ERANGE, 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        struct nm_cpu_stat c = {0};

        assert_int_equal(nm_monitor_parse_cpu_stat(cases[i].text, &c), cases[i].result);
        assert_int_equal(c.usage_usec, cases[i].usage);
        assert_int_equal(c.throttled_usec, cases[i].throttled);
    }
}

static void test_memory_stat_is_parsed(void **state)
{
    static const char with_kernel[] =
        "anon 100\nfile 900\nkernel 20\nkernel_stack 4\nshmem 10\ninactive_anon 60\n"
                                      "active_anon 50\nunevictable 0\nslab_reclaimable 5\n";
    static const char without_kernel[] =
        "anon 100\nkernel_stack 4\npagetables 3\npercpu 2\nshmem 10\n"
                                         "inactive_anon 60\nactive_anon 50\nunevictable 0\n"
                                         "slab_reclaimable 5\nslab_unreclaimable 6\n";
    struct nm_memory_stat m;

    (void)state;
    assert_int_equal(nm_monitor_parse_memory_stat(with_kernel, &m), 0);
    assert_int_equal(m.kernel, 20);
    assert_int_equal(nm_memory_stat_used_bytes(&m), 125);
    assert_int_equal(nm_monitor_parse_memory_stat(without_kernel, &m), 0);
    assert_int_equal(m.kernel, 20);
    assert_int_equal(nm_memory_stat_used_bytes(&m), 125);
    assert_int_equal(nm_monitor_parse_memory_stat("anon 1\nshmem 1\n", &m), -EBADMSG);
    assert_int_equal(m.kernel, 20);
}

/* Before Linux 5.18 memory.stat has no member for the kernel's memory, which is then a sum of other members. The sum
 * must not overflow, whatever the members' values are. */
static void test_kernel_memory_is_a_sum_of_members_before_linux_5_18(void **state)
{
    static const char *const parts[] = {"pagetables", "percpu", "slab_unreclaimable", "slab_reclaimable"};
    struct nm_memory_stat m = {.kernel = 77};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(parts); i++) {
        char text[256];

        (void)snprintf(text, sizeof text,
                       "anon 1\nshmem 1\ninactive_anon 1\nactive_anon 1\nunevictable 0\nkernel_stack 1\n"
                       "%s 18446744073709551615\n",
                       parts[i]);
        assert_int_equal(nm_monitor_parse_memory_stat(text, &m), -ERANGE);
        assert_int_equal(m.kernel, 77);
    }
}

static void test_memory_in_use_is_computed(void **state)
{
    static const struct {
        const char *what;
        struct nm_memory_stat stat;
        uint64_t want;
    } cases[] = {
        {"no locked memory", {.anon = 100, .shmem = 10, .inactive_anon = 70, .active_anon = 40}, 110},
        {"locked heap is counted once", {.anon = 100, .unevictable = 100}, 100},
        {"locked tmpfs is counted once",
         {.anon = 100, .shmem = 50, .active_anon = 100, .unevictable = 50}, 150},
        {"locked page cache", {.anon = 100, .active_anon = 100, .unevictable = 30}, 130},
        {"locked heap and locked page cache", {.anon = 100, .active_anon = 60, .unevictable = 70}, 130},
        {"counters that are out of date", {.anon = 100, .active_anon = 120, .unevictable = 30}, 130},
        {"kernel memory", {.anon = 100, .active_anon = 100, .kernel = 20, .slab_reclaimable = 15},
         105},
        {"slab counter higher than the kernel counter",
         {.anon = 100, .active_anon = 100, .kernel = 20, .slab_reclaimable = 25}, 100},
        {"being written to swap", {.anon = 60, .inactive_anon = 30, .active_anon = 70, .file_writeback = 40}, 100},
        {"partly written to swap", {.anon = 60, .inactive_anon = 30, .active_anon = 70, .file_writeback = 15}, 75},
        {"read ahead from swap", {.anon = 60, .inactive_anon = 100}, 60},
        {"file pages are being written as well", {.anon = 100, .active_anon = 100, .file_writeback = 500}, 100},
        {"the sum is limited to the maximum", {.anon = UINT64_MAX, .shmem = 5, .kernel = 5}, UINT64_MAX},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++)
        if (nm_memory_stat_used_bytes(&cases[i].stat) != cases[i].want)
            fail_msg("%s: %ju", cases[i].what,
                     (uintmax_t)nm_memory_stat_used_bytes(&cases[i].stat));
}

static void test_a_file_with_one_counter_is_parsed(void **state)
{
    uint64_t v = 1;

    (void)state;
    assert_int_equal(nm_monitor_parse_counter("4096\n", &v), 0);
    assert_int_equal(v, 4096);
    assert_int_equal(nm_monitor_parse_counter("max\n", &v), -EBADMSG);
    assert_int_equal(nm_monitor_parse_counter("1\n2\n", &v), -EBADMSG);
    assert_int_equal(nm_monitor_parse_counter("", &v), -EBADMSG);
    assert_int_equal(nm_monitor_parse_counter("99999999999999999999", &v), -ERANGE);
    assert_int_equal(v, 4096);
}

static void test_the_status_of_a_process_is_parsed(void **state)
{
    struct nm_proc_statm s = {0};
    struct nm_proc_memory m = {0};

    (void)state;
    assert_int_equal(nm_monitor_parse_statm("765 410 382 5 0 123 0\n", &s), 0);
    assert_int_equal(s.resident_pages, 410);
    assert_int_equal(s.shared_pages, 382);
    assert_int_equal(nm_monitor_parse_statm("765 410", &s), -EBADMSG);

    assert_int_equal(nm_monitor_parse_status(
                         "Name:\tRssAnon:\t5\nVmRSS:\t 125 kB\nRssAnon:\t     112 kB\nRssFile:\t9 kB\n"
                         "RssShmem:\t       4 kB\nVmSwap:\t       8 kB\nThreads:\t1\n", &m), 0);
    assert_int_equal(m.anon_bytes, 112 << 10);
    assert_int_equal(m.shmem_bytes, 4 << 10);
    assert_int_equal(m.swap_bytes, 8 << 10);
    /* a value that is missing because the text was cut off must not be read as 0 */
    assert_int_equal(nm_monitor_parse_status("Name:\tx\nState:\tS (sleeping)\nGroups:\t1 2 3", &m), -EBADMSG);
    assert_int_equal(nm_monitor_parse_status("VmRSS:\t9 kB\nRssAnon:\t5 kB\nThreads:\t1\n", &m), -EBADMSG);
    assert_int_equal(m.anon_bytes, 112 << 10);
    assert_int_equal(nm_monitor_parse_status("Name:\tx\nState:\tZ (zombie)\nThreads:\t1\n", &m), 0);
    assert_int_equal(m.anon_bytes, 0);
    /* memory of another thread must not be read as 0 either */
    m.anon_bytes = 7;
    assert_int_equal(nm_monitor_parse_status("Name:\tx\nState:\tZ (zombie)\nThreads:\t2\n", &m),
                     NM_MONITOR_THREAD_ENDED);
    assert_int_equal(m.anon_bytes, 7);

    assert_int_equal(nm_monitor_parse_smaps_rollup(
                         "55c8-7ffe ---p 0 00:00 0   [rollup]\nRss: 1640 kB\nPss: 292 kB\n"
                         "Pss_Anon:   112 kB\nPss_File: 180 kB\nPss_Shmem:  3 kB\n"
                         "SwapPss:  7 kB\n", &m), 0);
    assert_int_equal(m.anon_bytes, 112 << 10);
    assert_int_equal(m.shmem_bytes, 3 << 10);
    assert_int_equal(m.swap_bytes, 7 << 10);
    assert_int_equal(nm_monitor_parse_smaps_rollup("Rss: 1640 kB\nPss: 292 kB\n", &m), -EBADMSG);
    assert_int_equal(m.anon_bytes, 112 << 10);
}

static void test_a_list_of_processes_is_parsed(void **state)
{
    pid_t pids[3];
    unsigned n, total;

    (void)state;
    assert_int_equal(nm_monitor_parse_procs("12\n0\n34\n", pids, 3, &n, &total), 0);
    assert_int_equal(n, 2);
    assert_int_equal(total, 2);
    assert_int_equal(pids[1], 34);
    assert_int_equal(nm_monitor_parse_procs("1\n2\n3\n4\n5\n", pids, 3, &n, &total), 0);
    assert_int_equal(n, 3);
    assert_int_equal(total, 5);
    assert_int_equal(nm_monitor_parse_procs("", pids, 3, &n, &total), 0);
    assert_int_equal(total, 0);
    assert_int_equal(nm_monitor_parse_procs("1 2\n", pids, 3, &n, &total), -EBADMSG);
    assert_int_equal(nm_monitor_parse_procs("-1\n", pids, 3, &n, &total), -EBADMSG);
    assert_int_equal(nm_monitor_parse_procs("4294967296\n", pids, 3, &n, &total), -ERANGE);
}

static struct nl_msg *link_message(unsigned flags, const char *name, size_t stats_size)
{
    struct ifinfomsg ifi = {.ifi_index = 7, .ifi_flags = flags};
    struct rtnl_link_stats64 stats = {.rx_bytes = 1000, .tx_bytes = 2000, .rx_errors = 3};
    struct nl_msg *msg = nlmsg_alloc_simple(RTM_NEWLINK, 0);

    assert_non_null(msg);
    assert_int_equal(nlmsg_append(msg, &ifi, sizeof ifi, NLMSG_ALIGNTO), 0);
    assert_int_equal(nla_put_string(msg, IFLA_IFNAME, name), 0);
    assert_int_equal(nla_put(msg, IFLA_STATS64, (int)stats_size, &stats), 0);
    return msg;
}

static int parse_link(struct nl_msg *msg, struct nm_link_message *ret)
{
    const struct nlmsghdr *nlh = nlmsg_hdr(msg);
    int r = nm_monitor_parse_link(nlh, nlh->nlmsg_len, ret);

    nlmsg_free(msg);
    return r;
}

static void test_a_link_message_is_parsed(void **state)
{
    const size_t full = sizeof(struct rtnl_link_stats64);
    struct nm_link_message m = {0};
    struct nl_msg *msg;

    (void)state;
    assert_int_equal(parse_link(link_message(IFF_UP | IFF_RUNNING, "eth0", full), &m), 0);
    assert_string_equal(m.name, "eth0");
    assert_int_equal(m.ifindex, 7);
    assert_true(m.up);
    assert_false(m.loopback);
    assert_int_equal(m.rx_bytes, 1000);
    assert_int_equal(m.tx_bytes, 2000);

    assert_int_equal(parse_link(link_message(IFF_UP | IFF_LOOPBACK, "lo", full), &m), 0);
    assert_true(m.loopback);
    assert_false(m.up); /* the link has no carrier */

    /* counters that are cut short, a name that is too long, and a header with a size beyond the received bytes */
    assert_int_equal(parse_link(link_message(0, "eth0", 16), &m), -EBADMSG);
    assert_int_equal(parse_link(link_message(0, "sixteen-letters-", full), &m), -EBADMSG);
    msg = link_message(0, "eth0", full);
    assert_int_equal(nm_monitor_parse_link(nlmsg_hdr(msg), nlmsg_hdr(msg)->nlmsg_len - 1, &m),
                     -EBADMSG);
    nlmsg_free(msg);
    assert_string_equal(m.name, "lo");
}

static void test_a_route_message_is_parsed(void **state)
{
    struct rtmsg rtm = {.rtm_family = 2, .rtm_type = RTN_UNICAST};
    struct rtnexthop hops[2] = {{.rtnh_len = sizeof hops[0], .rtnh_ifindex = 3},
                                {.rtnh_len = sizeof hops[0], .rtnh_ifindex = 4}};
    struct nm_route_message m;
    struct nl_msg *msg = nlmsg_alloc_simple(RTM_NEWROUTE, 0);

    (void)state;
    assert_int_equal(nlmsg_append(msg, &rtm, sizeof rtm, NLMSG_ALIGNTO), 0);
    assert_int_equal(nla_put_u32(msg, RTA_OIF, 2), 0);
    assert_int_equal(nla_put(msg, RTA_MULTIPATH, sizeof hops, hops), 0);
    assert_int_equal(nm_monitor_parse_route(nlmsg_hdr(msg), nlmsg_hdr(msg)->nlmsg_len, &m), 0);
    assert_int_equal(m.n, 3);
    assert_int_equal(m.ifindex[0], 2);
    assert_int_equal(m.ifindex[1], 3);
    assert_int_equal(m.ifindex[2], 4);
    ((struct rtmsg *)nlmsg_data(nlmsg_hdr(msg)))->rtm_type = RTN_BLACKHOLE;
    assert_int_equal(nm_monitor_parse_route(nlmsg_hdr(msg), nlmsg_hdr(msg)->nlmsg_len, &m), 0);
    assert_int_equal(m.n, 0);
    nlmsg_free(msg);
}

static void test_the_rate_of_a_counter_is_computed(void **state)
{
    static const struct {
        uint64_t now, count;
        bool valid;
        uint64_t per_sec;
    } steps[] = {
        {1000000, 500, false, 0},  /* there is no earlier value to compare with */
        {1000000, 900, false, 0},  /* the clock hasn't advanced */
        {3000000, 2500, true, 1000},
        /* too soon after the last value: the old rate is returned, and the old value stays the base */
        {3010000, 9000, true, 1000},
        {4000000, 2600, true, 100},
        {5000000, 10, false, 0}, /* the counter was reset */
        {6000000, 20, true, 10},
        {5500000, 30, false, 0}, /* the clock was set back */
        {6500000, 30, true, 0},
        {7500000, UINT64_MAX, true, UINT64_MAX - 30},
    };
    struct nm_rate r = {0};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(steps); i++) {
        nm_rate_update(&r, steps[i].now, steps[i].count);
        if (r.valid != steps[i].valid || r.per_sec != steps[i].per_sec)
            fail_msg("step %zu: valid %d, %ju per second", i, r.valid, (uintmax_t)r.per_sec);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_meminfo_is_parsed),
        cmocka_unit_test(test_proc_stat_is_parsed),
        cmocka_unit_test(test_cpu_stat_is_parsed),
        cmocka_unit_test(test_memory_stat_is_parsed),
        cmocka_unit_test(test_kernel_memory_is_a_sum_of_members_before_linux_5_18),
        cmocka_unit_test(test_memory_in_use_is_computed),
        cmocka_unit_test(test_a_file_with_one_counter_is_parsed),
        cmocka_unit_test(test_the_status_of_a_process_is_parsed),
        cmocka_unit_test(test_a_list_of_processes_is_parsed),
        cmocka_unit_test(test_a_link_message_is_parsed),
        cmocka_unit_test(test_a_route_message_is_parsed),
        cmocka_unit_test(test_the_rate_of_a_counter_is_computed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
