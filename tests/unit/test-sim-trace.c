/* SPDX-License-Identifier: Apache-2.0 */

/* sim/load.c, save.c and workload.c: the meaning of a trace, traces that are refused, and estimates for containers
 * whose end the trace doesn't contain. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "sim/generate.h"
#include "sim/replay.h"

#define HEADER \
    "{\"nmd_trace\":1,\"host\":\"h\",\"period_usec\":1000000,\"node\":{\"memory_bytes\":8589934592," \
    "\"cpus\":4},\"features\":[\"freeze\"],\"config\":{\"preemption.victim-order\":\"app-fair\"," \
    "\"later.key\":\"1\"}}\n"
#define SUBMIT(c) \
    "{\"t\":0,\"ev\":\"submit\",\"c\":" c ",\"type\":\"OPPORTUNISTIC\",\"memory\":100,\"cpu\":1000}\n"
#define START(t, c) "{\"t\":" t ",\"ev\":\"start\",\"c\":" c "}\n"
#define SAMPLE(t, use) \
    "{\"t\":" t ",\"ev\":\"sample\",\"memory\":1000,\"cpu\":500,\"swap_free\":0,\"use\":[" use "]}\n"
#define END(t, c, reason) \
    "{\"t\":" t ",\"ev\":\"end\",\"c\":" c ",\"reason\":\"" reason "\",\"memory\":77," \
    "\"cpu_usec\":1000000}\n"
#define STOP(t) "{\"t\":" t ",\"ev\":\"stop\"}\n"

static int read_text(const char *text, struct nm_workload **ret, char **ret_message)
{
    _cleanup_fclose_ FILE *f = fmemopen((char *)text, strlen(text), "r");

    assert_non_null(f);
    return nm_workload_read(f, "FILE", ret, ret_message);
}

static struct nm_workload *take(const char *text)
{
    struct nm_workload *w = NULL;
    char *message = NULL;
    int r = read_text(text, &w, &message);

    if (r < 0)
        fail_msg("%s", message ? message : strerror(-r));
    return w;
}

static void refuse(const char *text, const char *wanted)
{
    struct nm_workload *w = NULL;
    char *message = NULL;

    assert_int_equal(read_text(text, &w, &message), -EBADMSG);
    assert_null(w);
    if (!strstr(message, wanted))
        fail_msg("'%s' does not contain '%s'", message, wanted);
    free(message);
}

/* ---- the meaning of a trace ---------------------------------------------- */

static void test_the_use_follows_the_progress(void **state)
{
    /* Container 1 runs from 1 s to 4 s and from 14 s to 15 s. The pause between these times counts as no progress. */
    struct nm_workload *w = take(
        HEADER SUBMIT("7") START("1000000", "7") SAMPLE("2000000", "[7,50,800,800000]")
            SAMPLE("3000000", "[7,60,400,1200000]")
                "{\"t\":4000000,\"ev\":\"pause\",\"c\":7}\n" SAMPLE("5000000", "[7,60,0,1600000]")
                    "{\"t\":14000000,\"ev\":\"resume\",\"c\":7}\n" END("15000000", "7", "exited")
                        STOP("20000000"));
    const struct nm_sim_job *job = &w->jobs[0];

    (void)state;
    assert_int_equal(w->n_jobs, 1);
    assert_int_equal(job->run_usec, 4000000);
    assert_int_equal(job->end, NM_SIM_JOB_DONE);
    assert_int_equal(job->curve.n, 3);
    /* The first second used 800 millicores and ended at 50 bytes. */
    assert_int_equal(job->curve.points[0].at_usec, 0);
    assert_int_equal(job->curve.points[0].cpu_millicores, 800);
    assert_int_equal(job->curve.points[0].memory_bytes, 50);
    assert_int_equal(job->curve.points[1].at_usec, 1000000);
    assert_int_equal(job->curve.points[1].cpu_millicores, 400);
    assert_int_equal(job->curve.points[1].memory_bytes, 50);
    assert_int_equal(job->curve.points[2].at_usec, 2000000);
    assert_int_equal(job->curve.points[2].memory_bytes, 60);
    assert_int_equal(w->duration_usec, 20000000);
    /* The system used 1000 - 50 bytes. The node used 500 millicores when the container used 800. */
    assert_int_equal(w->system.points[0].memory_bytes, 950);
    assert_int_equal(w->system.points[0].cpu_millicores, 0);
    nm_workload_free(w);
}

/* The memory that the kernel takes from a dying container is missing in the node's use, but the container itself would
 * have kept it. */
