/* SPDX-License-Identifier: Apache-2.0 */

/* The proxy between an application master and a ResourceManager. */

#include "proxy-fixture.h"

#include <errno.h>

#include "rpc/hadoop/token.h"
#include "util/clock.h"
#include "yarn-tokens.h"

/* ---- forwarded calls -------------------------------------------------------------------------- */

static void test_a_call_is_forwarded_to_the_resourcemanager(void **state)
{
    const Masters__AllocateAnswer *answer;
    Masters__Anything m = MASTERS__ANYTHING__INIT;
    struct fixture w;

    (void)state;
    proxy_set_up(&w, false);
    proxy_launch(&w, 1);
    proxy_register_master(&w);
    assert_int_equal(w.unknown, 1);
    assert_string_equal(w.bearer, "first");
    answer = proxy_allocate(&w, 0, 3);
    assert_non_null(answer);
    assert_string_equal(w.context, "for whom");
    assert_int_equal(w.asks, 2);
    assert_int_equal(w.unknown, 1);
    assert_int_equal(answer->base.n_unknown_fields, 1);
    assert_int_equal(answer->base.unknown_fields[0].tag, 2);
    assert_null(answer->master_token);
    proxy_begin_call(&w, "finishApplicationMaster", &m.base, &masters__anything__descriptor);
    proxy_run_until(&w, proxy_is_done);
    assert_int_equal(w.error, 0);
    proxy_tear_down(&w);
}

static void test_opportunistic_asks_are_placed_by_the_proxy(void **state)
{
    const Masters__AllocateAnswer *answer;
    struct fixture w;

    (void)state;
    proxy_set_up(&w, true);
    proxy_launch(&w, 1);
    proxy_register_master(&w);
    answer = proxy_allocate(&w, 0, 3);
    assert_non_null(answer);
    assert_int_equal(w.asks, 1);
    assert_int_equal(w.unknown, 1);
    assert_int_equal(w.placed, 1); /* each host gets one container */
    assert_int_equal(w.numbers[0], (INT64_C(1) << 40) - 1);
    assert_int_equal(answer->n_containers, 1);
    assert_int_equal(answer->containers[0]->id->id, (INT64_C(1) << 40) - 1);
    assert_int_equal(answer->containers[0]->resource->memory, 1024);
    assert_int_equal(answer->containers[0]->execution_type, 2);
    assert_int_equal(answer->n_node_tokens, 1);
    assert_int_equal(answer->base.n_unknown_fields, 1);
    answer = proxy_allocate(&w, 1, -1);
    assert_int_equal(answer->containers[0]->id->id, (INT64_C(1) << 40) - 2);
    answer = proxy_allocate(&w, 2, -1);
    assert_int_equal(answer->containers[0]->id->id, (INT64_C(1) << 40) - 3);
    answer = proxy_allocate(&w, 3, -1);
    assert_int_equal(answer->n_containers, 0);
    assert_int_equal(answer->n_node_tokens, 0);
    proxy_tear_down(&w);
}

/* All containers are placed in one call, up to the limit on the node's queue and the queue lengths in the
 * ResourceManager's list. */
static void test_all_containers_are_placed_in_one_call(void **state)
{
    const Masters__AllocateAnswer *answer;
    struct fixture w;

    (void)state;
    proxy_set_up(&w, true);
    w.settings.fill_nodes = true;
    proxy_launch(&w, 1);
    proxy_register_master(&w);
    nm_yarn_proxy_set_rm(w.proxy, TOKENS_RM, 4); /* the node has reported the container with a heartbeat meanwhile */
    answer = proxy_allocate(&w, 0, 12);
    assert_int_equal(answer->n_containers, 4);
    nm_yarn_proxy_set_rm(w.proxy, TOKENS_RM, 100);
    answer = proxy_allocate(&w, 1, -1);
    assert_int_equal(answer->n_containers, 6);
    assert_int_equal(answer->containers[5]->id->id, (INT64_C(1) << 40) - 10);
    proxy_tear_down(&w);
}

/* The ResourceManager renews the token of the application master. The proxy doesn't forward the new token, and uses it
 * for the next connection. */
