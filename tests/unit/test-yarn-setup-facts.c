/* SPDX-License-Identifier: Apache-2.0 */

/* The facts that a setup collects: scripts and systemd drop-ins, and connections to hosts. All hosts of the test are on
 * the loopback interface. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>

#include "setup-settings.h"
#include "yarn/setup/facts-parts.h"
#include "yarn/setup/unit.h"
#include "util/clock.h"


/* ---- the cluster's scripts ------------------------------------------------------------------ */

static void assert_line(const char *line, enum nm_setup_line kind, const char *value)
{
    const char *found = "";
    size_t size = 0;
    const enum nm_setup_line r = nm_setup_script_line(line, strlen(line), "JAVA_HOME", &found, &size);

    if (r != kind || (value && (size != strlen(value) || memcmp(found, value, size) != 0)))
        fail_msg("'%s': %d, '%.*s'", line, (int)r, (int)size, found);
}

static void test_variables_in_a_script_are_read(void **state)
{
    static const char *const values[] = {
        "JAVA_HOME=/opt/jdk8", "export JAVA_HOME=/opt/jdk8", "  export \t JAVA_HOME=\"/opt/jdk8\"  ",
        "export JAVA_HOME='/opt/jdk8'", "export JAVA_HOME=/opt/jdk8  # the cluster needs 8",
        "export JAVA_HOME=\"/opt/jdk8\" # it's", "export JAVA_HOME=/opt/jdk8;", "JAVA_HOME=/opt/jdk8; export JAVA_HOME",
        "JAVA_HOME=/opt/jdk8 && export JAVA_HOME", "declare -x JAVA_HOME=/opt/jdk8",
        "typeset -g -x JAVA_HOME=/opt/jdk8",
        "readonly JAVA_HOME=/opt/jdk8", "export JAVA_HOME=/opt/jdk8 OTHER=x", "export JAVA_HOME=/opt/jdk8\r",
    };
    static const char *const defaults[] = {
        "export JAVA_HOME=${JAVA_HOME:-/opt/jdk8}", "JAVA_HOME=\"${JAVA_HOME-/opt/jdk8}\" # x",
        "export JAVA_HOME=${JAVA_HOME:=/opt/jdk8};",
    };
    static const char *const unclear[] = {
        "JAVA_HOME=$(x)", "JAVA_HOME=`x`", "export JAVA_HOME=$J/jdk8", "J=/opt; export JAVA_HOME=$J/jdk8",
        "if true; then export JAVA_HOME=/opt/jdk8; fi", "[ -d /opt/jdk8 ] && JAVA_HOME=/opt/jdk8",
        "export JAVA_HOME=/opt/jdk8; export JAVA_HOME=/opt/jdk9", "export JAVA_HOME=\"/opt/jdk8", "JAVA_HOME=/x java",
        "export JAVA_HOME=${OTHER:-/opt/jdk8}", "export JAVA_HOME=${JAVA_HOME:-$(x)}", "export JAVA_HOME=/opt/my\\ jdk",
        "export JAVA_HOME=${JAVA_HOME%/}", "export JAVA_HOME=/opt/jdk8\"/\"", "export A=b JAVA_HOME=/opt/jdk8",
        "export JAVA_HOME=$", "export JAVA_HOME=${",
    };
    static const char *const others[] = {
        "", "export", "# export JAVA_HOME=/opt/jdk8", "export JAVA_HOME=${JAVA_HOME}", "export JAVA_HOME=$JAVA_HOME",
        "export JAVA_HOME=\"${JAVA_HOME}\"", "export JAVA_HOME", "export JAVA_HOME=", "export MY_JAVA_HOME=/opt/jdk8",
        "export JAVA_HOMES=/opt/jdk8", "exportJAVA_HOME=/opt/jdk8", "x # JAVA_HOME=/opt/jdk8", "echo \"$JAVA_HOME\"",
        "export OPTS=-DJAVA_HOME=/x", "export JAVA_HOME=${JAVA_HOME:-}",
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(values); i++)
        assert_line(values[i], NM_SETUP_LINE_VALUE, "/opt/jdk8");
    for (size_t i = 0; i < NM_ARRAY_SIZE(defaults); i++)
        assert_line(defaults[i], NM_SETUP_LINE_DEFAULT, "/opt/jdk8");
    for (size_t i = 0; i < NM_ARRAY_SIZE(unclear); i++)
        assert_line(unclear[i], NM_SETUP_LINE_UNCLEAR, NULL);
    for (size_t i = 0; i < NM_ARRAY_SIZE(others); i++)
        assert_line(others[i], NM_SETUP_LINE_OTHER, NULL);
}

