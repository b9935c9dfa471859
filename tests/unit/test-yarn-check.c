/* SPDX-License-Identifier: Apache-2.0 */

/* A complete node: the reasons for which it can't start or can't serve its web pages. A start and nmd --check-config
 * must report the same reasons. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <syslog.h>

#include "cgroup/backend-fake.h"
#include "tests/unit/fail-nth.h"
#include "tests/unit/open-descriptors.h"
#include "tests/unit/tracker-fixture.h"
#include "util/clock.h"
#include "yarn/yarn-state.h"

static void assert_reported(const char *part)
{
    if (!strstr(tracker_logged.all, part))
        fail_msg("'%s' was not logged, but: %s", part, tracker_logged.all);
}

/* ---- invalid configurations --------------------------------------------------------------- */

/* nmd --check-config reports the same error as a start. Neither of them leaves open resources. */
static void assert_refused(struct tracker_fixture *w, int error, const char *message)
{
    const struct nm_yarn_params p = tracker_params(w);
    const unsigned before = open_descriptors();
    struct nm_yarn *untouched = (struct nm_yarn *)w, *y = untouched;
    char *checked = NULL, *printed = NULL;

    assert_int_equal(nm_yarn_check(&p, false, &checked), error);
    assert_non_null(checked);
    if (!strstr(checked, message))
        fail_msg("%s", checked);
    assert_int_equal(nm_yarn_new(&p, &y, &printed), error);
    assert_ptr_equal(y, untouched);
    assert_string_equal(printed ?: "", checked);
    assert_int_equal(open_descriptors(), before);
    assert_string_equal(tracker_shown(w).kind ?: "none", "none");
    free(checked);
    free(printed);
}

static bool check_ours(struct tracker_fixture *w)
{
    const struct nm_yarn_params p = tracker_params(w);
    char *message = NULL;
    int r = nm_yarn_check(&p, true, &message);

    free(message);
    return r == 0;
}

static void test_a_port_of_the_node_that_is_in_use_is_reported(void **state)
{
    struct tracker_fixture *w = *state;
    char properties[400], message[100];
    uint16_t port = 0;
    int fd = listen_on_loopback(&port);

    assert_true(check_ours(w));
    w->settings->node.port = port;
    (void)snprintf(message, sizeof message, "yarn.nodemanager.address: port %u: Address already in use", port);
    free(w->settings->bind_host);
    w->settings->bind_host = strdup("127.0.0.1");
    assert_refused(w, -EADDRINUSE, message);
    assert_true(check_ours(w)); /* the check permits this, since a running nmd may have opened the port */

    (void)snprintf(properties, sizeof properties, TRACKER_PROXIED, port);
    tracker_configure(w, properties);
    (void)snprintf(message, sizeof message, "yarn.nodemanager.amrmproxy.address: port %u: Address already", port);
    assert_refused(w, -EADDRINUSE, message);
    assert_true(check_ours(w));
    (void)close(fd);
}

/* The check finds that two listeners are configured for the same port, although neither of them has opened the port. */
static void test_the_check_finds_two_listeners_with_the_same_port(void **state)
{
    struct tracker_fixture *w = *state;
    char properties[400], message[100];
    uint16_t port = 0;

    (void)close(listen_on_loopback(&port));
    (void)snprintf(properties, sizeof properties, TRACKER_PROXIED, port);
    tracker_configure(w, properties);
    w->settings->node.port = port;
    (void)snprintf(message, sizeof message, "yarn.nodemanager.amrmproxy.address: port %u: Address already", port);
    assert_refused(w, -EADDRINUSE, message);
    assert_false(check_ours(w));
}

static struct sockaddr_storage http_at(in_addr_t address, uint16_t port)
{
    struct sockaddr_storage sa = {};
    const struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(address), .sin_port = htons(port)};

    memcpy(&sa, &in, sizeof in);
    return sa;
}

#define TAKEN(property) property ": port 4711: Address already in use"

/* All listeners are configured for the same port. The error names the second listener. */
static void test_a_port_configured_twice_is_reported(void **state)
{
    const struct sockaddr_storage http = http_at(INADDR_LOOPBACK, 4711), other = http_at(INADDR_ANY, 4712);
    struct tracker_fixture *w = *state;
    struct nm_yarn_params p;
    char properties[400], *printed = NULL;

    (void)snprintf(properties, sizeof properties, TRACKER_PROXIED, 4711);
    tracker_configure(w, properties);
    w->settings->node.port = w->settings->web.port = 4711;
    p = tracker_params(w);
    p.http_address = &other;
    assert_int_equal(nm_yarn_check(&p, false, &printed), -EADDRINUSE);
    assert_string_equal(printed, TAKEN("yarn.nodemanager.amrmproxy.address"));
    free(printed);
    assert_non_null(strstr(tracker_logged.all,
                           TAKEN("yarn.nodemanager.webapp.address") "; nmd continues without its page"));

    w->settings->proxy_address.port = 0;
    p.http_address = &http; /* opens the port for nmd's own web pages, which is also the node's port */
    assert_int_equal(nm_yarn_check(&p, false, &printed), -EADDRINUSE);
    assert_string_equal(printed, TAKEN("yarn.nodemanager.address"));
    free(printed);
}

