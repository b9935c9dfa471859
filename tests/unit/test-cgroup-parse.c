/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The texts that cgroup/ reads and writes: cgroup.events, memory.events, PSI, limits, mountinfo. Table-driven, no root.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "cgroup/attr.h"
#include "cgroup/backend.h"
#include "cgroup/cgroup.h"
#include "cgroup/devices.h"
#include "cgroup/limits.h"
#include "tests/unit/fake-tree.h"

static const struct {
    const char *text;
    int result;
    bool populated, frozen;
} events_cases[] = {
    {"populated 1\nfrozen 0\n", 0, true, false},
    {"populated 0\nfrozen 1\n", 0, false, true},
    {"populated 1\nfrozen 1", 0, true, true},     /* no newline at the end */
    {"frozen 1\npopulated 1\nnew 7\n", 0, true, true}, /* order and unknown keys don't matter */
    {"", 0, false, false},
    {"populated 1\n", 0, true, false}, /* Linux before 5.2 has no frozen */
    {"populated", -EBADMSG, false, false},
    {"populated \n", -EBADMSG, false, false},
    {"populated x\n", -EBADMSG, false, false},
    {"populated 2\n", -EBADMSG, false, false},
    {"populated 1 \n", -EBADMSG, false, false},
    {"populated -1\n", -EBADMSG, false, false},
    {"\n", -EBADMSG, false, false},
    {" 1\n", -EBADMSG, false, false},
    {"unknown 99999999999999999999999\n", -EBADMSG, false, false},
};

static void test_cgroup_events_are_parsed(void **state)
{
    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(events_cases); i++) {
        struct nm_cgroup_events e = {.populated = true, .frozen = true};
        int r = nm_cgroup_parse_events(events_cases[i].text, &e);

        if (r != events_cases[i].result)
            fail_msg("case %zu (\"%s\"): %d", i, events_cases[i].text, r);
        if (r < 0) {
            assert_true(e.populated && e.frozen); /* unchanged after a failure */
            continue;
        }
        assert_int_equal(e.populated, events_cases[i].populated);
        assert_int_equal(e.frozen, events_cases[i].frozen);
    }
}

static void test_memory_events_are_parsed(void **state)
{
    struct nm_cgroup_memory_events e;

    (void)state;
    assert_int_equal(nm_cgroup_parse_memory_events("low 9\nhigh 1\nmax 22\noom 3\noom_kill 4\n"
                                                   "oom_group_kill 5\n", &e), 0);
    assert_int_equal(e.high, 1);
    assert_int_equal(e.max, 22);
    assert_int_equal(e.oom, 3);
    assert_int_equal(e.oom_kill, 4);
    assert_int_equal(e.oom_group_kill, 5);
    /* Linux before 5.17 */
    assert_int_equal(nm_cgroup_parse_memory_events("low 0\nhigh 0\nmax 18446744073709551615\n"
                                                   "oom 0\noom_kill 0\n", &e), 0);
    assert_true(e.max == UINT64_MAX);
    assert_int_equal(e.oom_group_kill, 0);
    assert_int_equal(nm_cgroup_parse_memory_events("max 18446744073709551616\n", &e), -EBADMSG);
    assert_int_equal(nm_cgroup_parse_memory_events("max 1\nmax", &e), -EBADMSG);
    assert_true(e.max == UINT64_MAX);
}