/* ---- addresses ------------------------------------------------------------------------------ */

static void test_systemd_drop_ins_are_read(void **state)
{
    static const char first[] = "[Service]\nIPAddressAllow=10.1.0.0/16 10.2.0.1\n IPAddressAllow = no\n"
                                "# IPAddressAllow=10.9.9.9\n[Unit]\nIPAddressAllow=10.8.8.8\n";
    static const char second[] = "[Service]\nIPAddressAllow=\nIPAddressAllow=link-local fd00::/8\n"
                                 "Environment=A=b JAVA_HOME=/opt/java";
    struct nm_setup_unit *u = calloc(1, sizeof *u);
    struct nm_setup_net nets[2];

    (void)state;
    assert_int_equal(nm_setup_unit_add(u, first, strlen(first)), 0);
    assert_true(nm_setup_unit_allows(u, "10.1.255.1") && nm_setup_unit_allows(u, "10.2.0.1"));
    assert_false(nm_setup_unit_allows(u, "10.2.0.2") || nm_setup_unit_allows(u, "10.9.9.9"));
    assert_false(nm_setup_unit_allows(u, "10.8.8.8") || nm_setup_unit_allows(u, "none"));
    assert_true(nm_setup_unit_allows(u, "127.0.0.9") && nm_setup_unit_allows(u, "::1"));
    assert_true(nm_setup_unit_has_network(u));
    assert_false(u->has[NM_SETUP_JAVA_HOME]);
    assert_int_equal(nm_setup_unit_add(u, second, strlen(second)), 0);
    assert_false(nm_setup_unit_allows(u, "10.1.255.1"));
    assert_true(nm_setup_unit_allows(u, "169.254.1.1") && nm_setup_unit_allows(u, "fd12::1"));
    assert_false(nm_setup_unit_allows(u, "fe00::1"));
    assert_true(u->has[NM_SETUP_JAVA_HOME]);
    assert_int_equal(nm_setup_net_parse("any", nets), 2);
    for (const char *const *bad = (const char *const[]){"", "10.1", "10.1.0.0/33", "10.1.0.0/", "::/129", "rm",
                                                                  "10.0.0.0/08", "10.0.0.0/010", "10.0.0.0/00",
                                                                  "fd00::/08", "10.0.0.0/+8", "010.0.0.0/8", NULL};
         *bad; bad++)
        assert_int_equal(nm_setup_net_parse(*bad, nets), 0);
    nm_setup_unit_free(u);
}

static void add_lines(struct nm_setup_unit *u, const char *lines)
{
    char text[4096];

    (void)snprintf(text, sizeof text, "[Service]\n%s\n", lines);
    assert_int_equal(nm_setup_unit_add(u, text, strlen(text)), 0);
}