static void test_the_memory_of_a_dying_container_is_not_what_it_wanted(void **state)
{
    struct nm_workload *w = take(HEADER SUBMIT("7") START("0", "7") SAMPLE("1000000", "[7,50,800,800000]")
                                     "{\"t\":1500000,\"ev\":\"kill\",\"c\":7}\n" SAMPLE("2000000", "[7,0,0,1200000]")
                                         END("2500000", "7", "preempted") STOP("9000000"));
    const struct nm_curve *c = &w->jobs[0].curve;

    (void)state;
    assert_int_equal(w->jobs[0].end, NM_SIM_JOB_KILLED);
    for (size_t i = 0; i < c->n; i++)
        assert_int_equal(c->points[i].memory_bytes, 50);
    assert_int_equal(w->system.points[0].memory_bytes, 950);
    assert_int_equal(w->system.points[1].memory_bytes, 1000);
    nm_workload_free(w);
}

static void test_a_trace_has_the_configuration(void **state)
{
    struct nm_workload *w = take(HEADER STOP("5000000"));

    (void)state;
    assert_int_equal(w->config->victim_order, NM_VICTIM_APP_FAIR);
    assert_int_equal(w->header.n_cpus, 4);
    assert_true(w->header.feature[NM_CGROUP_FREEZE]);
    assert_false(w->header.feature[NM_CGROUP_RECLAIM]);
    assert_string_equal(w->header.host, "h");
    nm_workload_free(w);
}

static void test_the_use_of_a_short_container_is_read_from_its_end(void **state)
{
    struct nm_workload *w =
        take(HEADER SUBMIT("1") START("100000", "1") END("2100000", "1", "exited") STOP("3000000"));

    (void)state;
    assert_int_equal(w->jobs[0].run_usec, 2000000);
    assert_int_equal(w->jobs[0].curve.n, 1);
    assert_int_equal(w->jobs[0].curve.points[0].memory_bytes, 77);
    assert_int_equal(w->jobs[0].curve.points[0].cpu_millicores, 500);
    nm_workload_free(w);
}

static void test_a_killed_container_gets_the_run_time_of_others(void **state)
{
    /* Container 1 ran for 8 s. Container 2 was killed after 4 s and is assumed to need 8 s, so its samples are
     * repeated. */
    struct nm_workload *w =
        take(HEADER SUBMIT("1") SUBMIT("2") START("0", "1") START("0", "2")
                 SAMPLE("2000000", "[2,10,100,1]") SAMPLE("4000000", "[2,20,300,1]")
                     END("4000000", "2", "preempted") END("8000000", "1", "exited")
                         STOP("30000000"));
    const struct nm_sim_job *job = &w->jobs[1];

    (void)state;
    assert_int_equal(job->end, NM_SIM_JOB_KILLED);
    assert_int_equal(job->run_usec, 8000000);
    for (size_t i = 0; i < job->curve.n; i++) {
        const struct nm_use *u = &job->curve.points[i];

        /* The four observed seconds are repeated from 4 s on, backwards, so that the use does not jump there. */
        if (u->at_usec >= 2000000 && u->at_usec < 6000000)
            assert_int_equal(u->cpu_millicores, 300);
        if (u->at_usec >= 4000000)
            assert_int_equal(u->memory_bytes, u->at_usec < 6000000 ? 20 : 10);
        if (u->at_usec >= 6000000)
            assert_int_equal(u->cpu_millicores, 100);
        assert_true(u->at_usec < 8000000);
    }
    assert_true(job->curve.n >= 4);
    nm_workload_free(w);
}

static void test_a_container_still_running_gets_an_estimated_run_time(void **state)
{
    /* Container 1 ran for 2 s. At the end of the trace, container 2 has run for 1 s and container 3 for 10 s. */
    struct nm_workload *w = take(HEADER SUBMIT("1") SUBMIT("2") SUBMIT("3") START("0", "1")
                                     START("0", "3") END("2000000", "1", "exited")
                                         START("9000000", "2") STOP("10000000"));

    (void)state;
    assert_int_equal(w->jobs[1].run_usec, 2000000);
    assert_int_equal(w->jobs[2].run_usec, NM_RUN_FOR_EVER);
    nm_workload_free(w);
}

static void test_a_refused_container_gets_the_use_of_others(void **state)
{
    struct nm_workload *w =
        take(HEADER SUBMIT("1") START("0", "1") SAMPLE("1000000", "[1,50,250,1]")
                 END("4000000", "1", "exited")
                     "{\"t\":4000000,\"ev\":\"refused\",\"type\":\"OPPORTUNISTIC\",\"memory\":400,"
                     "\"cpu\":400,\"name\":\"x\",\"reason\":\"queue-full\"}\n" STOP("9000000"));

    (void)state;
    assert_int_equal(w->n_jobs, 2);
    assert_true(w->jobs[1].refused);
    assert_int_equal(w->jobs[1].run_usec, 4000000);
    assert_int_equal(w->jobs[1].curve.points[0].memory_bytes, 200);
    assert_int_equal(w->jobs[1].curve.points[0].cpu_millicores, 100);
    nm_workload_free(w);
}