static const struct {
    const char *text;
    int result;
    double some_avg10, full_avg300;
    uint64_t some_total, full_total;
} psi_cases[] = {
    {"some avg10=1.53 avg60=0.87 avg300=0.32 total=1234567\n"
     "full avg10=0.00 avg60=0.12 avg300=100.00 total=42\n", 0, 1.53,
     100.0, 1234567, 42},
    /* Linux before 5.13 has no "full" for the CPU */
    {"some avg10=0.05 avg60=0.00 avg300=0.00 total=7\n", 0, 0.05, 0, 7, 0},
    {"some avg10=0.00 avg60=0.00 avg300=0.00 total=18446744073709551615", 0, 0, 0, UINT64_MAX, 0},
    {"idle avg10=0.00 avg60=0.00 avg300=0.00 total=1\n"
     "some avg10=2.00 avg60=0.00 avg300=0.00 total=3\n", 0, 2, 0, 3, 0},
    {"", -EBADMSG, 0, 0, 0, 0},
    {"full avg10=0.00 avg60=0.00 avg300=0.00 total=1\n", -EBADMSG, 0, 0, 0, 0},
    {"some avg10=0.0 avg60=0.00 avg300=0.00 total=1\n", -EBADMSG, 0, 0, 0, 0},
    {"some avg10=0,00 avg60=0.00 avg300=0.00 total=1\n", -EBADMSG, 0, 0, 0, 0},
    {"some avg10=0.00 avg60=0.00 total=1\n", -EBADMSG, 0, 0, 0, 0},
    {"some avg10=0.00 avg60=0.00 avg300=0.00 total=\n", -EBADMSG, 0, 0, 0, 0},
    {"some avg10=0.00 avg60=0.00 avg300=0.00 total=18446744073709551616\n", -EBADMSG, 0, 0, 0, 0},
    {"some avg10=0.00 avg60=0.00 avg300=0.00 total=1 x\n", -EBADMSG, 0, 0, 0, 0},
    {"some avg10=0.00 avg60=0.00 avg300=0.00 total=184467440737095516150\n", -EBADMSG, 0, 0, 0, 0},
    {"some avg10=1 avg60=0.00 avg300=0.00 total=1\n", -EBADMSG, 0, 0, 0, 0},
    {"some avg10=0.x0 avg60=0.00 avg300=0.00 total=1\n", -EBADMSG, 0, 0, 0, 0},
    {"some avg10=0.00 avg60=x avg300=0.00 total=1\n", -EBADMSG, 0, 0, 0, 0},
    {"some avg10=0.00 avg60=0.00 avg300=x total=1\n", -EBADMSG, 0, 0, 0, 0},
    {"some avg10=0.00 avg60=0.00 avg300=0.00\n", -EBADMSG, 0, 0, 0, 0},
    {"some\n", -EBADMSG, 0, 0, 0, 0},
    {"\n", -EBADMSG, 0, 0, 0, 0},
};

static void test_pressure_files_are_parsed(void **state)
{
    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(psi_cases); i++) {
        struct nm_psi psi = {.some.total_usec = 77};
        int r = nm_psi_parse(psi_cases[i].text, &psi);

        if (r != psi_cases[i].result)
            fail_msg("case %zu (\"%s\"): %d", i, psi_cases[i].text, r);
        if (r < 0) {
            assert_int_equal(psi.some.total_usec, 77);
            continue;
        }
        assert_float_equal(psi.some.avg10, psi_cases[i].some_avg10, 1e-9);
        assert_float_equal(psi.full.avg300, psi_cases[i].full_avg300, 1e-9);
        assert_true(psi.some.total_usec == psi_cases[i].some_total);
        assert_true(psi.full.total_usec == psi_cases[i].full_total);
    }
}

/* Returns the text for one file. NULL: the file isn't written. */
static const char *text_of(const struct nm_limits_file *files, size_t n, const char *file)
{
    for (size_t i = 0; i < n; i++)
        if (nm_streq(files[i].file, file))
            return files[i].text;
    return NULL;
}

static void test_each_limit_has_a_file_and_a_text(void **state)
{
    struct nm_limits_file f[NM_LIMITS_MAX_FILES];
    struct nm_cgroup_limits l = NM_CGROUP_LIMITS_NONE;
    size_t n = nm_limits_files(&l, true, f);

    (void)state;
    assert_true(n <= NM_LIMITS_MAX_FILES);
    assert_string_equal(text_of(f, n, "memory.max"), "max");
    assert_string_equal(text_of(f, n, "memory.low"), "0");
    assert_string_equal(text_of(f, n, "memory.min"), "0");
    assert_string_equal(text_of(f, n, "memory.oom.group"), "0");
    assert_string_equal(text_of(f, n, "cpu.weight"), "100");
    assert_string_equal(text_of(f, n, "cpu.idle"), "0");
    assert_string_equal(text_of(f, n, "cpu.max"), "max 100000");
    assert_string_equal(text_of(f, n, "pids.max"), "max");

    l = (struct nm_cgroup_limits){.memory_max_bytes = 1 << 30, .memory_min_bytes = 4096,
                                  .memory_low_bytes = 8192, .cpu_idle = true,
                                  .cpu_weight = 5, .cpu_quota_millicores = 1500, .pids_max = 64,
                                  .oom_group = true};
    n = nm_limits_files(&l, true, f);
    assert_string_equal(text_of(f, n, "memory.max"), "1073741824");
    assert_string_equal(text_of(f, n, "memory.low"), "8192");
    assert_string_equal(text_of(f, n, "memory.min"), "4096");
    assert_string_equal(text_of(f, n, "memory.oom.group"), "1");
    assert_string_equal(text_of(f, n, "cpu.idle"), "1");
    assert_null(text_of(f, n, "cpu.weight")); /* for an idle group the kernel refuses a weight with EINVAL */
    assert_string_equal(text_of(f, n, "cpu.max"), "150000 100000");
    assert_string_equal(text_of(f, n, "pids.max"), "64");

    n = nm_limits_files(&l, false, f); /* on a kernel without cpu.idle */
    assert_null(text_of(f, n, "cpu.idle"));
    assert_string_equal(text_of(f, n, "cpu.weight"), "1");
}