static void test_a_used_port_of_the_web_pages_causes_a_warning(void **state)
{
    struct tracker_fixture *w = *state;
    struct nm_yarn_params p;
    char *printed = NULL;
    uint16_t port = 0;
    int fd;

    tracker_configure(w, "");
    fd = listen_on_loopback(&port);
    w->settings->web.port = port;
    p = tracker_params(w);
    assert_int_equal(nm_yarn_check(&p, true, &printed), 0);
    assert_null(strstr(tracker_logged.all, "nmd continues without its page"));
    assert_int_equal(nm_yarn_check(&p, false, &printed), 0);
    assert_non_null(strstr(tracker_logged.all, "nmd continues without its page"));
    (void)close(fd);
}

static void test_a_used_port_of_nm_shuffle_is_refused(void **state)
{
    struct tracker_fixture *w = *state;
    struct nm_yarn_params p;
    char message[100], *printed = NULL;
    uint16_t port = 0;
    int fd = listen_on_loopback(&port);

    tracker_configure(w, TRACKER_PROPERTY("yarn.nodemanager.aux-services", "mapreduce_shuffle"));
    w->settings->shuffle_port = port;
    p = tracker_params(w);
    (void)snprintf(message, sizeof message, "mapreduce.shuffle.port: port %u: Address already in use", port);
    assert_int_equal(nm_yarn_check(&p, false, &printed), -EADDRINUSE);
    assert_string_equal(printed, message);
    free(printed);
    assert_true(check_ours(w));
    (void)close(fd);
    w->settings->node.port = port;
    assert_int_equal(nm_yarn_check(&p, true, &printed), -EADDRINUSE);
    assert_string_equal(printed, message);
    free(printed);
}

static void test_a_listener_with_an_address_of_another_host_is_reported(void **state)
{
    struct tracker_fixture *w = *state;

    free(w->settings->bind_host);
    w->settings->bind_host = strdup("a..b");
    assert_refused(w, -EADDRNOTAVAIL, "yarn.nodemanager.bind-host: a..b: ");
    assert_false(check_ours(w));
}

static void test_missing_programs_are_reported(void **state)
{
    struct tracker_fixture *w = *state;

    (void)snprintf(w->localizer, sizeof w->localizer, "/nonexistent/nm-localizer");
    assert_refused(w, -ENOENT, "/nonexistent/nm-localizer: No such file or directory");
    (void)snprintf(w->localizer, sizeof w->localizer, "./nm-localizer");
    (void)snprintf(w->shuffle, sizeof w->shuffle, "/nonexistent/nm-shuffle");
    assert_true(check_ours(w)); /* nm-shuffle isn't needed, since the configuration has no mapreduce_shuffle service */
    tracker_configure(w, TRACKER_PROPERTY("yarn.nodemanager.aux-services", "mapreduce_shuffle"));
    assert_refused(w, -ENOENT, "/nonexistent/nm-shuffle");
}

static void test_an_unknown_stage_of_the_proxy_is_reported(void **state)
{
    struct tracker_fixture *w = *state;

    tracker_configure(w, TRACKER_PROPERTY("yarn.nodemanager.amrmproxy.enabled", "true")
                      TRACKER_PROPERTY("yarn.nodemanager.amrmproxy.address", "127.0.0.1:0")
                      TRACKER_PROPERTY("yarn.nodemanager.amrmproxy.interceptor-class.pipeline", "org.example.Mine"));
    assert_refused(w, -EOPNOTSUPP, "org.example.Mine");
}

/* A file has the name of a directory that the node needs for its state. The node doesn't start, and leaves no open
 * resources. */
static void test_a_file_in_place_of_a_state_directory_is_reported(void **state)
{
    static const char *const names[] = {"run/masters", "state/applications", "state/early-ends"};
    struct tracker_fixture *w = *state;
    char properties[400], *message = NULL;
    struct nm_yarn *y = NULL;
    unsigned before;

    (void)snprintf(properties, sizeof properties, TRACKER_PROXIED, 0);
    tracker_configure(w, properties);
    before = open_descriptors();
    for (size_t i = 0; i < NM_ARRAY_SIZE(names); i++) {
        const struct nm_yarn_params p = tracker_params(w);

        if (fake_tree_has(&w->node->tree, names[i]))
            fake_tree_unlink(&w->node->tree, names[i]);
        fake_tree_write(&w->node->tree, names[i], "a file");
        assert_true(nm_yarn_new(&p, &y, &message) < 0);
        assert_null(y);
        assert_int_equal(open_descriptors(), before);
        fake_tree_unlink(&w->node->tree, names[i]);
        free(message);
    }
    tracker_join(w);
}