static void test_a_renewed_token_is_used_by_the_proxy_and_not_forwarded(void **state)
{
    const Masters__AllocateAnswer *answer;
    struct fixture w;

    (void)state;
    proxy_set_up(&w, true);
    proxy_launch(&w, 1);
    proxy_register_master(&w);
    w.rolls = true;
    answer = proxy_allocate(&w, 0, -1);
    assert_null(answer->master_token);
    w.rolls = false;
    assert_non_null(proxy_allocate(&w, 1, -1));
    assert_string_equal(w.bearer, "second");
    w.proxy = nm_yarn_proxy_free(w.proxy);
    proxy_start(&w);
    w.client = nm_hadoop_client_free(w.client);
    (void)memset(w.bearer, 0, sizeof w.bearer);
    assert_non_null(proxy_allocate(&w, 2, -1));
    assert_string_equal(w.bearer, "second");
    proxy_tear_down(&w);
}

/* ---- forged tokens ---------------------------------------------------------------------------- */

static void test_calls_without_a_valid_token_are_refused(void **state)
{
    static const struct nm_yarn_attempt_id first = {{TOKENS_RM, 1}, 1}, nobody = {{TOKENS_RM, 9}, 1};
    struct nm_yarn_master_key key = tokens_key(12345, 1);
    struct fixture w;

    (void)state;
    proxy_set_up(&w, true);
    proxy_launch(&w, 1);
    for (unsigned i = 0; i < 2; i++) {
        nm_token_free(w.ours);
        assert_int_equal(nm_yarn_local_token(&key, i == 0 ? &first : &nobody, &w.ours), 0);
        proxy_connect_master(&w);
        assert_null(proxy_allocate(&w, 0, -1));
        assert_int_equal(w.error, -EACCES);
        assert_string_equal(w.why.class_name, NM_EXCEPTION_INVALID_TOKEN);
    }
    assert_int_equal(w.calls, 0);
    proxy_tear_down(&w);
}

/* The former attempt may still have an open connection. */
static void test_a_second_attempt_replaces_the_first_one(void **state)
{
    struct nm_hadoop_client *former;
    struct nm_token *token;
    struct fixture w;

    (void)state;
    proxy_set_up(&w, true);
    proxy_launch(&w, 1);
    proxy_register_master(&w);
    assert_int_equal(proxy_allocate(&w, 0, 5)->n_containers, 1);
    former = STEAL_PTR(w.client);
    assert_int_equal(nm_token_copy(w.ours, &token), 0);
    proxy_launch(&w, 2);
    proxy_register_master(&w);
    assert_int_equal(proxy_allocate(&w, 0, -1)->n_containers, 0); /* these asks were those of the former attempt */
    assert_int_equal(proxy_allocate(&w, 1, 1)->containers[0]->id->attempt->attempt, 2);
    assert_int_equal(w.numbers[0], (INT64_C(1) << 40) - 1);
    w.client = nm_hadoop_client_free(w.client);
    w.client = former;
    assert_null(proxy_allocate(&w, 1, -1));
    assert_string_equal(w.why.class_name, NM_EXCEPTION_INVALID_TOKEN);
    nm_token_free(w.ours);
    w.ours = token;
    proxy_connect_master(&w);
    assert_null(proxy_allocate(&w, 1, -1));
    assert_int_equal(w.error, -EACCES);
    proxy_tear_down(&w);
}

/* ---- restarts of nmd and the ResourceManager -------------------------------------------------- */

/* While the ResourceManager is unavailable, the call waits. The event loop isn't blocked. */
static void test_a_call_waits_while_the_resourcemanager_is_unavailable(void **state)
{
    uint64_t away_until_usec;
    struct fixture w;

    (void)state;
    proxy_set_up(&w, true);
    proxy_launch(&w, 1);
    proxy_register_master(&w);
    proxy_stop_rm(&w);
    proxy_begin_allocate(&w, 0, 1);
    away_until_usec = nm_now_usec() + 500 * NM_USEC_PER_MSEC;
    while (nm_now_usec() < away_until_usec) {
        assert_true(sd_event_run(w.event, 20 * NM_USEC_PER_MSEC) >= 0);
        assert_false(w.done);
    }
    proxy_start_rm(&w);
    proxy_run_until(&w, proxy_is_done);
    assert_int_equal(w.error, 0);
    assert_int_equal(w.placed, 1);
    assert_int_equal(w.numbers[0], (INT64_C(1) << 40) - 1);
    assert_int_equal(((Masters__AllocateAnswer *)w.answer)->n_containers, 1);
    proxy_tear_down(&w);
}