/* When a group leaves the idle class, cpu.idle must be written before cpu.weight, because the kernel refuses the weight
 * of an idle group. */
static void test_cpu_idle_is_written_before_cpu_weight(void **state)
{
    struct nm_limits_file f[NM_LIMITS_MAX_FILES];
    struct nm_cgroup_limits l = NM_CGROUP_LIMITS_NONE;
    size_t n = nm_limits_files(&l, true, f), idle = n, weight = n;

    (void)state;
    for (size_t i = 0; i < n; i++) {
        if (nm_streq(f[i].file, "cpu.idle"))
            idle = i;
        if (nm_streq(f[i].file, "cpu.weight"))
            weight = i;
    }
    assert_true(idle < weight && weight < n);
}

static void test_vcores_are_converted_to_a_cpu_quota(void **state)
{
    static const struct {
        uint64_t asked, set;
        const char *text;
    } cases[] = {
        {1000, 1000, "100000 100000"},
        {500, 500, "50000 100000"},
        {10, 10, "1000 100000"},
        {11, 20, "2000 100000"},
        {1, 10, "1000 100000"},
        {0, 10, "1000 100000"}, /* never 0, which would stop all processes */
        {128000, 128000, "12800000 100000"},
        {NM_CGROUP_NONE, NM_CGROUP_NONE, "max 100000"},
        {NM_CGROUP_NONE - 1, NM_CGROUP_NONE, "max 100000"},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        struct nm_limits_file f[NM_LIMITS_MAX_FILES];
        struct nm_cgroup_limits l = NM_CGROUP_LIMITS_NONE;
        size_t n;

        assert_true(nm_limits_cpu_quota(cases[i].asked) == cases[i].set);
        l.cpu_quota_millicores = cases[i].asked;
        n = nm_limits_files(&l, true, f);
        assert_string_equal(text_of(f, n, "cpu.max"), cases[i].text);
    }
}

static void test_the_cpu_weight_is_limited_to_the_range_of_the_kernel(void **state)
{
    struct nm_cgroup_limits l = NM_CGROUP_LIMITS_NONE;

    (void)state;
    l.cpu_weight = 0;
    assert_int_equal(nm_limits_cpu_weight(&l), 1);
    l.cpu_weight = UINT32_MAX;
    assert_int_equal(nm_limits_cpu_weight(&l), 10000);
}

static void test_a_whole_word_is_found_in_a_list(void **state)
{
    (void)state;
    assert_true(nm_attr_has_word("cpuset cpu io memory\n", "cpu"));
    assert_true(nm_attr_has_word("cpuset cpu io memory\n", "memory"));
    assert_true(nm_attr_has_word("cpu", "cpu"));
    assert_false(nm_attr_has_word("cpuset io\n", "cpu"));
    assert_false(nm_attr_has_word("hugecpu cpuset", "cpu"));
    assert_false(nm_attr_has_word("", "cpu"));
}

/* Writes the text to a file in the test's own directory. */
static void write_temp(char path[64], const char *text)
{
    int fd;

    (void)snprintf(path, 64, "/tmp/nmd-test-parse-XXXXXX");
    fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    nm_close(fd);
}

