/* SPDX-License-Identifier: Apache-2.0 */

/* yarn/node/node-rest.c and node-report.c: answers and reports about a node's containers, on a complete manager. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "tests/unit/described.h"
#include "tests/unit/each-arena-size.h"
#include "tests/unit/fail-nth.h"
#include "tests/unit/fake-launcher.h"

#define APP "application_1410901177871_0001"
#define FIRST "container_1410901177871_0001_01_000005"
#define NUMBERED_HERE "container_1410901177871_0001_01_1099511627775"

/* ---- containers of a node ----------------------------------------------------------------- */

/* The application's view ACL in start requests; NULL: none. */
static const char *view_acl;

static void start_with(struct nm_yarn_node *n, int64_t number, bool opportunistic, Yarn__Data **services,
                       size_t n_services)
{
    Yarn__Acl modify = YARN__ACL__INIT, view = YARN__ACL__INIT, *acls[] = {&modify, &view};
    Yarn__LaunchContext context = YARN__LAUNCH_CONTEXT__INIT;
    char *words[] = {(char *)(uintptr_t) "exec sleep 1000"};
    struct nm_exception why;
    struct tokens_id ids;
    uint8_t bytes[512];
    size_t size;

    tokens_ids(&ids, 1, 1, number);
    ids.token = (Hadoop__ContainerTokenIdentifier)HADOOP__CONTAINER_TOKEN_IDENTIFIER__INIT;
    ids.token.container = &ids.container;
    ids.token.node_address = (char *)(uintptr_t) "node07:4711";
    ids.token.submitter = (char *)(uintptr_t) "alice";
    ids.resource = (Hadoop__Resource)HADOOP__RESOURCE__INIT;
    ids.resource.has_memory = ids.resource.has_vcores = 1;
    ids.resource.memory = 64;
    ids.resource.vcores = 2;
    ids.token.resource = &ids.resource;
    ids.token.has_execution_type = 1;
    ids.token.execution_type = opportunistic ? HADOOP__CONTAINER_TOKEN_IDENTIFIER__EXECUTION_TYPE__OPPORTUNISTIC
                                             : HADOOP__CONTAINER_TOKEN_IDENTIFIER__EXECUTION_TYPE__GUARANTEED;
    size = hadoop__container_token_identifier__get_packed_size(&ids.token);
    assert_in_range(size, 1, sizeof bytes);
    (void)hadoop__container_token_identifier__pack(&ids.token, bytes);
    context.command = words;
    context.n_command = 1;
    modify.has_access_type = view.has_access_type = 1;
    modify.access_type = 2;
    modify.acl = (char *)(uintptr_t) "eve";
    view.access_type = 1;
    view.acl = (char *)(uintptr_t)view_acl;
    context.acls = acls;
    context.n_acls = view_acl ? 2 : 0;
    context.service_data = services;
    context.n_service_data = n_services;
    assert_int_equal(nm_yarn_node_start(n, (struct nm_bytes){bytes, size}, &ids.token, &context, &why), 0);
}

static void start(struct nm_yarn_node *n, int64_t number, bool opportunistic)
{
    start_with(n, number, opportunistic, NULL, 0);
}

static bool sees_only(void *userdata, const char *container)
{
    return nm_streq(userdata, container);
}

static json_t *container_of(struct nm_yarn_node *n, const struct nm_yarn_view_rights *rights, const char *id)
{
    json_t *j = NULL;

    assert_true(nm_yarn_node_show_container(n, rights, id, &j));
    return j;
}

#define LINK(id) "\"http://node07:8042/node/containerlogs/" id "/alice\""
#define CONTAINER(id, state, code, printed, user, type, link, files) \
    "{\"id\":\"" id "\",\"state\":\"" state "\",\"exitCode\":" code ",\"diagnostics\":" printed ",\"user\":" user \
    ",\"totalMemoryNeededMB\":64,\"totalVCoresNeeded\":2,\"executionType\":\"" type "\"," \
    "\"containerLogsLink\":" link "," \
    "\"nodeId\":\"node07:4711\",\"containerLogFiles\":" files "}"
#define APPLICATION(state, user, ids) \
    "{\"id\":\"" APP "\",\"state\":\"" state "\",\"user\":" user ",\"containerids\":[" ids "]}"

