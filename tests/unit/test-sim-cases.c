/* SPDX-License-Identifier: Apache-2.0 */

/* sim/cases.c: assignments, rows and sweeps, and their errors. sim/plot.c: gnuplot must not execute names that appear
 * in a picture. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sim/cases.h"
#include "sim/generate.h"
#include "sim/report.h"

static struct nm_config *defaults(void)
{
    struct nm_config *c;

    assert_int_equal(nm_config_new_defaults(&c), 0);
    return c;
}

static void test_assignments_change_the_settings(void **state)
{
    struct nm_config *c = defaults();
    char *message = NULL;

    (void)state;
    assert_int_equal(nm_case_assign(c, "alpha=70%", &message), 0);
    assert_true(c->over_allocation_threshold.memory == 0.7);
    assert_true(c->over_allocation_threshold.cpu == 0.7);
    assert_int_equal(nm_case_assign(c, " preemption.memory_threshold = 0.9 ", &message), 0);
    assert_true(c->preemption_threshold.memory == 0.9);
    assert_true(c->preemption_threshold.cpu == 0); /* 0: still "auto" */
    assert_int_equal(nm_case_assign(c, "victims=app-fair", &message), 0);
    assert_int_equal(c->victim_order, NM_VICTIM_APP_FAIR);
    nm_config_free(c);
}

static void test_invalid_assignments_are_refused(void **state)
{
    static const struct {
        const char *text, *wanted;
    } cases[] = {
        {"alpha", "it must be section.key=value"},
        {"gamma=1", "or alpha, beta or victims"},
        {"alpha=2", "over-allocation.memory-threshold=2: allowed is a fraction"},
        {"victims=youngest", "allowed is reverse-arrival, least-work-lost"},
        {"preemption.victims-order=app-fair", "did you mean preemption.victim-order?"},
        {"interface.socket-mode=0600", "[interface] does not affect decisions"},
        {"=", "it must be section.key=value"},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        struct nm_config *c = defaults();
        char *message = NULL;

        assert_int_equal(nm_case_assign(c, cases[i].text, &message), -EINVAL);
        if (!strstr(message, cases[i].wanted))
            fail_msg("'%s' does not contain '%s'", message, cases[i].wanted);
        free(message);
        nm_config_free(c);
    }
}

static void test_each_case_has_its_row(void **state)
{
    struct nm_config *base = defaults();
    struct nm_sim_cases s = {0};
    const char *const set[] = {"queue.max-length=3"};
    char *message = NULL;

    (void)state;
    assert_int_equal(nm_cases_add_spec(&s, base, "bold: alpha=0.9, beta=0.98", set, 1, &message), 0);
    assert_int_equal(nm_cases_add_spec(&s, base, "beta=0.9", set, 1, &message), 0);
    assert_int_equal(s.n, 2);
    assert_string_equal(s.list[0].name, "bold");
    assert_string_equal(s.list[0].sets, "alpha=0.9, beta=0.98");
    assert_true(s.list[0].config->preemption_threshold.cpu == 0.98);
    assert_int_equal(s.list[0].config->queue_max_length, 3);
    assert_string_equal(s.list[1].name, "beta=0.9");
    assert_string_equal(s.list[1].sets, "");
    assert_true(s.list[1].config->over_allocation_threshold.cpu == 0); /* 0: still "auto" */
    assert_int_equal(nm_cases_add_spec(&s, base, "x: beta=0.7", set, 1, &message), -EINVAL);
    assert_non_null(strstr(message, "must be below"));
    free(message);
    nm_cases_done(&s);
    nm_config_free(base);
}

static void test_sweeps_make_a_row_per_combination(void **state)
{
    struct nm_config *base = defaults();
    struct nm_sim_cases s = {0};
    const char *const specs[] = {"alpha=0.5,0.9", "preemption.cpu-threshold=0.8,0.95"};
    const char *const bad[] = {"alpha=0.5,,0.9"}, *const many[] = {
        "queue.max-length=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16",
        "preemption.cpu-samples=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16"};
    char *message = NULL;

    (void)state;
    assert_int_equal(nm_cases_add_sweep(&s, base, specs, 2, NULL, 0, &message), 0);
    assert_int_equal(s.n, 3);
    assert_int_equal(s.n_skipped, 1); /* the combination of alpha 0.9 with cpu-threshold 0.8 */
    assert_string_equal(s.list[0].name, "alpha=0.5 cpu-threshold=0.8");
    assert_string_equal(s.list[2].name, "alpha=0.9 cpu-threshold=0.95");
    assert_int_equal(nm_cases_add_sweep(&s, base, bad, 1, NULL, 0, &message), -EINVAL);
    assert_non_null(strstr(message, "a value is empty"));
    free(message);
    message = NULL;
    assert_int_equal(nm_cases_add_sweep(&s, base, many, 2, NULL, 0, &message), -EINVAL);
    assert_non_null(strstr(message, "more than 200 combinations"));
    free(message);
    nm_cases_done(&s);
    nm_config_free(base);
}

static void test_an_invalid_path_of_a_picture_is_refused(void **state)
{
    static const char *const bad[] = {"", "p", "p.jpg", "p'.svg", "a\nb.png", "|p.svg"};
    char *message = NULL;

    (void)state;
    assert_int_equal(nm_plot_check_path("p.svg", &message), 0);
    assert_int_equal(nm_plot_check_path("./|p.png", &message), 0);
    for (size_t i = 0; i < NM_ARRAY_SIZE(bad); i++) {
        assert_int_equal(nm_plot_check_path(bad[i], &message), -EINVAL);
        free(message);
        message = NULL;
    }
}

/* gnuplot draws a row whose name it would execute if the name were not quoted. */
static void test_names_of_rows_are_not_executed(void **state)
{
    struct nm_generate_params p = NM_GENERATE_DEFAULTS;
    struct nm_sim_result *results = calloc(2, sizeof *results);
    char dir[] = "/tmp/test-sim-cases.XXXXXX", path[64], trap[64], name[80];
    struct nm_workload *w;
    char *message = NULL;
    int r;

    (void)state;
    p.kind = NM_GENERATE_STEADY;
    p.duration_usec = 60 * NM_USEC_PER_SEC;
    assert_non_null(results);
    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof path, "%s/p.svg", dir);
    (void)snprintf(trap, sizeof trap, "%s/run", dir);
    (void)snprintf(name, sizeof name, "`touch %s`", trap);
    assert_int_equal(nm_generate(&p, &w), 0);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(nm_sim_run(w, w->config, name, NULL, NULL, &results[i], &message), 0);
    r = nm_plot(w, results, 2, path, &message);
    if (r < 0)
        print_message("%s\n", message);
    assert_int_not_equal(access(trap, F_OK), 0);
    assert_true(r == 0 || r == -ENOENT); /* gnuplot may not be installed */
    (void)unlink(path);
    assert_int_equal(rmdir(dir), 0);
    free(message);
    free(results);
    nm_workload_free(w);
    if (r == -ENOENT)
        skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_assignments_change_the_settings),
        cmocka_unit_test(test_invalid_assignments_are_refused),
        cmocka_unit_test(test_each_case_has_its_row),
        cmocka_unit_test(test_sweeps_make_a_row_per_combination),
        cmocka_unit_test(test_an_invalid_path_of_a_picture_is_refused),
        cmocka_unit_test(test_names_of_rows_are_not_executed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