/* The saved state of an earlier nmd is invalid. The node starts without this state. */
static void test_an_invalid_saved_state_does_not_prevent_a_start(void **state)
{
    static const char *const names[] = {
        "run/masters/appattempt_1_0001_000001", "state/applications/application_1_0001", "state/applications/strange",
        "state/early-ends/container_1_0001_01_000001", "state/master-keys", "state/placements", "state/yarn-keys"};
    struct tracker_fixture *w = *state;
    char properties[400];
    json_t *masters;

    (void)snprintf(properties, sizeof properties, TRACKER_PROXIED, 0);
    tracker_configure(w, properties);
    for (size_t i = 0; i < NM_ARRAY_SIZE(names); i++)
        fake_tree_write(&w->node->tree, names[i], "\xff\xfe nothing of ours");
    tracker_join(w);
    tracker_run_beats(w, 1);
    assert_int_equal(w->n_containers, 0);
    masters = tracker_masters(w, &manager_fixture_admin);
    assert_true(json_is_integer(json_object_get(masters, "attempts")));
    assert_int_equal(json_integer_value(json_object_get(masters, "attempts")), 0);
    json_decref(masters);
}

/* ---- web pages of the node ---------------------------------------------------------------- */

static void test_the_web_pages_are_served(void **state)
{
    struct tracker_fixture *w = *state;
    uint16_t port = 0;
    int fd;

    tracker_join(w);
    tracker_run_until(w, tracker_is_running);
    assert_in_range(w->http_port, 1, 65535);
    fd = nm_yarn_take_web(w->yarn);
    assert_true(fd >= 0);
    (void)close(fd);
    assert_true(nm_yarn_take_web(w->yarn) < 0);
    w->yarn = nm_yarn_free(w->yarn);

    fd = listen_on_loopback(&port); /* another process uses the port: the node starts without web pages */
    w->settings->web.port = port;
    w->registrations = 0;
    tracker_join(w);
    assert_int_equal(tracker_logged.level, LOG_WARNING);
    assert_reported("yarn.nodemanager.webapp.address: port ");
    assert_reported("nmd continues without its page and its web services there");
    assert_true(nm_yarn_take_web(w->yarn) < 0);
    tracker_run_until(w, tracker_is_running);
    assert_int_equal(w->http_port, port);
    w->yarn = nm_yarn_free(w->yarn);
    (void)close(fd);

    w->settings->serves_web = false; /* the node is configured not to serve web pages */
    tracker_join(w);
    assert_true(nm_yarn_take_web(w->yarn) < 0);
}

/* If yarn.nodemanager.webapp.address contains a host name, the node listens for its web pages on all addresses. */
static void test_web_pages_with_a_host_name_are_served_on_all_addresses(void **state)
{
    struct tracker_fixture *w = *state;
    const struct sockaddr_storage everywhere = http_at(INADDR_ANY, 4711), here = http_at(INADDR_LOOPBACK, 4711);
    struct nm_yarn_params p;
    char *message = NULL;

    free(w->settings->web.host);
    w->settings->web.host = strdup("some.node.of.ours");
    tracker_join(w);
    assert_true(nm_yarn_take_web(w->yarn) >= 0);
    w->yarn = nm_yarn_free(w->yarn);
    w->settings->web.port = 4711; /* nmd already serves its own web pages at this port */
    p = tracker_params(w);
    p.http_address = &everywhere;
    assert_int_equal(nm_yarn_new(&p, &w->yarn, &message), 0);
    assert_true(nm_yarn_take_web(w->yarn) < 0);
    assert_null(strstr(tracker_logged.all, "4711"));
    w->yarn = nm_yarn_free(w->yarn);
    p.http_address = &here; /* an address that other hosts of the cluster can't reach */
    assert_int_equal(nm_yarn_new(&p, &w->yarn, &message), 0);
    assert_true(nm_yarn_take_web(w->yarn) < 0);
    assert_non_null(strstr(tracker_logged.all, "port 4711 on a loopback address"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, tracker_set_up, tracker_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_a_port_of_the_node_that_is_in_use_is_reported),
        TEST(test_the_check_finds_two_listeners_with_the_same_port),
        TEST(test_a_port_configured_twice_is_reported),
        TEST(test_a_used_port_of_the_web_pages_causes_a_warning),
        TEST(test_a_used_port_of_nm_shuffle_is_refused),
        TEST(test_a_listener_with_an_address_of_another_host_is_reported),
        TEST(test_missing_programs_are_reported),
        TEST(test_an_unknown_stage_of_the_proxy_is_reported),
        TEST(test_the_web_pages_are_served),
        TEST(test_web_pages_with_a_host_name_are_served_on_all_addresses),
        TEST(test_a_file_in_place_of_a_state_directory_is_reported),
        TEST(test_an_invalid_saved_state_does_not_prevent_a_start),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