static void test_containers_are_listed(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_yarn_node *n = fake_launcher_node(w);
    struct nm_yarn_view_rights all = {.all = true, .with_users = true, .with_log_files = true};
    struct nm_yarn_view_rights one = {.may_see = sees_only, .userdata = (void *)(uintptr_t)FIRST}, net = {.all = true};
    struct nm_exception why;
    struct tokens_id ids;
    json_t *j = NULL;

    nm_yarn_node_set_address(n, "node07", 4711, 8042);
    assert_answer("HadoopContainers", nm_yarn_node_show_containers(n, &all), "{\"containers\":{}}");
    start(n, 5, false);
    start(n, -1, true); /* the number of this container was assigned by another node */
    assert_answer("HadoopContainer", container_of(n, &all, NUMBERED_HERE),
                  "{\"container\":" CONTAINER(NUMBERED_HERE, "NEW", "-1000", "\"\"", "\"alice\"", "OPPORTUNISTIC",
                                              LINK(NUMBERED_HERE),
                                              "[\"" NUMBERED_HERE ".log\"]") "}");
    assert_answer("HadoopContainers", nm_yarn_node_show_containers(n, &one),
                  "{\"containers\":{\"container\":["
                  CONTAINER(FIRST, "NEW", "-1000", "null", "null", "GUARANTEED", "null", "null") "]}}");
    assert_false(nm_yarn_node_show_container(n, &one, NUMBERED_HERE, &j));
    assert_false(nm_yarn_node_show_container(n, &all, "container_1_1_1_1", &j));
    tokens_ids(&ids, 1, 1, 5);
    assert_int_equal(nm_yarn_node_stop(n, &ids.container, NM_YARN_KILLED_BY_MASTER, "Enough.", &why), 0);
    manager_fixture_settle(w);
    j = container_of(n, &net, FIRST);
    assert_string_equal(json_string_value(json_object_get(json_object_get(j, "container"), "state")), "DONE");
    assert_int_equal(json_integer_value(json_object_get(json_object_get(j, "container"), "exitCode")), -105);
    assert_true(json_is_null(json_object_get(json_object_get(j, "container"), "diagnostics")));
    assert_answer("HadoopContainer", j, NULL);
    j = nm_yarn_node_show_containers(n, &all); /* running containers are listed before ended ones */
    assert_string_equal(json_string_value(json_object_get(
                            json_array_get(json_object_get(json_object_get(j, "containers"), "container"), 0), "id")),
                        NUMBERED_HERE);
    assert_answer("HadoopContainers", j, NULL);
    nm_yarn_node_free(n);
}

static void test_applications_are_listed(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_yarn_node *n = fake_launcher_node(w);
    struct nm_yarn_view_rights all = {.all = true, .with_users = true}, net = {.all = true};
    struct nm_yarn_view_rights one = {.may_see = sees_only, .userdata = (void *)(uintptr_t)FIRST};
    struct nm_yarn_view_rights none = {.may_see = sees_only, .userdata = (void *)(uintptr_t) "x"};
    const struct nm_yarn_application_id id = {1410901177871, 1}, other = {1410901177871, 2};
    static const char *const nothing = "{\"apps\":{}}";
    json_t *j = NULL;

    assert_answer("HadoopApps", nm_yarn_node_show_applications(n, &all, NULL, NULL), nothing);
    start(n, 5, false);
    start(n, -1, true);
    assert_answer("HadoopApps", nm_yarn_node_show_applications(n, &all, "RUNNING", "alice"),
                  "{\"apps\":{\"app\":["
                  APPLICATION("RUNNING", "\"alice\"", "\"" FIRST "\",\"" NUMBERED_HERE "\"") "]}}");
    assert_answer("HadoopApps", nm_yarn_node_show_applications(n, &all, "FINISHED", NULL), nothing);
    assert_answer("HadoopApps", nm_yarn_node_show_applications(n, &all, NULL, "bob"), nothing);
    assert_answer("HadoopApps", nm_yarn_node_show_applications(n, &none, NULL, NULL), nothing);
    assert_true(nm_yarn_node_show_application(n, &one, &id, &j));
    assert_answer("HadoopApp", j, "{\"app\":" APPLICATION("RUNNING", "null", "\"" FIRST "\"") "}");
    assert_true(nm_yarn_node_show_application(n, &net, &id, &j));
    assert_answer("HadoopApp", j, NULL);
    assert_false(nm_yarn_node_show_application(n, &none, &id, &j));
    assert_false(nm_yarn_node_show_application(n, &all, &other, &j));
    nm_yarn_node_free(n);
}

