/* SPDX-License-Identifier: Apache-2.0 */

/* The probe for network priority, and the use of network priority, when the kernel refuses the eBPF program. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "cgroup/backend.h"
#include "tests/unit/fake-processes.h"
#include "util/error.h"

static const struct {
    int fails[2]; /* errors of loading and of attaching the program; 0: no error */
    const char *missing; /* the feature that the probe must report as missing; NULL: the feature is available */
} probes[] = {
    {{0, 0}, NULL},
    {{EPERM, 0}, "CAP_BPF"},
    {{EACCES, 0}, "CAP_BPF"},
    {{0, EPERM}, "CAP_BPF"},
    {{ENOSYS, 0}, "CONFIG_CGROUP_BPF"},
    {{0, EINVAL}, "CONFIG_CGROUP_BPF"},
};

static struct nm_cgroup_backend probe(const struct fixture *w, const int fails[2])
{
    struct nm_cgroup_backend b = {.slice_fd = w->cg->dir_fd, .net_priority_fd = -EBADF};

    memcpy(kernel.bpf_fails, fails, sizeof kernel.bpf_fails);
    nm_netprio_probe(&b);
    memset(kernel.bpf_fails, 0, sizeof kernel.bpf_fails);
    return b;
}

static void test_a_failed_probe_names_the_missing_feature(void **state)
{
    struct fixture *w = *state;

    for (size_t i = 0; i < NM_ARRAY_SIZE(probes); i++) {
        struct nm_cgroup_backend b = probe(w, probes[i].fails);

        assert_int_equal(b.feature[NM_CGROUP_NET_PRIORITY], !probes[i].missing);
        if (!probes[i].missing) {
            b.net_priority_fd = nm_close(b.net_priority_fd);
            continue;
        }
        assert_non_null(strstr(b.missing[NM_CGROUP_NET_PRIORITY], probes[i].missing));
        assert_true(b.net_priority_fd < 0);
        assert_int_equal(nm_cgroup_set_net_background(&b, w->cg, true), -EOPNOTSUPP);
    }
}

static void test_a_removed_program_is_an_error_only_if_low_priority_is_requested(void **state)
{
    static const struct {
        int fails;
        bool background;
        int expected;
    } cases[] = {{ENOENT, true, -ENOENT}, {ENOENT, false, 0}, {EPERM, false, -EPERM}};
    struct fixture *w = *state;
    struct nm_cgroup_backend b = probe(w, (const int[2]){0, 0});

    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        kernel.bpf_fails[0] = cases[i].fails;
        assert_int_equal(nm_cgroup_set_net_background(&b, w->cg, cases[i].background), cases[i].expected);
    }
    b.net_priority_fd = nm_close(b.net_priority_fd);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fake_processes_set_up, fake_processes_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_failed_probe_names_the_missing_feature),
        TEST(test_a_removed_program_is_an_error_only_if_low_priority_is_requested),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
