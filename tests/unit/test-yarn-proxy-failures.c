/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The proxy of application masters with failures. In each case an application master that repeats its call gets all
 * containers that it has asked for, and each of them once.
 */

#include "proxy-fixture.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "fail-nth.h"
#include "open-descriptors.h"
#include "rpc/hadoop/token.h"
#include "util/clock.h"
#include "yarn-tokens.h"
#include "yarn/id-messages.h"

#define STANDBY "org.apache.hadoop.ipc.StandbyException"
#define FIRST "container_1410901177871_0001_01_1099511627775" /* the first container that the proxy places */

static struct nm_yarn_master_stats shown(const struct fixture *w)
{
    struct nm_yarn_master_stats m;

    nm_yarn_proxy_show(w->proxy, &m);
    return m;
}

/* Sets the limit on file sizes to 0, so that writes fail, or removes the limit. */
static void fill_disk(bool full)
{
    struct rlimit rl;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &rl), 0);
    rl.rlim_cur = full ? 0 : rl.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &rl), 0);
}

/* ---- start of an application master ----------------------------------------------------------- */

/* The launch context contains other data instead of credentials, or lacks the token that the proxy replaces. */
static void test_an_application_master_without_its_token_is_refused(void **state)
{
    static const struct {
        struct nm_bytes tokens;
        const char *message;
    } cases[] = {
        {{(const uint8_t *)"HDTS\0\0\0", 7}, "AMRMToken not found in the start container request for application:"
                                             "appattempt_1410901177871_0001_000001"},
        {{(const uint8_t *)"none", 4}, "Invalid credentials in the start container request for "
                                       "application:appattempt_1410901177871_0001_000001"},
    };
    struct fixture w;

    (void)state;
    proxy_set_up(&w, true);
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        Yarn__LaunchContext context = YARN__LAUNCH_CONTEXT__INIT;
        const Yarn__LaunchContext *untouched = &context, *launched = untouched;
        struct nm_exception why;
        struct tokens_id t;
        struct nm_arena a;

        context.has_tokens = 1;
        context.tokens = (ProtobufCBinaryData){cases[i].tokens.size, (uint8_t *)(uintptr_t)cases[i].tokens.data};
        tokens_make(&t, 1, 1, 1, 1);
        nm_arena_init(&a, NM_MIB, NULL);
        assert_int_equal(nm_yarn_proxy_begin(w.proxy, &t.token, &context, &a, &launched, &why), NM_STAGE_E_REFUSED);
        assert_string_equal(why.message, cases[i].message);
        assert_ptr_equal(launched, untouched);
        assert_int_equal(shown(&w).pipelines, 0);
        nm_arena_done(&a);
        tokens_done(&t);
    }
    proxy_tear_down(&w);
}

/* After the start has failed or the application has ended, the token of the application master is invalid. */
static void test_the_token_of_an_ended_application_master_is_invalid(void **state)
{
    struct tokens_id t;
    struct fixture w;

    (void)state;
    proxy_set_up(&w, true);
    tokens_make(&t, 1, 1, 1, 1);
    for (unsigned i = 0; i < 2; i++) {
        const struct nm_yarn_container_id id = nm_yarn_container_of(&t.container);

        proxy_launch(&w, 1);
        proxy_register_master(&w);
        assert_int_equal(shown(&w).pipelines, 1);
        if (i == 0)
            nm_yarn_proxy_abandon(w.proxy, &t.token);
        else
            nm_yarn_proxy_end_application(w.proxy, &id.attempt.application);
        assert_int_equal(shown(&w).pipelines, 0);
        assert_null(proxy_allocate(&w, 0, 1));
        assert_string_equal(w.why.class_name, NM_EXCEPTION_INVALID_TOKEN);
    }
    tokens_done(&t);
    proxy_tear_down(&w);
}

/* The identifier in the token can't be parsed. */
static void test_an_invalid_token_identifier_is_refused(void **state)
{
    const struct nm_token strange = {nm_bytes_of("\xff\xff"), nm_bytes_of("secret"), nm_bytes_of(NM_TOKEN_KIND_AMRM),
                                     nm_bytes_of("")};
    struct fixture w;

    (void)state;
    proxy_set_up(&w, true);
    assert_int_equal(nm_token_copy(&strange, &w.ours), 0);
    proxy_connect_master(&w);
    assert_null(proxy_allocate(&w, 0, 1));
    assert_int_equal(w.error, -EACCES);
    assert_non_null(strstr(w.why.message, "it is not an AMRMToken"));
    proxy_tear_down(&w);
}