/* A list that exceeds its limit contains a note that entries are missing. */
static void test_a_list_that_exceeds_its_limit_reports_missing_entries(void **state)
{
    struct nm_yarn_node *n = fake_launcher_node(*state);
    struct nm_yarn_view_rights all = {.all = true};
    json_t *j, *list;

    for (unsigned i = 1; i <= NM_YARN_LIST_MAX + 1; i++)
        start(n, i, true);
    j = nm_yarn_node_show_containers(n, &all);
    list = json_object_get(j, "containers");
    assert_int_equal(json_array_size(json_object_get(list, "container")), NM_YARN_LIST_MAX);
    assert_true(json_is_true(json_object_get(list, "more")));
    assert_answer("HadoopContainers", j, NULL);
    nm_yarn_node_free(n);
}

/* ---- access lists ------------------------------------------------------------------------- */

static unsigned n_asked;

/* Accepts the viewer whom the application's view ACL names. */
static bool views_only(void *userdata, const char *submitter, const char *acl)
{
    n_asked++;
    assert_string_equal(submitter, "alice");
    return nm_streq(acl ?: "", userdata);
}

static unsigned count_members(json_t *list, const char *member, const char *text)
{
    unsigned n = 0;
    json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
        n += nm_streq(json_string_value(json_object_get(item, member)) ?: "-", text);
    return n;
}

static void test_access_lists_hide_the_data_of_users(void **state)
{
    struct nm_yarn_node *n = fake_launcher_node(*state);
    struct nm_yarn_view_rights bob = {.all = true, .with_users = true, .may_view = views_only,
                                      .view_userdata = (void *)(uintptr_t) "bob"};
    struct nm_yarn_view_rights eve = bob;
    json_t *j, *list;

    eve.view_userdata = (void *)(uintptr_t) "eve";
    nm_yarn_node_set_address(n, "node07", 4711, 8042);
    view_acl = "bob";
    for (unsigned i = 1; i <= 3; i++)
        start(n, i, false);
    view_acl = NULL;
    n_asked = 0;
    j = nm_yarn_node_show_containers(n, &bob);
    list = json_object_get(json_object_get(j, "containers"), "container");
    assert_int_equal(count_members(list, "user", "alice"), 3);
    assert_int_equal(n_asked, 1); /* once for the application */
    assert_answer("HadoopContainers", j, NULL);
    j = nm_yarn_node_show_containers(n, &eve);
    list = json_object_get(json_object_get(j, "containers"), "container");
    assert_int_equal(count_members(list, "user", "-"), 3);
    assert_int_equal(count_members(list, "diagnostics", "-"), 3);
    assert_int_equal(count_members(list, "containerLogsLink", "-"), 3);
    assert_answer("HadoopContainers", j, NULL);
    j = nm_yarn_node_show_applications(n, &bob, NULL, "alice");
    assert_int_equal(count_members(json_object_get(json_object_get(j, "apps"), "app"), "user", "alice"), 1);
    json_decref(j);
    /* a list that is filtered by user would reveal the user */
    assert_answer("HadoopApps", nm_yarn_node_show_applications(n, &eve, NULL, "alice"), "{\"apps\":{}}");
    nm_yarn_node_free(n);
}

/* ---- figures ------------------------------------------------------------------------------ */

static void test_figures_count_containers_by_state(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_yarn_node *n = fake_launcher_node(w);
    struct nm_yarn_node_figures f;
    struct nm_exception why;
    struct tokens_id ids;

    nm_yarn_node_set_address(n, "node07", 4711, 8042);
    nm_yarn_node_get_figures(n, &f);
    assert_int_equal(f.launched + f.n + f.n_applications, 0);
    start(n, 5, false);
    start(n, 6, true);
    nm_yarn_node_get_figures(n, &f);
    assert_int_equal(f.launched, 2);
    assert_int_equal(f.n, 2);
    assert_int_equal(f.n_applications, 1);
    assert_int_equal(f.initing, 2);
    assert_int_equal(f.running, 0);
    assert_int_equal(f.memory_mib, 128);
    assert_int_equal(f.vcores, 4);
    assert_int_equal(f.opportunistic_memory_mib, 0); /* the opportunistic container hasn't started */
    tokens_ids(&ids, 1, 1, 5);
    assert_int_equal(nm_yarn_node_stop(n, &ids.container, NM_YARN_KILLED_BY_MASTER, "Enough.", &why), 0);
    manager_fixture_settle(w);
    /* the preparation of the other container fails */
    fake_launcher.newest->listener.ended(fake_launcher.newest, -EIO, "There is no such file.",
                                         fake_launcher.newest->listener.userdata);
    manager_fixture_settle(w);
    nm_yarn_node_get_figures(n, &f);
    assert_int_equal(f.killed, 1);
    assert_int_equal(f.failed, 1);
    assert_int_equal(f.n, 0);
    assert_int_equal(f.memory_mib, 0);
    fake_launcher.no_dirs = "No disk is good";
    start(n, 7, false); /* ends early */
    nm_yarn_node_get_figures(n, &f);
    assert_int_equal(f.launched, 3);
    assert_int_equal(f.failed, 2);
    assert_int_equal(f.succeeded, 0);
    nm_yarn_node_free(n);
    n = fake_launcher_node(w); /* a restarted nmd counts from 0 */
    nm_yarn_node_get_figures(n, &f);
    assert_int_equal(f.launched + f.killed + f.failed, 0);
    nm_yarn_node_free(n);
}

