/* SPDX-License-Identifier: Apache-2.0 */

/* util/host.h: all addresses from which one host may connect have the same name. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <arpa/inet.h>

#include "util/host.h"
#include "util/macros.h"

static void test_all_addresses_of_a_host_have_the_same_name(void **state)
{
    static const struct {
        int family;
        const char *address, *name, *host; /* NULL: the same text as the name */
    } cases[] = {
        {AF_INET, "192.0.2.1", "host 192.0.2.1", NULL},
        {AF_INET, "126.255.255.255", "host 126.255.255.255", NULL},
        {AF_INET, "128.0.0.0", "host 128.0.0.0", NULL},
        {AF_INET, "127.0.0.1", "host 127.0.0.1", NULL},
        {AF_INET, "127.0.0.40", "host 127.0.0.40", "host 127.0.0.1"},
        {AF_INET, "127.255.255.254", "host 127.255.255.254", "host 127.0.0.1"},
        {AF_INET6, "::1", "host ::", "host 127.0.0.1"},
        {AF_INET6, "::ffff:127.9.8.7", "host 127.9.8.7", "host 127.0.0.1"},
        {AF_INET6, "::ffff:192.0.2.1", "host 192.0.2.1", NULL},
        {AF_INET6, "2001:db8:1:2:3:4:5:6", "host 2001:db8:1:2::", NULL},
        {AF_INET6, "2001:db8:1:2::1", "host 2001:db8:1:2::", NULL},
        {AF_UNIX, NULL, "host ?", NULL},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(cases); i++) {
        struct sockaddr_storage sa = {.ss_family = (sa_family_t)cases[i].family};
        char name[NM_PEER_NAME_SIZE];
        void *to = sa.ss_family == AF_INET ? (void *)&((struct sockaddr_in *)&sa)->sin_addr
                                           : (void *)&((struct sockaddr_in6 *)&sa)->sin6_addr;

        if (cases[i].address)
            assert_int_equal(inet_pton(cases[i].family, cases[i].address, to), 1);
        nm_peer_name(&sa, name, sizeof name);
        assert_string_equal(name, cases[i].name);
        assert_int_equal(nm_peer_is_loopback(&sa), strncmp(cases[i].host ?: name, "host 127.", 9) == 0);
        nm_peer_host_name(&sa, name, sizeof name);
        assert_string_equal(name, cases[i].host ?: cases[i].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_addresses_of_a_host_have_the_same_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