/* ---- full disk -------------------------------------------------------------------------------- */

/* An operation whose result can't be saved fails. After the disk has free space again the operation succeeds, and no
 * state is lost. */
static void test_an_operation_whose_result_can_not_be_saved_fails(void **state)
{
    struct fixture w;

    (void)state;
    proxy_set_up(&w, true);
    fill_disk(true);
    assert_true(proxy_try_launch(&w, 1) < 0);
    fill_disk(false);
    assert_int_equal(shown(&w).pipelines, 0);
    assert_int_equal(shown(&w).failed[NM_MASTER_START], 1);
    proxy_launch(&w, 1);
    fill_disk(true);
    /* a refusal would block the application master, which the ResourceManager has already registered */
    proxy_register_master(&w);
    assert_non_null(strstr(proxy_log_message, "can't save the registration of an application master"));
    assert_null(proxy_allocate(&w, 0, 2));
    assert_string_equal(w.why.class_name, NM_EXCEPTION_RETRY);
    assert_non_null(strstr(w.why.message, "This node can't process the call at the moment: "));
    fill_disk(false);
    assert_int_equal(proxy_allocate(&w, 0, 2)->n_containers, 1);
    assert_int_equal(((Masters__AllocateAnswer *)w.answer)->containers[0]->id->id, (INT64_C(1) << 40) - 1);

    w.rolls = true; /* a new token of the ResourceManager is used although it can't be saved */
    fill_disk(true);
    assert_non_null(proxy_allocate(&w, 1, -1) ?: (const void *)w.why.class_name);
    fill_disk(false);
    w.rolls = false;
    assert_int_equal(proxy_allocate(&w, 1, -1)->containers[0]->id->id, (INT64_C(1) << 40) - 2);
    assert_int_equal(proxy_allocate(&w, 2, -1)->n_containers, 0);
    proxy_tear_down(&w);
}

static bool has_new_token(struct fixture *w, int32_t response_id)
{
    const Masters__AllocateAnswer *answer = proxy_allocate(w, response_id, -1);

    assert_non_null(answer);
    return answer->master_token;
}

/* A new key is used only after it has been saved. The same applies to the tokens that are signed with this key. */
static void test_a_new_key_is_used_only_after_it_has_been_saved(void **state)
{
    const uint64_t deadline = nm_now_usec() + 60 * NM_USEC_PER_SEC;
    int32_t response_id = 0;
    struct fixture w;

    (void)state;
    proxy_set_up(&w, false);
    w.proxy = nm_yarn_proxy_free(w.proxy);
    w.settings.amrm_roll_sec = 1;
    w.settings.am_expiry_usec = 600 * NM_USEC_PER_SEC;
    proxy_start(&w);
    proxy_launch(&w, 1);
    proxy_register_master(&w);
    fill_disk(true);
    while (!strstr(proxy_log_message, "continues with the current one")) {
        assert_true(nm_now_usec() < deadline);
        assert_true(sd_event_run(w.event, 100 * NM_USEC_PER_MSEC) >= 0);
    }
    assert_false(has_new_token(&w, response_id++));
    fill_disk(false);
    while (!has_new_token(&w, response_id++))
        assert_true(nm_now_usec() < deadline);
    proxy_tear_down(&w);
}

/* ---- a failing ResourceManager ---------------------------------------------------------------- */

/* A ResourceManager in standby, a ResourceManager that doesn't answer, and a ResourceManager whose name can't be
 * resolved. The call succeeds afterwards. */