static size_t n_released;
/* released: the container that the last call has released. ended_number: number of the container that the next answers
 * of the ResourceManager report as ended; 0: none. */
static int64_t released, ended_number;

static void note_releases(struct fixture *w, const Masters__AllocateRequest *request, Masters__AllocateAnswer *answer)
{
    static Hadoop__ContainerId id;
    static Masters__Ended end, *ends[] = {&end};

    (void)w;
    if (ended_number > 0) {
        id = (Hadoop__ContainerId)HADOOP__CONTAINER_ID__INIT;
        id.has_id = 1;
        id.id = ended_number;
        end = (Masters__Ended)MASTERS__ENDED__INIT;
        end.id = &id;
        answer->ended = ends;
        answer->n_ended = 1;
    }
    n_released = request->n_releases;
    released = n_released > 0 ? request->releases[n_released - 1]->id : 0;
}

/* The ResourceManager was restarted with a new epoch and doesn't know the registration of the application master. The
 * application master registers again and repeats its asks. Before the ResourceManager refused the call, it noted the
 * container that the call contained. The application master doesn't know this container, so it is released. */
static void test_after_a_restart_of_the_resourcemanager_asks_are_repeated(void **state)
{
    struct fixture w;

    (void)state;
    proxy_set_up(&w, true);
    w.on_allocate = note_releases;
    proxy_launch(&w, 1);
    proxy_register_master(&w);
    assert_int_equal(proxy_allocate(&w, 0, 2)->n_containers, 1);
    w.refuses = NOT_REGISTERED;
    assert_null(proxy_allocate(&w, 1, -1));
    assert_string_equal(w.why.class_name, NOT_REGISTERED);
    w.refuses = NULL;
    w.id_start = INT64_C(1) << 40;
    proxy_register_master(&w);
    for (int i = 0; i < 3; i++) { /* the call is repeated, also by an nmd that was restarted */
        assert_int_equal(proxy_allocate(&w, 0, 1)->n_containers, 0);
        assert_int_equal(w.placed, 0);
        assert_int_equal(n_released, 1);
        assert_int_equal(released, (INT64_C(1) << 40) - 2);
        if (i == 1) {
            w.proxy = nm_yarn_proxy_free(w.proxy);
            w.client = nm_hadoop_client_free(w.client);
            proxy_start(&w);
        }
    }
    assert_int_equal(proxy_allocate(&w, 1, -1)->n_containers, 1);
    assert_int_equal(w.numbers[0], (INT64_C(1) << 40) - 3);
    assert_int_equal(n_released, 0);
    ended_number = (INT64_C(1) << 40) - 2; /* the master doesn't know it */
    assert_int_equal(proxy_allocate(&w, 2, -1)->n_ended, 0);
    assert_int_equal(n_released, 0);
    ended_number = (INT64_C(1) << 40) - 3;
    assert_int_equal(proxy_allocate(&w, 3, -1)->n_ended, 1);
    ended_number = 0;
    proxy_tear_down(&w);
}

/* A container that the master has received may run, so it isn't released. */
static void test_a_delivered_container_is_not_released_after_a_registration(void **state)
{
    struct fixture w;

    (void)state;
    proxy_set_up(&w, true);
    w.on_allocate = note_releases;
    proxy_launch(&w, 1);
    proxy_register_master(&w);
    assert_int_equal(proxy_allocate(&w, 0, 1)->n_containers, 1);
    w.refuses = NOT_REGISTERED;
    assert_null(proxy_allocate(&w, 1, -1));
    w.refuses = NULL;
    proxy_register_master(&w);
    assert_int_equal(proxy_allocate(&w, 0, 1)->n_containers, 1);
    assert_int_equal(n_released, 0);
    proxy_register_master(&w); /* a registration without a refused call */
    assert_int_equal(proxy_allocate(&w, 0, 0)->n_containers, 0);
    assert_int_equal(n_released, 0);
    proxy_tear_down(&w);
}

/* nmd is killed after it has reported a container to the ResourceManager and before it has delivered the container to
 * the application master. The application master gets the same container later. */
