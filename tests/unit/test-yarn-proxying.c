/* SPDX-License-Identifier: Apache-2.0 */

/* The settings of the proxy of application masters: valid combinations, and the addresses to which the proxy forwards
 * calls. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "yarn/conf/conf.h"
#include "yarn/conf/rules.h"
#include "yarn/conf/settings.h"
#include "yarn/conf/settings-parts.h"

/* Returns the default settings of a node with a proxy. */
static struct nm_yarn_settings make_settings(const char *rm, uint16_t port)
{
    return (struct nm_yarn_settings){
        .proxy = true, .amrm_roll_sec = 86400, .am_expiry_usec = 600 * NM_USEC_PER_SEC,
        .node = {(char *)"node7", 0}, .proxy_address = {(char *)"0.0.0.0", 8049}, .scheduler = {(char *)rm, port}};
}

/* Parses these additional properties of several ResourceManagers into the settings. */
static int read_proxying(struct nm_yarn_settings *s, const char *properties, char **ret_message)
{
    struct nm_yarn_conf *c;
    char text[900];
    int r;

    *ret_message = NULL;
    assert_int_equal(nm_yarn_conf_new(&c), 0);
    (void)snprintf(text, sizeof text, "<configuration>%s</configuration>", properties);
    assert_int_equal(nm_yarn_conf_read_text(c, -EBADF, "site.xml", text, strlen(text), NULL), 0);
    r = nm_yarn_proxying_read(c, s, ret_message);
    nm_yarn_conf_free(c);
    return r;
}

static void drop_addresses(struct nm_yarn_settings *s)
{
    nm_yarn_trackers_free(s->schedulers, s->n_schedulers);
    nm_yarn_trackers_free(s->rm_clients, s->n_rm_clients);
    s->schedulers = s->rm_clients = NULL;
    s->n_schedulers = s->n_rm_clients = 0;
}

static void test_without_a_proxy_no_settings_are_needed(void **state)
{
    struct nm_yarn_settings s = make_settings("localhost", 8049);
    char *message;

    (void)state;
    s.proxy = false; /* the other settings are ignored without a proxy */
    s.amrm_roll_sec = 1;
    assert_int_equal(read_proxying(&s, "", &message), 0);
    assert_false(s.proxy || s.proxy_possible);
    s.amrm_roll_sec = 86400; /* the scheduler's address is that of the proxy itself */
    assert_int_equal(read_proxying(&s, "", &message), 0);
    assert_false(s.proxy || s.proxy_possible);
    s = make_settings("rm", 8030);
    s.proxy = false;
    assert_int_equal(read_proxying(&s, "", &message), 0);
    assert_true(!s.proxy && s.proxy_possible);
    s = make_settings("rm", 8030);
    s.proxy = false;
    s.distributed = true; /* distributed scheduling also enables the proxy */
    assert_int_equal(read_proxying(&s, "", &message), 0);
    assert_true(s.proxy);
}

/* A new key must become the current key long before the next key is made. */
static void test_invalid_intervals_of_keys_are_refused(void **state)
{
    static const struct {
        int64_t roll_sec;
        uint64_t expiry_msec;
        bool good;
    } cases[] = {{86400, 600000, true}, {1801, 600000, true}, {1800, 600000, false}, {1, 600000, false},
                 {10, 3333, true},      {10, 3334, false},    {INT32_MAX, 1, true}};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        struct nm_yarn_settings s = make_settings("rm", 8030);
        char *message;

        s.amrm_roll_sec = cases[i].roll_sec;
        s.am_expiry_usec = cases[i].expiry_msec * NM_USEC_PER_MSEC;
        assert_int_equal(read_proxying(&s, "", &message), cases[i].good ? 0 : -EINVAL);
        assert_int_equal(message != NULL, !cases[i].good);
        assert_true(cases[i].good || strstr(message, "more than three times"));
        free(message);
    }
}

/* Configuration files that were written for application masters contain the proxy's address as that of the
 * ResourceManager. With these files the proxy would call itself. */