/* Drop-ins are read as systemd reads them: later lines add values, and an empty value removes all earlier values. */
static void test_later_lines_of_drop_ins_add_values_and_empty_values_reset(void **state)
{
    struct nm_setup_unit *u = calloc(1, sizeof *u);

    (void)state;
    assert_true(nm_setup_unit_writes(u, "/data/1") && nm_setup_unit_writes(u, "/usrlocal"));
    assert_false(nm_setup_unit_writes(u, "/usr/local/tmp") || nm_setup_unit_writes(u, "/etc/x"));
    add_lines(u, "ReadWritePaths=-/usr/local/ /opt\nReadWritePaths=\"+/etc/x\"");
    assert_true(nm_setup_unit_writes(u, "/usr/local/tmp") && nm_setup_unit_writes(u, "/etc/x"));
    assert_false(nm_setup_unit_writes(u, "/usr/localtmp") || nm_setup_unit_writes(u, "/etc/xy"));
    add_lines(u, "ReadWritePaths=");
    assert_false(nm_setup_unit_writes(u, "/usr/local/tmp"));
    add_lines(u, "ProtectSystem=yes");
    assert_true(nm_setup_unit_writes(u, "/etc/x"));
    assert_false(nm_setup_unit_writes(u, "/usr/local/tmp"));
    add_lines(u, "ProtectSystem=strict\nReadWritePaths=/data");
    assert_true(nm_setup_unit_writes(u, "/data/1"));
    assert_false(nm_setup_unit_writes(u, "/srv/1"));
    add_lines(u, "ProtectSystem=");
    assert_true(nm_setup_unit_writes(u, "/usr/local/tmp"));

    add_lines(u, "IPAddressAllow=10.0.0.0/08 fd00::/09 12.0.0.0/0000000000000010");
    assert_false(nm_setup_unit_allows(u, "10.0.0.1") || nm_setup_unit_allows(u, "fd00::1"));
    add_lines(u, "IPAddressAllow=10.0.0.0/010"); /* systemd reads this number as octal, so it is 8 */
    assert_true(nm_setup_unit_allows(u, "10.9.9.9"));
    assert_false(nm_setup_unit_allows(u, "11.0.0.1"));

    add_lines(u, "Environment=MY_HADOOP_HOME=/x \"HADOOP_CONF_DIR=/etc/hadoop/conf\" A=HADOOP_YARN_HOME=/x");
    assert_true(u->has[NM_SETUP_HADOOP_CONF_DIR]);
    assert_false(u->has[NM_SETUP_HADOOP_HOME] || u->has[NM_SETUP_HADOOP_YARN_HOME]);
    add_lines(u, "Environment=");
    assert_false(u->has[NM_SETUP_HADOOP_CONF_DIR]);
    nm_setup_unit_free(u);
}

/* Blanks around '=', continued lines, comments between their parts, and lines of any length, see systemd.syntax(7). */
static void test_the_syntax_of_drop_ins_is_that_of_systemd(void **state)
{
    struct nm_setup_unit *u = calloc(1, sizeof *u);
    char text[4096] = "Environment = A=1";

    (void)state;
    assert_non_null(u);
    add_lines(u, " IPAddressAllow = 10.0.0.0/8 \\\n  ; not this \\\n# nor this\n 192.168.0.0/16\\\n\t172.16.0.0/12\n"
                 "ReadWritePaths\t=\t/etc/a\\\r\n/etc/b\r\n#ReadWritePaths=/etc/c \\\nProtectSystem =strict");
    assert_true(nm_setup_unit_allows(u, "10.1.1.1") && nm_setup_unit_allows(u, "192.168.1.1"));
    assert_true(nm_setup_unit_allows(u, "172.16.1.1"));
    assert_true(nm_setup_unit_writes(u, "/etc/a") && nm_setup_unit_writes(u, "/etc/b"));
    assert_false(nm_setup_unit_writes(u, "/etc/c") || nm_setup_unit_writes(u, "/data"));
    add_lines(u, "Environment=A=x\\\\\nIPAddressAllow=fd00::/8\nEnvironment=B=x\\\\\\\nIPAddressAllow=11.0.0.0/8");
    assert_true(nm_setup_unit_allows(u, "fd00::1")); /* an escaped backslash doesn't continue the line */
    assert_false(nm_setup_unit_allows(u, "11.0.0.1"));
    while (strlen(text) < 3000)
        strcat(text, " B=2");
    strcat(text, " JAVA_HOME=/j\\");
    add_lines(u, text);
    assert_true(u->has[NM_SETUP_JAVA_HOME]);
    nm_setup_unit_free(u);
}