/* ---- logs --------------------------------------------------------------------------------- */

static void assert_log_owner(struct nm_yarn_node *n, const char *container, const char *acl, bool is_running)
{
    struct nm_yarn_log_owner o;

    nm_yarn_node_find_log_owner(n, container, &o);
    assert_string_equal(o.application, APP);
    assert_string_equal(o.submitter, "alice");
    assert_string_equal(o.view_acl ?: "-", acl);
    assert_int_equal(o.is_running, is_running);
}

/* The owner of logs, and the ACL of the application's first container, are known until the logs are removed, also after
 * a restart of nmd. */
static void test_the_owner_of_logs_is_known(void **state)
{
    struct manager_fixture *w = *state;
    struct nm_yarn_node *n = fake_launcher_node(w);
    struct nm_yarn_log_owner o;
    struct tokens_id ids;

    nm_yarn_node_find_log_owner(n, FIRST, &o);
    assert_string_equal(o.application, APP);
    assert_null(o.submitter);
    assert_false(o.is_running);
    view_acl = "bob staff";
    start(n, 5, false);
    view_acl = "other";
    start(n, 6, false);
    view_acl = NULL;
    assert_log_owner(n, FIRST, "bob staff", true);
    assert_log_owner(n, "container_1410901177871_0001_01_000009", "bob staff", false);
    nm_yarn_node_free(n);
    n = fake_launcher_node(w);
    assert_log_owner(n, FIRST, "bob staff", true);
    tokens_ids(&ids, 1, 1, 5);
    nm_yarn_node_end_application(n, &ids.application);
    manager_fixture_settle(w);
    nm_yarn_node_acknowledge(n, &ids.container);
    tokens_ids(&ids, 1, 1, 6);
    nm_yarn_node_acknowledge(n, &ids.container);
    assert_int_equal(fake_launcher.ended_applications, 1);
    assert_log_owner(n, FIRST, "bob staff", false); /* as the launcher has kept it */
    nm_yarn_node_free(n);
}

/* ---- a node with nm-shuffle ----------------------------------------------------------------- */

static void test_the_shuffle_service_is_reported(void **state)
{
    struct nm_yarn_node *n;
    Yarn__Data token = YARN__DATA__INIT, *list[] = {&token}, **services;
    struct nm_arena arena;
    struct tokens_id ids;
    size_t n_services;

    fake_launcher.shuffles = true;
    n = fake_launcher_node(*state);
    token.key = (char *)(uintptr_t) "mapreduce_shuffle";
    start_with(n, 5, false, list, 1);
    assert_int_equal(fake_launcher.shuffle_added, 1);
    nm_arena_init(&arena, 1 << 16, NULL);
    assert_int_equal(nm_yarn_node_services(n, &arena, &services, &n_services), 0);
    assert_int_equal(n_services, 1);
    assert_string_equal(services[0]->key, "mapreduce_shuffle");
    assert_memory_equal(services[0]->value.data, "port", services[0]->value.len);
    nm_arena_done(&arena);
    tokens_ids(&ids, 1, 1, 5);
    nm_yarn_node_end_application(n, &ids.application);
    manager_fixture_settle(*state);
    assert_int_equal(fake_launcher.shuffle_ended, 1);
    nm_yarn_node_free(n);
}

/* ---- a node that leaves the cluster ---------------------------------------------------------- */

/* Files of applications that the node doesn't know are removed. */
static bool knows(const char *application)
{
    return fake_launcher.is_known(application, fake_launcher.is_known_userdata);
}