static void test_a_restarted_nmd_delivers_containers_not_yet_delivered(void **state)
{
    struct fixture w;

    (void)state;
    proxy_set_up(&w, true);
    proxy_launch(&w, 1);
    proxy_register_master(&w);
    w.holds = true;
    proxy_begin_allocate(&w, 0, 3);
    proxy_run_until(&w, proxy_has_held);
    w.proxy = nm_yarn_proxy_free(w.proxy);
    w.client = nm_hadoop_client_free(w.client);
    proxy_stop_rm(&w);
    proxy_start_rm(&w);
    w.holds = false;
    proxy_start(&w);
    assert_int_equal(proxy_allocate(&w, 0, 3)->n_containers, 1);
    assert_int_equal(((Masters__AllocateAnswer *)w.answer)->containers[0]->id->id, (INT64_C(1) << 40) - 1);
    assert_int_equal(proxy_allocate(&w, 1, -1)->containers[0]->id->id, (INT64_C(1) << 40) - 2);
    assert_int_equal(proxy_allocate(&w, 2, -1)->containers[0]->id->id, (INT64_C(1) << 40) - 3);
    w.proxy = nm_yarn_proxy_free(w.proxy);
    w.client = nm_hadoop_client_free(w.client);
    proxy_start(&w);
    assert_int_equal(proxy_allocate(&w, 3, 1)->n_containers, 0); /* the proxy has no list of nodes yet */
    assert_int_equal(proxy_allocate(&w, 4, -1)->containers[0]->id->id, (INT64_C(1) << 40) - 4);
    proxy_tear_down(&w);
}

static bool lives(void *userdata, const struct nm_yarn_application_id *application)
{
    assert_int_equal(application->number, 1);
    return *(const bool *)userdata;
}

static unsigned pipelines_of(const struct fixture *w)
{
    struct nm_yarn_master_stats m;

    nm_yarn_proxy_show(w->proxy, &m);
    return m.pipelines;
}

/* The saved state of an application that is no longer on the node is removed. */
static void test_state_of_a_removed_application_is_removed(void **state)
{
    bool there = true;
    struct fixture w;

    (void)state;
    proxy_set_up(&w, true);
    proxy_launch(&w, 1);
    proxy_register_master(&w);
    w.proxy = nm_yarn_proxy_free(w.proxy);
    proxy_start(&w);
    nm_yarn_proxy_end_strays(w.proxy, lives, &there);
    assert_int_equal(pipelines_of(&w), 1);
    there = false;
    nm_yarn_proxy_end_strays(w.proxy, lives, &there);
    assert_int_equal(pipelines_of(&w), 0);
    w.proxy = nm_yarn_proxy_free(w.proxy);
    proxy_start(&w); /* the state is also missing after another restart */
    assert_int_equal(pipelines_of(&w), 0);
    proxy_tear_down(&w);
}

/* ---- status ----------------------------------------------------------------------------------- */

static bool sees_all(void *userdata, const char *master)
{
    (void)userdata, (void)master;
    return true;
}

static bool sees_none(void *userdata, const char *master)
{
    (void)userdata;
    assert_string_equal(master, "container_1410901177871_0001_01_000001");
    return false;
}

static void test_application_masters_are_reported(void **state)
{
    struct nm_yarn_master_stats m;
    struct fixture w;
    json_t *list, *placement;

    (void)state;
    proxy_set_up(&w, true);
    proxy_launch(&w, 1);
    proxy_register_master(&w);
    assert_int_equal(proxy_allocate(&w, 0, 3)->n_containers, 1);
    nm_yarn_proxy_show(w.proxy, &m);
    assert_int_equal(m.pipelines, 1);
    assert_int_equal(m.outstanding, 2);
    assert_int_equal(m.placed_anywhere, 1);
    assert_int_equal(m.took[NM_MASTER_START].n, 1);
    assert_int_equal(m.took[NM_MASTER_ALLOCATE].n, 1);
    assert_int_equal(m.added.n, 1);
    list = nm_yarn_proxy_show_pipelines(w.proxy, sees_all, NULL, true);
    assert_int_equal(json_array_size(list), 1);
    assert_string_equal(json_string_value(json_object_get(json_array_get(list, 0), "state")), "running");
    assert_string_equal(json_string_value(json_object_get(json_array_get(list, 0), "user")), "ada");
    json_decref(list);
    list = nm_yarn_proxy_show_pipelines(w.proxy, sees_none, NULL, true);
    assert_int_equal(json_array_size(list), 0);
    json_decref(list);
    placement = nm_yarn_proxy_show_placement(w.proxy, "container_1410901177871_0001_01_1099511627775", sees_all,
                                             NULL);
    assert_string_equal(json_string_value(json_object_get(placement, "rule")), "any");
    json_decref(placement);
    assert_null(nm_yarn_proxy_show_placement(w.proxy, "container_1410901177871_0001_01_1099511627775", sees_none,
                                             NULL));
    proxy_tear_down(&w);
}