/* Containers that ended in the queue have no measured use. A cancelled container counts as if it had run. A container
 * that could not be launched never runs. */
static void test_a_cancelled_container_counts_as_if_it_had_run(void **state)
{
    struct nm_workload *w =
        take(HEADER SUBMIT("1") SUBMIT("2") SUBMIT("3") START("0", "1")
                 END("1000000", "2", "killed") END("2000000", "3", "command-not-found")
                     END("4000000", "1", "exited") STOP("9000000"));
    struct nm_sim_result *result = calloc(1, sizeof *result);
    char *message = NULL;

    (void)state;
    assert_non_null(result);
    for (size_t i = 0; i < w->n_jobs; i++)
        assert_true(w->jobs[i].curve.n > 0);
    assert_int_equal(w->jobs[1].run_usec, 4000000);
    assert_int_equal(w->jobs[2].run_usec, 0);
    assert_int_equal(w->jobs[2].curve.points[0].memory_bytes, 0);
    assert_int_equal(w->jobs[2].curve.points[0].cpu_millicores, 0);
    /* The workload can be replayed: all three jobs complete, without a slowdown. */
    assert_int_equal(nm_sim_run(w, w->config, "", NULL, NULL, result, &message), 0);
    assert_int_equal(result->jobs[NM_OPPORTUNISTIC].done, 3);
    assert_true(result->jobs[NM_OPPORTUNISTIC].slowdown_mean < 1.1);
    free(result);
    nm_workload_free(w);
}

#define PRESENT(c, ran, more) \
    "{\"t\":0,\"ev\":\"submit\",\"c\":" c ",\"type\":\"OPPORTUNISTIC\",\"memory\":9,\"cpu\":9," \
    "\"ran\":" ran more "}\n"

/* The run time before the trace counts for the run times of these containers, and for the estimates for other
 * containers. */
static void test_earlier_run_time_counts(void **state)
{
    /* Container 1 ran for 8 s in all, 2 has run for 6 s, 3 for 9 s, and 4 for 60 s instead of the expected 30 s. */
    struct nm_workload *w =
        take(HEADER PRESENT("1", "5000000", "") PRESENT("2", "3000000", "")
                 PRESENT("3", "6000000", "") PRESENT("4", "57000000", ",\"expected\":30000000")
                     END("3000000", "1", "exited") STOP("3000000"));

    (void)state;
    assert_int_equal(w->jobs[1].run_usec, 5000000);
    assert_int_equal(w->jobs[2].run_usec, NM_RUN_FOR_EVER);
    assert_int_equal(w->jobs[3].run_usec, NM_RUN_FOR_EVER);
    nm_workload_free(w);
}

static void test_an_adopted_container_is_replayed(void **state)
{
    struct nm_workload *w =
        take(HEADER "{\"t\":0,\"ev\":\"submit\",\"c\":3,\"type\":\"guaranteed\",\"memory\":9,"
                    "\"cpu\":9,\"ran\":5000000,\"app\":\"a\",\"exempt\":true}\n"
                    "{\"t\":1000000,\"ev\":\"change\",\"c\":3,\"type\":\"OPPORTUNISTIC\","
                    "\"memory\":8,\"cpu\":7}\n" END("2000000", "3", "killed"));

    (void)state;
    assert_true(w->jobs[0].present);
    assert_true(w->jobs[0].exempt);
    assert_int_equal(w->jobs[0].ran_usec, 5000000);
    assert_int_equal(w->jobs[0].run_usec, 2000000);
    assert_string_equal(w->apps[w->jobs[0].app], "a");
    assert_int_equal(w->n_changes, 1);
    assert_int_equal(w->changes[0].type, NM_OPPORTUNISTIC);
    assert_int_equal(w->changes[0].request.cpu_millicores, 7);
    nm_workload_free(w);
}

/* A truncated last line is accepted, since nmd may have been killed while writing it. */
static void test_a_truncated_last_line_is_accepted(void **state)
{
    struct nm_workload *w = take(HEADER SUBMIT("1") START("1000000", "1") "{\"t\":20000");

    (void)state;
    assert_true(w->cut_off);
    assert_int_equal(w->duration_usec, 1000000);
    nm_workload_free(w);
}