static void test_the_mount_of_cgroup2_is_found(void **state)
{
    static const struct {
        const char *mountinfo, *expected; /* NULL: -ENOENT */
    } cases[] = {
        {"24 1 0:22 / /sys rw,nosuid - sysfs sysfs rw\n"
         "30 24 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n",
         "/sys/fs/cgroup"},
        {"30 24 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
         "31 24 0:27 / /sys/fs/cgroup/unified rw - cgroup2 none rw\n",
         "/sys/fs/cgroup/unified"},
        {"31 24 0:27 / /mnt/two\\040words\\134x rw - cgroup2 none rw\n", "/mnt/two words\\x"},
        {"30 24 0:26 / /a rw - cgroup cgroup rw,memory\n", NULL},
        {"31 24 0:27 / - cgroup2 none rw\n", NULL},
        {" - cgroup2 \n", NULL},
        {"31 24 0:27 / /cut - cgroup2", NULL},
        {"31 24 0:27 /\n", NULL},
        {"31 24 0:27 / /mnt/\\4040\\080\\008\\04x\\x rw - cgroup2 none rw\n", "/mnt/\\4040\\080\\008\\04x\\x"},
        {"31 24 0:27 / /first rw - cgroup2 none rw\n32 24 0:28 / /second rw - cgroup2 none rw\n", "/first"},
        {"", NULL},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        _cleanup_free_ char *found = NULL;
        char path[64];
        int r;

        write_temp(path, cases[i].mountinfo);
        r = nm_mount_find(path, &found);
        unlink(path);
        assert_int_equal(r, cases[i].expected ? 0 : -ENOENT);
        if (cases[i].expected)
            assert_string_equal(found, cases[i].expected);
    }
}

/* Of several cgroup2 mounts, a mount with controllers is used, even if it isn't the first. */
static void test_a_mount_with_controllers_is_preferred(void **state)
{
    static const char *const controllers[] = {NULL, "\n", "cpu memory\n"};
    _cleanup_free_ char *found = NULL;
    char path[64], mountinfo[512] = "", expected[80];
    struct fake_tree dir;

    (void)state;
    fake_tree_init(&dir);
    for (size_t i = 0; i < NM_ARRAY_SIZE(controllers); i++) {
        char name[40];

        (void)snprintf(name, sizeof name, "m%zu/here", i);
        fake_tree_write(&dir, name, "");
        (void)snprintf(name, sizeof name, "m%zu/cgroup.controllers", i);
        if (controllers[i])
            fake_tree_write(&dir, name, controllers[i]);
        (void)snprintf(mountinfo + strlen(mountinfo), sizeof mountinfo - strlen(mountinfo),
                       "3%zu 24 0:27 / %s/m%zu rw - cgroup2 none rw\n", i, dir.path, i);
    }
    write_temp(path, mountinfo);
    assert_int_equal(nm_mount_find(path, &found), 0);
    (void)snprintf(expected, sizeof expected, "%s/m2", dir.path);
    assert_string_equal(found, expected);
    unlink(path);
    fake_tree_done(&dir);
    free(found);
    found = NULL;
    assert_int_equal(nm_mount_find("/nonexistent/mountinfo", &found), -ENOENT);
    assert_int_equal(nm_mount_own_cgroup("/nonexistent/cgroup", &found), -ENOENT);
    assert_null(found);
}

static void test_the_cgroup_of_this_process_is_found(void **state)
{
    _cleanup_free_ char *own = NULL;
    char path[64];

    (void)state;
    write_temp(path, "4:memory:/v1\n0::/user.slice/a b.scope\n");
    assert_int_equal(nm_mount_own_cgroup(path, &own), 0);
    assert_string_equal(own, "/user.slice/a b.scope");
    unlink(path);
    write_temp(path, "4:memory:/v1\n");
    assert_int_equal(nm_mount_own_cgroup(path, &own), -ENOENT);
    unlink(path);
}

static void test_names_of_scopes_are_escaped(void **state)
{
    (void)state;
    for (enum nm_cgroup_feature f = 0; f < NM_CGROUP_FEATURE_COUNT; f++)
        assert_non_null(nm_cgroup_feature_name(f));
    for (enum nm_cgroup_drift d = 0; d < NM_CGROUP_DRIFT_COUNT; d++)
        assert_non_null(strchr(nm_cgroup_drift_file(d), '.'));
}

/* Errors that need an explanation besides the name of the error. */
static void test_errors_of_the_cgroup_file_system_are_explained(void **state)
{
    static const struct {
        int r;
        const char *words; /* NULL: no explanation */
    } cases[] = {
        {-EAGAIN, "cgroup.max.descendants"}, {-ENOSPC, "the cgroup tree is full"}, {-EACCES, "isn't delegated"},
        {-EPERM, "isn't delegated"},         {-EROFS, "read-only"},                {-ESRCH, "ended already"},
        {-EEXIST, "isn't empty"},            {-EIO, NULL},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        const char *words = nm_backend_explain(cases[i].r);

        assert_int_equal(words != NULL, cases[i].words != NULL);
        if (words)
            assert_non_null(strstr(words, cases[i].words));
    }
}