/* The ResourceManager sends no ends of applications to a node that it has decommissioned. */
static void test_a_node_that_leaves_ends_its_applications(void **state)
{
    const struct nm_yarn_application_id id = {1410901177871, 1};
    struct manager_fixture *w = *state;
    struct nm_yarn_node *n = fake_launcher_node(w);

    start(n, 5, false);
    start(n, 6, true);
    assert_true(knows("application_1410901177871_0001"));
    assert_false(knows("application_1410901177871_0002"));
    assert_true(knows("application_none")); /* it isn't an application's file, and stays */
    nm_yarn_node_leave(n, "The node leaves.");
    nm_yarn_node_leave(n, "The node leaves again.");
    assert_int_equal(fake_launcher.ended_applications, 0); /* its processes may still use the files */
    manager_fixture_settle(w);
    assert_int_equal(fake_launcher.ended_applications, 1);
    assert_false(nm_yarn_node_has_application(n, &id));
    assert_false(knows("application_1410901177871_0001"));
    nm_yarn_node_leave(n, "Nothing is left.");
    nm_yarn_node_free(n);
    n = fake_launcher_node(w);
    assert_false(nm_yarn_node_has_application(n, &id));
    nm_yarn_node_free(n);
}

/* ---- failures of allocations -------------------------------------------------------------- */

static int all_or_nothing(json_t *j)
{
    if (!j)
        return -ENOMEM;
    json_decref(j);
    return 0;
}

static const struct nm_yarn_view_rights everything = {.all = true, .with_users = true};

static int show_containers(void *userdata)
{
    return all_or_nothing(nm_yarn_node_show_containers(userdata, &everything));
}

static int show_applications(void *userdata)
{
    return all_or_nothing(nm_yarn_node_show_applications(userdata, &everything, NULL, NULL));
}

static int show_container(void *userdata)
{
    json_t *j = NULL;

    assert_true(nm_yarn_node_show_container(userdata, &everything, FIRST, &j));
    return all_or_nothing(j);
}

static int show_application(void *userdata)
{
    const struct nm_yarn_application_id id = {1410901177871, 1};
    json_t *j = NULL;

    assert_true(nm_yarn_node_show_application(userdata, &everything, &id, &j));
    return all_or_nothing(j);
}

static int report(struct nm_arena *arena, void *userdata)
{
    Yarn__NodeStatus status = YARN__NODE_STATUS__INIT;
    int r = nm_yarn_node_report(userdata, arena, &status);

    assert_int_equal(status.n_containers, r == 0 ? 2 : 0);
    return r;
}

static int report_all(struct nm_arena *arena, void *userdata)
{
    Yarn__RegisterRequest request = YARN__REGISTER_REQUEST__INIT;
    int r = nm_yarn_node_report_all(userdata, arena, &request);

    if (r == 0)
        assert_int_equal(request.n_containers, 2);
    return r;
}

static int report_status(struct nm_arena *arena, void *userdata)
{
    Yarn__ContainerStatus *status;
    struct nm_exception why;
    struct tokens_id ids;

    tokens_ids(&ids, 1, 1, 5);
    return nm_yarn_node_status(userdata, &ids.container, arena, &status, &why);
}

static int report_localization(struct nm_arena *arena, void *userdata)
{
    Yarn__ContainerLocalization *localization;
    struct nm_exception why;
    struct tokens_id ids;

    tokens_ids(&ids, 1, 1, 5);
    return nm_yarn_node_localization(userdata, &ids.container, arena, &localization, &why);
}

static int report_services(struct nm_arena *arena, void *userdata)
{
    Yarn__Data **services;
    size_t n;

    return nm_yarn_node_services(userdata, arena, &services, &n);
}

static void test_without_memory_an_answer_is_complete_or_an_error(void **state)
{
    static int (*const shows[])(void *userdata) = {show_containers, show_applications, show_container,
                                                   show_application};
    static int (*const reports[])(struct nm_arena *arena, void *userdata) = {report, report_all, report_status,
                                                                             report_localization, report_services};
    struct nm_yarn_node *n = fake_launcher_node(*state);

    start(n, 5, false);
    start(n, -1, true);
    for (size_t i = 0; i < NM_ARRAY_SIZE(shows); i++)
        assert_true(fail_each(shows[i], n) > 0);
    for (size_t i = 0; i < NM_ARRAY_SIZE(reports); i++)
        assert_true(each_room(reports[i], n) > 16);
    nm_yarn_node_free(n);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_launcher_set_up, manager_fixture_tear_down_real)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_containers_are_listed),
        TEST(test_applications_are_listed),
        TEST(test_a_list_that_exceeds_its_limit_reports_missing_entries),
        TEST(test_access_lists_hide_the_data_of_users),
        TEST(test_figures_count_containers_by_state),
        TEST(test_the_owner_of_logs_is_known),
        TEST(test_the_shuffle_service_is_reported),
        TEST(test_a_node_that_leaves_ends_its_applications),
        TEST(test_without_memory_an_answer_is_complete_or_an_error),
    };

    json_set_alloc_funcs(malloc, free); /* for the wrappers in fail-nth.c */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