/* ---- refused traces ------------------------------------------------------ */

static void test_invalid_lines_are_refused(void **state)
{
    static const struct {
        const char *text, *wanted;
    } cases[] = {
        {"", "FILE:1: this is not a trace of nmd"},
        {"hello\n", "FILE:1: this is not a JSON object"},
        {"{}\n", "FILE:1: this is not a trace of nmd: the first line must be its header"},
        {"{\"nmd_trace\":2}\n", "\"nmd_trace\" is 2: it must be 1"},
        {"{\"nmd_trace\":1,\"period_usec\":5}\n", "\"period_usec\" is 5: it must be a whole number from 100000"},
        {"{\"nmd_trace\":1,\"period_usec\":1000000,\"node\":{\"memory_bytes\":0,\"cpus\":1}}\n",
         "without memory or CPUs"},
        {HEADER "[]\n", "FILE:2: this is not a JSON object"},
        {HEADER "{\"t\":1}\n", "\"ev\" is missing"},
        {HEADER "{\"t\":1,\"ev\":\"stat\"}\n", "\"ev\" is \"stat\": it must be submit"},
        {HEADER "{\"t\":-1,\"ev\":\"stop\"}\n", "\"t\" is -1: it must be a whole number from 0"},
        {HEADER STOP("5") STOP("4"), "FILE:3: an event: \"t\" is 4: it must be no earlier"},
        {HEADER START("0", "1"), "start: \"c\" is 1: it must be the number of a container"},
        {HEADER SUBMIT("0"), "\"c\" is 0: it must be larger than those before it"},
        {HEADER SUBMIT("2") SUBMIT("2"), "FILE:3: submit: \"c\" is 2: it must be larger"},
        {HEADER SUBMIT("1") START("0", "1") START("0", "1"), "container 1 is already running"},
        {HEADER SUBMIT("1") SAMPLE("1", "[1,1,1,1]"), "of a container that has started"},
        {HEADER SUBMIT("1") START("0", "1") SAMPLE("1", "[1,1,1]"), "rows of [c, memory"},
        {HEADER SUBMIT("1") START("0", "1") SAMPLE("1", "[1,1,1,-1]"), "within their ranges"},
        {HEADER SUBMIT("1") START("0", "1") END("1", "1", "tired"), "one of nmd's exit reasons"},
        {HEADER SUBMIT("1") END("1", "1", "shed") END("1", "1", "shed"), "and has not ended"},
        {HEADER "{\"t\":0,\"ev\":\"submit\",\"c\":1,\"type\":\"BEST\"}\n", "GUARANTEED or OPPORTUNISTIC"},
        {HEADER "{\"t\":0,\"ev\":\"submit\",\"c\":1,\"type\":\"GUARANTEED\",\"memory\":1,\"cpu\":1,"
                "\"name\":\"\\u001b[2J\"}\n",
         "\"name\" is \"\\u001B[2J\": it must be 1 to 63 letters"},
        {HEADER "{\"t\":0,\"ev\":\"submit\",\"c\":1,\"type\":\"GUARANTEED\",\"memory\":1e3,\"cpu\":1}\n",
         "\"memory\" is 1000.0: it must be a whole number"},
        {HEADER "{\"t\":0,\"ev\":\"submit\",\"c\":1,\"type\":\"GUARANTEED\",\"memory\":1,\"cpu\":1,"
                "\"curve\":[[5,1,1]]}\n",
         "the first is at 0"},
        {"{\"nmd_trace\":1,\"period_usec\":1000000,\"node\":{\"memory_bytes\":9,\"cpus\":1},"
         "\"features\":[],\"config\":{\"preemption.cpu-threshold\":\"2\"}}\n",
         "\"preemption.cpu-threshold\" is \"2\": it must be auto, or a fraction"},
        {"{\"nmd_trace\":1,\"period_usec\":1000000,\"node\":{\"memory_bytes\":9,\"cpus\":1},"
         "\"features\":[],\"config\":{\"preemption.memory-threshold\":\"0.5\"}}\n",
         "the recorded configuration: [over-allocation] memory-threshold"},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++)
        refuse(cases[i].text, cases[i].wanted);
}

/* ---- saving and loading -------------------------------------------------- */

static void assert_same_curve(const struct nm_curve *a, const struct nm_curve *b)
{
    assert_int_equal(a->n, b->n);
    for (size_t i = 0; i < a->n; i++) {
        assert_int_equal(a->points[i].at_usec, b->points[i].at_usec);
        assert_int_equal(a->points[i].memory_bytes, b->points[i].memory_bytes);
        assert_int_equal(a->points[i].cpu_millicores, b->points[i].cpu_millicores);
    }
}