static void test_leftover_processes_are_named(void **state)
{
    const struct {
        struct nm_cgroup_leftover_procs s;
        const char *text;
    } cases[] = {
        {{.n = 1}, "1 of its processes still exists, but no process hangs in the kernel"},
        {{.n = 3}, "3 of its processes still exist, but no process hangs in the kernel"},
        {{.n = 3, .n_hanging = 1, .hanging = 17, .comm = "dd"},
         "1 of its processes hangs in the kernel (state D), for example 17 (dd)"},
        {{.n = 3, .n_hanging = 2, .hanging = 17, .comm = "dd"},
         "2 of its processes hang in the kernel (state D), for example 17 (dd)"},
    };
    char text[160];

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        nm_cgroup_leftover_procs_print(&cases[i].s, text, sizeof text);
        assert_string_equal(text, cases[i].text);
    }
}

struct devices {
    char text[8000];
    unsigned n;
};

static int put_device(void *userdata, const char *device, const char *permissions)
{
    struct devices *d = userdata;

    assert_string_equal(permissions, "rwm");
    d->n++;
    (void)snprintf(d->text + strlen(d->text), sizeof d->text - strlen(d->text), " %s", device);
    return 1;
}

static int fail_device(void *userdata, const char *device, const char *permissions)
{
    (void)device, (void)permissions;
    return --*(int *)userdata < 0 ? -ENOMEM : 0;
}

static void test_the_list_of_devices_has_all_but_the_other_gpus(void **state)
{
    static const char drivers[] = "Character devices:\n  1 mem\n195 nvidia\n195 nvidiactl\n509 nvidia-uvm\n600 x\n"
                                  "\nBlock devices:\n  8 sd\n";
    const struct nm_cgroup_devices rule = {.restricts = true, .major = 195, .minors = UINT64_C(1) << 63 | 1};
    struct devices d = {};

    (void)state;
    assert_int_equal(nm_devices_list(&rule, drivers, put_device, &d), 0);
    assert_int_equal(strncmp(d.text, " block-* char-1 char-234 ", 25), 0);
    assert_non_null(strstr(d.text, " char-509 "));
    assert_null(strstr(d.text, " char-8 ")); /* a number of a block device */
    assert_null(strstr(d.text, " char-600 "));
    assert_null(strstr(d.text, "char-195"));
    assert_non_null(strstr(d.text, " char-511 /dev/char/195:0 /dev/char/195:63 /dev/char/195:254 /dev/char/195:255"));
    assert_int_equal(d.n, 1 + 1 + 21 + 128 + 4);
    for (int i = 0; i < (int)d.n; i++) {
        int left = i;

        assert_int_equal(nm_devices_list(&rule, drivers, fail_device, &left), -ENOMEM);
    }
    d = (struct devices){};
    assert_int_equal(nm_devices_list(&rule, "", put_device, &d), 0);
    assert_non_null(strstr(d.text, " block-* char-234 "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cgroup_events_are_parsed), cmocka_unit_test(test_memory_events_are_parsed),
        cmocka_unit_test(test_pressure_files_are_parsed),    cmocka_unit_test(test_each_limit_has_a_file_and_a_text),
        cmocka_unit_test(test_cpu_idle_is_written_before_cpu_weight),
        cmocka_unit_test(test_vcores_are_converted_to_a_cpu_quota),
        cmocka_unit_test(test_the_cpu_weight_is_limited_to_the_range_of_the_kernel),
        cmocka_unit_test(test_a_whole_word_is_found_in_a_list),
        cmocka_unit_test(test_the_mount_of_cgroup2_is_found),
        cmocka_unit_test(test_a_mount_with_controllers_is_preferred),
        cmocka_unit_test(test_the_cgroup_of_this_process_is_found),
        cmocka_unit_test(test_leftover_processes_are_named),
        cmocka_unit_test(test_errors_of_the_cgroup_file_system_are_explained),
        cmocka_unit_test(test_names_of_scopes_are_escaped),
        cmocka_unit_test(test_the_list_of_devices_has_all_but_the_other_gpus),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