static void test_calls_are_retried_while_the_resourcemanager_is_unavailable(void **state)
{
    struct fixture w;

    (void)state;
    proxy_set_up(&w, true);
    w.settings.rpc_timeout_usec = 100 * NM_USEC_PER_MSEC;
    proxy_launch(&w, 1);
    proxy_register_master(&w);

    w.holds = true;
    proxy_begin_allocate(&w, 0, 1);
    proxy_run_until(&w, proxy_has_held);
    w.holds = false;
    w.settings.rpc_timeout_usec = 0;
    proxy_run_until(&w, proxy_is_done);
    assert_int_equal(w.error, 0);
    assert_int_equal(w.numbers[0], (INT64_C(1) << 40) - 1);
    proxy_stop_rm(&w);
    proxy_start_rm(&w);

    w.refuses = STANDBY;
    w.calls = 0;
    proxy_begin_allocate(&w, 1, 1);
    while (w.calls == 0)
        assert_true(sd_event_run(w.event, 100 * NM_USEC_PER_MSEC) >= 0);
    assert_false(w.done);
    w.refuses = NULL;
    proxy_run_until(&w, proxy_is_done);
    assert_int_equal(w.error, 0);
    assert_int_equal(w.numbers[0], (INT64_C(1) << 40) - 2);

    proxy_stop_rm(&w);
    w.settings.scheduler.host = (char *)(uintptr_t) "a..b";
    proxy_begin_allocate(&w, 2, 1);
    for (unsigned i = 0; i < 10; i++)
        assert_true(sd_event_run(w.event, 50 * NM_USEC_PER_MSEC) >= 0);
    assert_false(w.done);
    w.settings.scheduler.host = (char *)(uintptr_t) "127.0.0.1";
    proxy_start_rm(&w);
    proxy_run_until(&w, proxy_is_done);
    assert_int_equal(w.error, 0);
    assert_int_equal(w.numbers[0], (INT64_C(1) << 40) - 3);
    proxy_tear_down(&w);
}

static void count_reply(void *userdata, int error, const ProtobufCMessage *answer, const struct nm_exception *why)
{
    struct fixture *w = userdata;

    assert_null(answer);
    assert_int_equal(error, -EREMOTEIO);
    w->why = *why;
    w->asks++;
}

/* The number of pending calls of an application master is limited. Calls that are pending when the node stops are
 * refused. */
static void test_pending_calls_of_an_application_master_are_limited(void **state)
{
    Masters__Anything m = MASTERS__ANYTHING__INIT;
    struct fixture w;

    (void)state;
    proxy_set_up(&w, false);
    proxy_launch(&w, 1);
    proxy_stop_rm(&w);
    for (unsigned i = 0; i < 9; i++)
        assert_int_equal(nm_hadoop_client_call(w.client, "finishApplicationMaster", &m.base,
                                               &masters__anything__descriptor, 0, UINT64_MAX, count_reply, &w), 0);
    while (w.asks == 0)
        assert_true(sd_event_run(w.event, 100 * NM_USEC_PER_MSEC) >= 0);
    assert_int_equal(w.asks, 1);
    assert_string_equal(w.why.class_name, NM_EXCEPTION_RETRY);
    assert_string_equal(w.why.message, "8 calls of appattempt_1410901177871_0001_000001 are already waiting.");
    assert_int_equal(shown(&w).failed[NM_MASTER_FINISH], 1);
    proxy_tear_down(&w);
}

/* If the ResourceManager supplies a token for this node, the proxy adds no other token for it, also after a restart. */
static void test_a_token_of_the_resourcemanager_is_not_replaced(void **state)
{
    struct fixture w;

    (void)state;
    proxy_set_up(&w, true);
    proxy_launch(&w, 1);
    proxy_register_master(&w);
    w.gives_token = true;
    assert_int_equal(proxy_allocate(&w, 0, 3)->n_node_tokens, 1);
    w.gives_token = false;
    assert_int_equal(proxy_allocate(&w, 1, -1)->n_containers, 1);
    assert_int_equal(((Masters__AllocateAnswer *)w.answer)->n_node_tokens, 0);
    w.proxy = nm_yarn_proxy_free(w.proxy);
    w.client = nm_hadoop_client_free(w.client);
    proxy_start(&w);
    assert_non_null(proxy_allocate(&w, 2, -1)); /* this call lists the nodes again */
    assert_int_equal(proxy_allocate(&w, 3, -1)->n_containers, 1);
    assert_int_equal(((Masters__AllocateAnswer *)w.answer)->n_node_tokens, 0);
    proxy_tear_down(&w);
}

/* ---- saved state ------------------------------------------------------------------------------ */

/* An application master with invalid saved data can't be restored. This is reported, and the other application masters
 * are restored. */