static void assert_same(const struct nm_workload *a, const struct nm_workload *b)
{
    assert_int_equal(a->n_jobs, b->n_jobs);
    assert_int_equal(a->duration_usec, b->duration_usec);
    assert_same_curve(&a->system, &b->system);
    for (size_t i = 0; i < a->n_jobs; i++) {
        const struct nm_sim_job *x = &a->jobs[i], *y = &b->jobs[i];

        assert_int_equal(x->number, y->number);
        assert_string_equal(x->name, y->name);
        assert_string_equal(a->apps[x->app], b->apps[y->app]);
        assert_int_equal(x->type, y->type);
        assert_memory_equal(&x->request, &y->request, sizeof x->request);
        assert_int_equal(x->exempt, y->exempt);
        assert_int_equal(x->cpu_is_share, y->cpu_is_share);
        assert_int_equal(x->min_runtime_usec, y->min_runtime_usec);
        assert_int_equal(x->expected_usec, y->expected_usec);
        assert_int_equal(x->submit_usec, y->submit_usec);
        assert_int_equal(x->run_usec, y->run_usec);
        assert_same_curve(&x->curve, &y->curve);
    }
}

static char *saved(const struct nm_workload *w)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    assert_non_null(f);
    assert_int_equal(nm_workload_save(w, f), 0);
    assert_int_equal(fclose(f), 0);
    return text;
}

static void test_generated_traces_are_read_as_they_were_written(void **state)
{
    (void)state;
    for (int k = 0; k < NM_GENERATE_COUNT; k++) {
        struct nm_generate_params p = NM_GENERATE_DEFAULTS;
        struct nm_workload *w, *again, *back;
        char *text, *text_again;

        p.kind = (enum nm_generate_kind)k;
        p.duration_usec = 3600 * NM_USEC_PER_SEC;
        assert_int_equal(nm_generate(&p, &w), 0);
        assert_int_equal(nm_generate(&p, &again), 0);
        text = saved(w);
        text_again = saved(again);
        assert_string_equal(text, text_again); /* the same seed must give the same bytes */
        back = take(text);
        assert_same(w, back);
        p.seed = 2;
        nm_workload_free(again);
        free(text_again);
        assert_int_equal(nm_generate(&p, &again), 0);
        text_again = saved(again);
        assert_string_not_equal(text, text_again);
        nm_workload_free(w);
        nm_workload_free(again);
        nm_workload_free(back);
        free(text);
        free(text_again);
    }
}

/* If the buffer is too small, complete lines are omitted. */
static void test_a_line_is_written_whole_or_not_at_all(void **state)
{
    struct nm_trace_buffer b = {0};
    size_t before;

    (void)state;
    assert_int_equal(nm_trace_reserve(&b, 0, 0), 0);
    nm_trace_begin(&b, 1, "sample");
    nm_trace_end(&b);
    before = b.len;
    nm_trace_begin(&b, 2, "sample");
    nm_trace_begin_rows(&b, "use");
    for (uint64_t i = 0; i < 10000; i++)
        nm_trace_put_row(&b, (const uint64_t[]){UINT64_MAX, UINT64_MAX}, 2);
    nm_trace_end_rows(&b);
    nm_trace_end(&b);
    assert_int_equal(b.len, before);
    nm_trace_begin(&b, 3, "stop");
    nm_trace_end(&b);
    assert_memory_equal(b.text, "{\"t\":1,\"ev\":\"sample\"}\n{\"t\":3,\"ev\":\"stop\"}\n", b.len);
    nm_trace_buffer_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_use_follows_the_progress),
        cmocka_unit_test(test_the_memory_of_a_dying_container_is_not_what_it_wanted),
        cmocka_unit_test(test_a_trace_has_the_configuration),
        cmocka_unit_test(test_the_use_of_a_short_container_is_read_from_its_end),
        cmocka_unit_test(test_a_killed_container_gets_the_run_time_of_others),
        cmocka_unit_test(test_a_container_still_running_gets_an_estimated_run_time),
        cmocka_unit_test(test_a_refused_container_gets_the_use_of_others),
        cmocka_unit_test(test_a_cancelled_container_counts_as_if_it_had_run),
        cmocka_unit_test(test_earlier_run_time_counts),
        cmocka_unit_test(test_an_adopted_container_is_replayed),
        cmocka_unit_test(test_a_truncated_last_line_is_accepted),
        cmocka_unit_test(test_invalid_lines_are_refused),
        cmocka_unit_test(test_generated_traces_are_read_as_they_were_written),
        cmocka_unit_test(test_a_line_is_written_whole_or_not_at_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