static void test_a_proxy_that_calls_itself_is_refused(void **state)
{
    static const struct {
        const char *host;
        uint16_t port;
        bool good;
    } cases[] = {{"rm", 8030, true},           {"rm", 8049, true},     {"localhost", 8030, true},
                 {"localhost", 8049, false},   {"0.0.0.0", 8049, false}, {"127.0.0.1", 8049, false},
                 {"127.0.0.9", 8049, false},   {"node7", 8049, false}, {"1270.example", 8049, true}};

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        struct nm_yarn_settings s = make_settings(cases[i].host, cases[i].port);
        char *message;

        assert_int_equal(read_proxying(&s, "", &message), cases[i].good ? 0 : -EINVAL);
        assert_true(cases[i].good || strstr(message, "the proxy's own"));
        free(message);
    }
}

#define RM(name, value) "<property><name>yarn.resourcemanager." name "</name><value>" value "</value></property>"

static void test_each_resourcemanager_may_have_a_separate_address(void **state)
{
    static const struct {
        const char *properties, *part;
    } wrong[] = {
        {RM("hostname.a", "one"), "has 'b', but neither yarn.resourcemanager.scheduler.address.b nor"},
        {RM("hostname.a", "one") RM("resource-tracker.address.b", "two:1"), "scheduler.address.b"},
        {RM("hostname.a", "one") RM("scheduler.address.b", "two"), "scheduler.address.b = 'two': must be HOST:PORT"},
        {RM("hostname.a", "one") RM("scheduler.address.b", "localhost:8049"), "the proxy's own"},
    };
    char *ids[] = {(char *)"a", (char *)"b", NULL}, *message;
    /* this property is ignored with several ResourceManagers */
    struct nm_yarn_settings s = make_settings("localhost", 8049);

    (void)state;
    s.ha = true;
    s.rm_ids = ids;
    assert_int_equal(read_proxying(&s, RM("hostname.a", "one") RM("hostname.b", "two")
                                   RM("scheduler.address.b", "three:7"), &message), 0);
    assert_int_equal(s.n_schedulers, 2);
    assert_string_equal(s.schedulers[0].host, "one");
    assert_int_equal(s.schedulers[0].port, 8030);
    assert_string_equal(s.schedulers[1].host, "three");
    assert_int_equal(s.schedulers[1].port, 7);
    drop_addresses(&s);
    for (size_t i = 0; i < NM_ARRAY_SIZE(wrong); i++) {
        s.schedulers = NULL;
        s.n_schedulers = 0;
        assert_true(read_proxying(&s, wrong[i].properties, &message) < 0);
        if (!message || !strstr(message, wrong[i].part))
            fail_msg("%s: %s", wrong[i].properties, message ?: "no message");
        free(message);
        drop_addresses(&s);
    }
    s.schedulers = NULL; /* both errors are reported */
    assert_int_equal(read_proxying(&s, RM("scheduler.address.a", "127.0.0.1:8049")
                                   RM("scheduler.address.b", "localhost:8049"), &message), -EINVAL);
    assert_non_null(strstr(message, "scheduler.address = 127.0.0.1:8049: this is"));
    assert_non_null(strstr(message, "\nyarn.resourcemanager.scheduler.address = localhost:8049: this is"));
    free(message);
    drop_addresses(&s);
}

#define MASTERS "security.applicationmaster-nodemanager.applicationmaster.protocol."

/* The proxy also works without an address for clients, as long as no application's type is needed. */
static void test_each_resourcemanager_may_have_an_address_for_clients(void **state)
{
    struct nm_yarn_settings s = make_settings("", 8030);
    char *ids[] = {(char *)"a", (char *)"b", NULL}, *message;

    (void)state;
    s.ha = true;
    s.rm_ids = ids;
    assert_int_equal(read_proxying(&s, RM("hostname.a", "one") RM("scheduler.address.b", "two:7"), &message), 0);
    assert_int_equal(s.n_rm_clients, 1);
    assert_string_equal(s.rm_clients[0].host, "one");
    assert_int_equal(s.rm_clients[0].port, 8032);
    drop_addresses(&s);
    assert_int_equal(read_proxying(&s, RM("hostname.a", "one") RM("scheduler.address.b", "two:7")
                                   RM("address.b", "three:8"), &message), 0);
    assert_int_equal(s.n_rm_clients, 2);
    assert_string_equal(s.rm_clients[1].host, "three");
    assert_int_equal(s.rm_clients[1].port, 8);
    drop_addresses(&s);
    assert_int_equal(read_proxying(&s, RM("scheduler.address.a", "one:7") RM("scheduler.address.b", "two:7"),
                                   &message), 0);
    assert_int_equal(s.n_rm_clients, 0);
    drop_addresses(&s);
    assert_int_equal(read_proxying(&s, RM("hostname.a", "one") RM("hostname.b", "two") RM("address.b", "x"), &message),
                     -EINVAL);
    assert_non_null(strstr(message, "yarn.resourcemanager.address.b = 'x': must be HOST:PORT"));
    free(message);
    drop_addresses(&s);
}