/* The administrator has configured an unknown class as a stage. The error names the class, and nmd doesn't start. */
static void test_an_unknown_class_as_a_stage_is_an_error(void **state)
{
    static char *unknown[] = {(char *)"org.example.Mine", (char *)FORWARD, NULL};
    static char *no_end[] = {(char *)"org.apache.hadoop.yarn.server.nodemanager.scheduler.DistributedScheduler", NULL};
    const struct nm_stage_type *types[NM_STAGES_MAX];
    char *last[] = {(char *)FORWARD, NULL};
    struct nm_yarn_settings s = {.proxy_stages = unknown};
    char *message = NULL;
    size_t n;

    (void)state;
    assert_int_equal(nm_stages_choose(&s, types, &n, &message), -EOPNOTSUPP);
    assert_non_null(strstr(message, "interceptor-class.pipeline = 'org.example.Mine'"));
    free(message);
    s.proxy_stages = no_end;
    assert_int_equal(nm_stages_choose(&s, types, &n, &message), -EOPNOTSUPP);
    assert_non_null(strstr(message, "the last stage"));
    free(message);
    s = (struct nm_yarn_settings){.distributed = true, .proxy_stages = last};
    assert_int_equal(nm_stages_choose(&s, types, &n, &message), 0);
    assert_int_equal(n, 2);
    assert_string_equal(types[0]->name, "distribute");
    assert_string_equal(types[1]->name, "forward");
}

static void test_errors_of_stages_and_address_are_reported(void **state)
{
    static char *unknown[] = {(char *)"org.example.Mine", (char *)FORWARD, NULL};
    const struct nm_yarn_settings s = {.proxy_stages = unknown, .proxy_address = {(char *)"192.0.2.1", 8049}};
    char *message = NULL;

    (void)state;
    assert_int_equal(nm_yarn_proxy_check(&s, false, &message), -EOPNOTSUPP);
    assert_non_null(strstr(message, "interceptor-class.pipeline = 'org.example.Mine'"));
    assert_non_null(strstr(message, "yarn.nodemanager.amrmproxy.address: port 8049: Cannot assign"));
    free(message);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors_of_stages_and_address_are_reported),
        cmocka_unit_test(test_a_call_is_forwarded_to_the_resourcemanager),
        cmocka_unit_test(test_opportunistic_asks_are_placed_by_the_proxy),
        cmocka_unit_test(test_all_containers_are_placed_in_one_call),
        cmocka_unit_test(test_a_renewed_token_is_used_by_the_proxy_and_not_forwarded),
        cmocka_unit_test(test_calls_without_a_valid_token_are_refused),
        cmocka_unit_test(test_a_second_attempt_replaces_the_first_one),
        cmocka_unit_test(test_a_call_waits_while_the_resourcemanager_is_unavailable),
        cmocka_unit_test(test_after_a_restart_of_the_resourcemanager_asks_are_repeated),
        cmocka_unit_test(test_a_delivered_container_is_not_released_after_a_registration),
        cmocka_unit_test(test_a_restarted_nmd_delivers_containers_not_yet_delivered),
        cmocka_unit_test(test_state_of_a_removed_application_is_removed),
        cmocka_unit_test(test_application_masters_are_reported),
        cmocka_unit_test(test_an_unknown_class_as_a_stage_is_an_error),
    };

    sigset_t mask;

    /* As in nmd, the event loop watches the child processes that resolve names. */
    (void)sigemptyset(&mask);
    (void)sigaddset(&mask, SIGCHLD);
    assert_int_equal(sigprocmask(SIG_BLOCK, &mask, NULL), 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