static void test_an_application_master_with_invalid_data_is_not_restored(void **state)
{
    const struct nm_bytes garbage = nm_bytes_of("\x0a\x7f");
    struct nm_yarn_stored_master m = {
        .attempt = {{TOKENS_RM, 9}, 1}, .submitter = "ada",
        .token = {nm_bytes_of("id"), nm_bytes_of("pw"), nm_bytes_of(NM_TOKEN_KIND_AMRM), nm_bytes_of("")}};
    struct fixture w;

    (void)state;
    proxy_set_up(&w, true);
    proxy_launch(&w, 1);
    for (unsigned i = 0; i < 2; i++) {
        struct nm_yarn_proxy_store keep;

        m.registered = i == 0 ? garbage : (struct nm_bytes){};
        m.asks = i == 1 ? garbage : (struct nm_bytes){};
        w.proxy = nm_yarn_proxy_free(w.proxy);
        assert_int_equal(nm_yarn_proxy_store_open(w.dir, w.dir, &keep), 0);
        assert_int_equal(nm_yarn_proxy_store_master(&keep, &m), 0);
        nm_yarn_proxy_store_done(&keep);
        *proxy_log_message = '\0';
        proxy_start(&w);
        assert_string_equal(proxy_log_message, "The proxy can't restore the saved state of an application master.");
        assert_int_equal(shown(&w).pipelines, 1);
        assert_int_equal(shown(&w).failed[NM_MASTER_RECOVER], 1);
    }
    proxy_tear_down(&w);
}

static bool sees_all(void *userdata, const char *master)
{
    (void)userdata, (void)master;
    return true;
}

/* Another kind of file has the name of the file for placements. The proxy reports this and works without the file. */
static void test_the_proxy_works_without_a_placements_file(void **state)
{
    struct fixture w;
    char path[96];
    json_t *placement;

    (void)state;
    proxy_set_up(&w, true);
    w.proxy = nm_yarn_proxy_free(w.proxy);
    (void)snprintf(path, sizeof path, "%s/placements", w.dir);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    proxy_start(&w);
    assert_string_equal(proxy_log_message,
                        "The proxy can't save the reasons of placements in its file \"placements\" (Is a "
                                    "directory); they are lost when nmd restarts.");
    proxy_launch(&w, 1);
    proxy_register_master(&w);
    assert_int_equal(proxy_allocate(&w, 0, 1)->n_containers, 1);
    placement = nm_yarn_proxy_show_placement(w.proxy, FIRST, sees_all, NULL);
    assert_non_null(placement);
    json_decref(placement);
    proxy_tear_down(&w);
}

/* ---- failures of allocations ------------------------------------------------------------------ */

static void ignore(int level, const char *sentence)
{
    (void)level, (void)sentence;
}

static int begin_proxy(struct fixture *w, unsigned kinds, unsigned n, bool *ret_failed)
{
    const struct nm_yarn_proxy_params params = {
        .event = w->event, .settings = &w->settings, .keys = &w->keys, .state_dir = w->dir, .runtime_dir = w->dir,
        .report_cb = ignore};
    const unsigned before = open_descriptors();
    struct nm_yarn_proxy *p = NULL;
    char *message = NULL;
    int r;

    fail_nth(kinds, n);
    r = nm_yarn_proxy_new(&params, &p, &message);
    *ret_failed = fail_stop();
    free(message);
    assert_int_equal(r < 0, !p);
    nm_yarn_proxy_free(p);
    assert_int_equal(open_descriptors(), before);
    return r;
}

/* After a failed start, the saved state still exists for the next attempt. */
static void test_a_failed_start_of_the_proxy_keeps_the_saved_state(void **state)
{
    static const unsigned kinds[] = {FAIL_MEMORY, FAIL_EVENT, FAIL_OPEN};
    struct fixture w;

    (void)state;
    proxy_set_up(&w, true);
    proxy_launch(&w, 1);
    proxy_register_master(&w);
    assert_int_equal(proxy_allocate(&w, 0, 2)->n_containers, 1);
    w.proxy = nm_yarn_proxy_free(w.proxy);
    w.client = nm_hadoop_client_free(w.client);
    for (size_t i = 0; i < NM_ARRAY_SIZE(kinds); i++) {
        unsigned refused = 0;
        bool failed = true;

        for (unsigned n = 1; failed; n++)
            refused += begin_proxy(&w, kinds[i], n, &failed) < 0;
        assert_true(refused > 0);
    }
    proxy_start(&w);
    assert_int_equal(shown(&w).pipelines, 1);
    assert_non_null(proxy_allocate(&w, 1, -1)); /* this call lists the nodes again */
    assert_int_equal(proxy_allocate(&w, 2, -1)->containers[0]->id->id, (INT64_C(1) << 40) - 2);
    proxy_tear_down(&w);
}

static unsigned launch_fails_at;
static bool launch_failed;

static void on_begin(bool over)
{
    if (over)
        launch_failed = fail_stop();
    else
        fail_nth(FAIL_MEMORY | FAIL_EVENT | FAIL_OPEN, launch_fails_at);
}