static struct sockaddr_in v4(const char *text)
{
    struct sockaddr_in a = {.sin_family = AF_INET};

    assert_int_equal(inet_pton(AF_INET, text, &a.sin_addr), 1);
    return a;
}

static void test_the_common_network_of_two_addresses_is_found(void **state)
{
    struct sockaddr_in own = v4("10.1.77.2"), mask = v4("255.255.240.0"), near = v4("10.1.64.9"), far = v4("10.1.80.1");
    const struct sockaddr *o = (struct sockaddr *)&own, *m = (struct sockaddr *)&mask;
    const struct sockaddr_in6 other = {.sin6_family = AF_INET6};
    struct nm_arena a;

    (void)state;
    nm_arena_init(&a, 1 << 16, NULL);
    assert_string_equal(nm_setup_common_network(&a, o, m, (struct sockaddr *)&near), "10.1.64.0/20");
    assert_null(nm_setup_common_network(&a, o, m, (struct sockaddr *)&far));
    assert_null(nm_setup_common_network(&a, o, m, (const struct sockaddr *)&other));
    nm_arena_done(&a);
}

/* Each host that the cluster's files name is listed once, including the hosts of each name service. */
static void test_each_host_is_listed_once(void **state)
{
    struct nm_setup_facts f = {};
    struct nm_arena a;
    struct nm_yarn_settings *s = settings_of(
        PROPERTY("yarn.resourcemanager.ha.enabled", "true") PROPERTY("yarn.resourcemanager.ha.rm-ids", "a,b")
        PROPERTY("yarn.resourcemanager.hostname.a", "rm1") PROPERTY("yarn.resourcemanager.hostname.b", "rm2")
        PROPERTY("dfs.nameservices", "c") PROPERTY("dfs.ha.namenodes.c", "x,y") PROPERTY("fs.defaultFS", "hdfs://c")
        PROPERTY("dfs.namenode.rpc-address.c.x", "nn1:8020") PROPERTY("dfs.namenode.rpc-address.c.y", "[::2]:8020"));

    (void)state;
    nm_arena_init(&a, 1 << 20, NULL);
    assert_int_equal(nm_setup_list_hosts(s, &a, &f), 0);
    assert_int_equal(f.n_hosts, 4);
    assert_string_equal(f.hosts[0].name, "rm1");
    assert_int_equal(f.hosts[1].port, 8031);
    assert_int_equal(f.hosts[2].role, NM_SETUP_NAME_NODE);
    assert_int_equal(f.hosts[2].port, 9870);
    assert_true(nm_streq(f.hosts[2].name, "::2") || nm_streq(f.hosts[3].name, "::2"));
    nm_arena_done(&a);
    nm_yarn_settings_free(s);
}

static char reported[1000];

static void report_cb(const char *text)
{
    (void)snprintf(reported + strlen(reported), sizeof reported - strlen(reported), "%s\n", text);
}

/* Returns a port at which connections are neither accepted nor refused, since its queue of connections is full. */
static unsigned open_silent_port(const char *address, int fds[4])
{
    struct sockaddr_in at = v4(address);
    socklen_t size = sizeof at;

    fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fds[0], (struct sockaddr *)&at, size), 0);
    assert_int_equal(listen(fds[0], 0), 0);
    assert_int_equal(getsockname(fds[0], (struct sockaddr *)&at, &size), 0);
    for (int i = 1; i < 4; i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        (void)connect(fds[i], (struct sockaddr *)&at, size);
    }
    return ntohs(at.sin_port);
}

#define N_SILENT 5