/* The proxy doesn't check who may call it. So a list that permits only some callers is refused on a node with a proxy.
 * The list for the ResourceManager's own service (security.applicationmaster.protocol) has no effect on this node. */
static void test_a_list_of_permitted_callers_is_refused(void **state)
{
    static const struct {
        const char *name, *more;
        bool refused;
    } cases[] = {
        {MASTERS "acl", "yarn.nodemanager.amrmproxy.enabled", true},
        {MASTERS "acl.blocked", "yarn.nodemanager.amrmproxy.enabled", true},
        {MASTERS "hosts", "yarn.nodemanager.distributed-scheduling.enabled", true},
        {MASTERS "hosts.blocked", "yarn.nodemanager.distributed-scheduling.enabled", true},
        {MASTERS "acl", "some.other", false},
        {"security.applicationmaster.protocol.acl", "yarn.nodemanager.amrmproxy.enabled", false},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        struct nm_refusals refusals = {0};
        struct nm_yarn_conf *c;
        char text[600];

        assert_int_equal(nm_yarn_conf_new(&c), 0);
        assert_int_equal(nm_yarn_rules_set_defaults(c), 0);
        (void)snprintf(text, sizeof text,
                       "<configuration><property><name>%s</name><value>alice</value></property><property><name>"
                       "hadoop.security.authorization</name><value>true</value></property><property><name>%s</name>"
                       "<value>true</value></property></configuration>", cases[i].name, cases[i].more);
        assert_int_equal(nm_yarn_conf_read_text(c, -EBADF, "site.xml", text, strlen(text), NULL), 0);
        assert_int_equal(nm_yarn_rules_check(c, NULL, NULL, &refusals), 0);
        if ((refusals.text && strstr(refusals.text, cases[i].name)) != cases[i].refused)
            fail_msg("%s, %s: %s", cases[i].name, cases[i].more, refusals.text ?: "no error");
        nm_refusals_done(&refusals);
        nm_yarn_conf_free(c);
    }
}

/* With several ResourceManagers, one that doesn't answer is left earlier. */
static void test_the_time_limit_of_heartbeats_depends_on_the_number_of_resourcemanagers(void **state)
{
    struct nm_yarn_settings s = {.rpc_timeout_usec = 120 * NM_USEC_PER_SEC};

    (void)state;
    assert_int_equal(nm_yarn_heartbeat_timeout_usec(&s), 120 * NM_USEC_PER_SEC);
    s.ha = true;
    assert_int_equal(nm_yarn_heartbeat_timeout_usec(&s), 30 * NM_USEC_PER_SEC);
    s.rpc_timeout_usec = NM_USEC_PER_SEC;
    assert_int_equal(nm_yarn_heartbeat_timeout_usec(&s), NM_USEC_PER_SEC);
    s.rpc_timeout_usec = 0;
    assert_int_equal(nm_yarn_heartbeat_timeout_usec(&s), 30 * NM_USEC_PER_SEC);
    s.ha = false;
    assert_int_equal(nm_yarn_heartbeat_timeout_usec(&s), UINT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_time_limit_of_heartbeats_depends_on_the_number_of_resourcemanagers),
        cmocka_unit_test(test_without_a_proxy_no_settings_are_needed),
        cmocka_unit_test(test_invalid_intervals_of_keys_are_refused),
        cmocka_unit_test(test_a_proxy_that_calls_itself_is_refused),
        cmocka_unit_test(test_each_resourcemanager_may_have_a_separate_address),
        cmocka_unit_test(test_each_resourcemanager_may_have_an_address_for_clients),
        cmocka_unit_test(test_a_list_of_permitted_callers_is_refused),
    };

    return cmocka_run_group_tests_name("yarn-proxying", tests, NULL, NULL);
}