/* After a failed start of an application master there is no pipeline, and the next start succeeds. */
static void test_a_failed_start_of_an_application_master_leaves_no_pipeline(void **state)
{
    struct fixture w;
    int r;

    (void)state;
    proxy_set_up(&w, true);
    w.on_begin = on_begin;
    launch_fails_at = 0;
    do {
        launch_fails_at++;
        r = proxy_try_launch(&w, 1);
        assert_int_equal(shown(&w).pipelines, r == 0);
        assert_int_equal(r < 0, launch_failed);
    } while (launch_failed);
    assert_true(launch_fails_at > 10);
    proxy_connect_master(&w);
    proxy_register_master(&w);
    proxy_tear_down(&w);
}

/* Repeats the call until it is answered, as application masters do. */
static const Masters__AllocateAnswer *insist(struct fixture *w, int32_t response_id, int32_t opportunistic)
{
    const uint64_t deadline = nm_now_usec() + 60 * NM_USEC_PER_SEC;
    const Masters__AllocateAnswer *answer = NULL;

    while (!answer) {
        assert_true(nm_now_usec() < deadline);
        answer = proxy_allocate(w, response_id, opportunistic);
    }
    return answer;
}

/* The first call may have been answered. In total there are three different containers. */
static void collect(struct fixture *w)
{
    int64_t numbers[3];
    size_t got = 0;

    for (int32_t i = 0; i < 6 && got < 3; i++) {
        const Masters__AllocateAnswer *answer =
            i == 0 && w->answer ? (const void *)w->answer : insist(w, i, i == 0 ? 3 : -1);

        assert_true(answer->n_containers <= 1);
        if (answer->n_containers > 0)
            numbers[got++] = answer->containers[0]->id->id;
    }
    assert_int_equal(got, 3);
    assert_true(numbers[0] > 0 && numbers[1] < numbers[0] && numbers[2] < numbers[1]);
    assert_int_equal(insist(w, 6, -1)->n_containers, 0);
}

/* A call may fail in the proxy or at either end, on an old or a new connection. After any failure, the token of the
 * application master isn't reported as invalid, and the application master gets all containers that it has asked
 * for. */
static void test_an_application_master_can_repeat_a_failed_call(void **state)
{
    int32_t attempt = 0;
    struct fixture w;

    (void)state;
    proxy_set_up(&w, true);
    for (unsigned anew = 0; anew < 2; anew++) {
        bool failed = true;

        for (unsigned n = 1; failed; n++) {
            proxy_launch(&w, ++attempt);
            proxy_register_master(&w);
            if (anew)
                proxy_connect_master(&w);
            proxy_begin_allocate(&w, 0, 3);
            fail_nth(FAIL_MEMORY | FAIL_EVENT | FAIL_OPEN, n);
            proxy_run_until(&w, proxy_is_done);
            failed = fail_stop();
            if (!w.answer)
                assert_string_not_equal(w.why.class_name, NM_EXCEPTION_INVALID_TOKEN);
            collect(&w);
        }
    }
    proxy_tear_down(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_application_master_without_its_token_is_refused),
        cmocka_unit_test(test_the_token_of_an_ended_application_master_is_invalid),
        cmocka_unit_test(test_an_invalid_token_identifier_is_refused),
        cmocka_unit_test(test_an_operation_whose_result_can_not_be_saved_fails),
        cmocka_unit_test(test_a_new_key_is_used_only_after_it_has_been_saved),
        cmocka_unit_test(test_calls_are_retried_while_the_resourcemanager_is_unavailable),
        cmocka_unit_test(test_pending_calls_of_an_application_master_are_limited),
        cmocka_unit_test(test_a_token_of_the_resourcemanager_is_not_replaced),
        cmocka_unit_test(test_an_application_master_with_invalid_data_is_not_restored),
        cmocka_unit_test(test_the_proxy_works_without_a_placements_file),
        cmocka_unit_test(test_a_failed_start_of_the_proxy_keeps_the_saved_state),
        cmocka_unit_test(test_a_failed_start_of_an_application_master_leaves_no_pipeline),
        cmocka_unit_test(test_an_application_master_can_repeat_a_failed_call),
    };
    sigset_t mask;

    /* As in nmd, the event loop watches the child processes that resolve names, and SIGXFSZ is ignored. */
    (void)sigemptyset(&mask);
    (void)sigaddset(&mask, SIGCHLD);
    assert_int_equal(sigprocmask(SIG_BLOCK, &mask, NULL), 0);
    (void)signal(SIGXFSZ, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