/* All hosts are tried at the same time. The progress is printed meanwhile. */
static void test_all_hosts_are_tried_at_the_same_time(void **state)
{
    const char *addresses[N_SILENT + 1][2] = {}, *both[] = {"127.0.0.9", "127.0.0.1"};
    int fds[N_SILENT + 1][4];
    struct nm_setup_host hosts[N_SILENT + 1];
    struct nm_setup_facts f = {.hosts = hosts, .n_hosts = N_SILENT + 1};
    const struct nm_setup_request w = {.progress = report_cb};
    const uint64_t begin_usec = nm_now_usec();

    (void)state;
    for (size_t i = 0; i <= N_SILENT; i++) {
        addresses[i][0] = "127.0.0.1";
        hosts[i] = (struct nm_setup_host){.name = "silent", .port = open_silent_port("127.0.0.1", fds[i]),
                                          .addresses = addresses[i], .n_addresses = 1};
    }
    hosts[N_SILENT].name = "open"; /* the connection succeeds at the second address; the first address refuses */
    hosts[N_SILENT].addresses = both;
    hosts[N_SILENT].n_addresses = 2;
    for (int i = 1; i < 4; i++)
        (void)close(fds[N_SILENT][i]);
    for (int i = 0; i < 3; i++)
        (void)close(accept(fds[N_SILENT][0], NULL, NULL));
    nm_setup_try_hosts(&w, &f);
    for (size_t i = 0; i < N_SILENT; i++)
        assert_int_equal(hosts[i].error, -ETIMEDOUT);
    assert_string_equal(hosts[N_SILENT].answered, "127.0.0.1");
    assert_int_equal(hosts[N_SILENT].error, 0);
    assert_true(nm_now_usec() - begin_usec < 2 * 3 * NM_USEC_PER_SEC);
    if (!strstr(reported, "waiting for an answer of silent:") || !strstr(reported, "1 of 6 hosts are done"))
        fail_msg("%s", reported);
    for (size_t i = 0; i <= N_SILENT; i++)
        for (size_t k = 0; k < 4; k++)
            if (i < N_SILENT || k == 0)
                (void)close(fds[i][k]);
}

/* Each name is looked up once. An address needs no look-up. A name that can't exist isn't looked up. */
static void test_each_name_is_looked_up_once(void **state)
{
    const char *room[4][16];
    struct nm_setup_host hosts[] = {
        {.name = "127.0.0.7", .addresses = room[0]}, {.name = "a..b", .addresses = room[1]},
        {.name = "0.0.0.0", .addresses = room[2]}, {.name = "127.0.0.7", .addresses = room[3]},
    };
    struct nm_setup_facts f = {.hosts = hosts, .n_hosts = NM_ARRAY_SIZE(hosts)};
    const struct nm_setup_request w = {.root = "/nonexistent"};
    struct nm_arena a;

    (void)state;
    nm_arena_init(&a, 1 << 16, NULL);
    assert_int_equal(nm_setup_resolve(&w, &a, &f), 0);
    assert_string_equal(hosts[0].addresses[0], "127.0.0.7");
    assert_int_not_equal(hosts[1].unresolved, 0);
    assert_int_equal(hosts[1].n_addresses, 0);
    assert_string_equal(hosts[2].addresses[0], "127.0.0.1");
    assert_int_equal(hosts[3].n_addresses, 1);
    nm_arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_variables_in_a_script_are_read),
        cmocka_unit_test(test_systemd_drop_ins_are_read),
        cmocka_unit_test(test_later_lines_of_drop_ins_add_values_and_empty_values_reset),
        cmocka_unit_test(test_the_syntax_of_drop_ins_is_that_of_systemd),
        cmocka_unit_test(test_the_common_network_of_two_addresses_is_found),
        cmocka_unit_test(test_each_host_is_listed_once),
        cmocka_unit_test(test_all_hosts_are_tried_at_the_same_time),
        cmocka_unit_test(test_each_name_is_looked_up_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
