/* SPDX-License-Identifier: Apache-2.0 */

/* Failures of look-ups of host names, which run in a separate process, and of ports that nmd opens. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <sys/resource.h>

#include "fail-nth.h"
#include "loopback.h"
#include "open-descriptors.h"
#include "util/clock.h"
#include "util/fileio.h"
#include "yarn/port.h"
#include "yarn/resolve.h"

#define HOST "yarn.nodemanager.bind-host"
#define PORT "yarn.nodemanager.address"

struct fixture {
    sd_event *event;
    struct nm_resolve *resolve;
    struct nm_resolved answer;
    bool received;
};

static int set_up(void **state)
{
    struct fixture *w = calloc(1, sizeof *w);
    sigset_t mask;

    assert_non_null(w);
    (void)sigemptyset(&mask);
    (void)sigaddset(&mask, SIGCHLD);
    assert_int_equal(sigprocmask(SIG_BLOCK, &mask, NULL), 0);
    assert_true(sd_event_new(&w->event) >= 0);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *w = *state;

    nm_resolve_free(w->resolve);
    sd_event_unref(w->event);
    free(w);
    return 0;
}

static void on_resolved(const struct nm_resolved *answer, void *userdata)
{
    struct fixture *w = userdata;

    w->answer = *answer;
    w->received = true;
    w->resolve = nm_resolve_free(w->resolve);
}

static void wait_for_answer(struct fixture *w)
{
    const uint64_t deadline = nm_now_usec() + 60 * NM_USEC_PER_SEC;

    while (!w->received) {
        assert_true(nm_now_usec() < deadline);
        assert_true(sd_event_run(w->event, 100 * NM_USEC_PER_MSEC) >= 0);
    }
    w->received = false;
}

static void resolve(struct fixture *w, const char *host)
{
    assert_int_equal(nm_resolve_new(w->event, host, 4711, on_resolved, w, &w->resolve), 0);
}

/* ---- look-ups of names -------------------------------------------------------------------- */

static void test_names_and_addresses_are_resolved(void **state)
{
    struct fixture *w = *state;

    resolve(w, "127.0.0.1");
    wait_for_answer(w);
    assert_int_equal(w->answer.error, 0);
    assert_int_equal(w->answer.n, 1);
    assert_int_equal(((struct sockaddr_in *)&w->answer.addresses[0])->sin_port, htons(4711));
    resolve(w, "::1");
    wait_for_answer(w);
    assert_int_equal(w->answer.n, 1);
    assert_int_equal(((struct sockaddr_in6 *)&w->answer.addresses[0])->sin6_port, htons(4711));
    resolve(w, "a..b");
    wait_for_answer(w);
    assert_int_not_equal(w->answer.error, 0);
    assert_int_equal(w->answer.n, 0);
    assert_string_equal(w->answer.name, "a..b");
    resolve(w, NULL); /* the name of this host */
    wait_for_answer(w);
    assert_true(*w->answer.name);
}

static pid_t child(void)
{
    char text[64] = "";
    size_t size;

    if (nm_read_file_at(AT_FDCWD, "/proc/thread-self/children", text, sizeof text, &size) < 0)
        return 0;
    return (pid_t)atoi(text);
}

/* If the look-up process is killed, the look-up fails temporarily. */
static void test_if_the_look_up_process_is_killed_the_failure_is_temporary(void **state)
{
    struct fixture *w = *state;
    pid_t pid;

    resolve(w, "127.0.0.1");
    pid = child();
    if (pid <= 0)
        skip(); /* the kernel doesn't list child processes */
    (void)kill(pid, SIGKILL);
    wait_for_answer(w);
    assert_true(w->answer.error == EAI_AGAIN || w->answer.n == 1); /* the look-up may have ended already */
}

static void limit_descriptors(rlim_t n, struct rlimit *before)
{
    struct rlimit rl;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, before), 0);
    rl = *before;
    rl.rlim_cur = n;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &rl), 0);
}

/* After a failed start of a look-up, neither a process nor a descriptor remains. */
static void test_a_failed_start_of_a_look_up_leaves_no_resources(void **state)
{
    struct fixture *w = *state;
    struct rlimit before;
    struct nm_resolve *untouched = (struct nm_resolve *)w, *r = untouched;
    const unsigned open_before = open_descriptors();
    sigset_t mask;

    limit_descriptors(0, &before);
    assert_int_equal(nm_resolve_new(w->event, "127.0.0.1", 1, on_resolved, w, &r), -EMFILE);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    fail_nth(FAIL_MEMORY, 1);
    assert_int_equal(nm_resolve_new(w->event, "127.0.0.1", 1, on_resolved, w, &r), -ENOMEM);
    (void)fail_stop();

    (void)sigemptyset(&mask); /* the event loop may refuse to watch child processes if SIGCHLD isn't blocked */
    (void)sigaddset(&mask, SIGCHLD);
    assert_int_equal(sigprocmask(SIG_UNBLOCK, &mask, NULL), 0);
    if (nm_resolve_new(w->event, "127.0.0.1", 1, on_resolved, w, &r) < 0)
        assert_ptr_equal(r, untouched);
    else
        nm_resolve_free(r);
    assert_int_equal(sigprocmask(SIG_BLOCK, &mask, NULL), 0);
    assert_int_equal(open_descriptors(), open_before);
    assert_false(w->received);
}

/* ---- ports -------------------------------------------------------------------------------- */

static void assert_refused(const char *host, uint16_t port, int error, const char *words)
{
    int32_t untouched = 77;
    char *checked = NULL, *printed = NULL;
    int fd = -77;

    assert_int_equal(nm_yarn_port_check(host, port, HOST, PORT, false, &checked), error);
    if (!strstr(checked, words))
        fail_msg("%s", checked);
    assert_int_equal(nm_yarn_port_open(host, port, HOST, PORT, &fd, &untouched, &printed), error);
    assert_string_equal(printed, checked);
    assert_int_equal(fd, -77);
    assert_int_equal(untouched, 77);
    free(checked);
    free(printed);
}

static void test_a_port_is_opened_or_the_error_names_it(void **state)
{
    const unsigned open_before = open_descriptors();
    struct rlimit before;
    char *message = NULL;
    uint16_t port = 0;
    int32_t got = 0;
    int fd;

    (void)state;
    assert_int_equal(nm_yarn_port_open("127.0.0.1", 0, HOST, PORT, &fd, &got, &message), 0);
    assert_in_range(got, 1, 65535);
    (void)close(fd);
    assert_refused("192.0.2.1", 4711, -EADDRNOTAVAIL, PORT ": port 4711: "); /* an address that no host has */
    assert_refused("a..b", 4711, -EADDRNOTAVAIL, HOST ": a..b: ");
    fd = listen_on_loopback(&port);
    assert_refused("127.0.0.1", port, -EADDRINUSE, "Address already in use");
    (void)close(fd);
    limit_descriptors(3, &before);
    assert_refused("127.0.0.1", port, -EMFILE, "Too many open files");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(open_descriptors(), open_before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_names_and_addresses_are_resolved, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_if_the_look_up_process_is_killed_the_failure_is_temporary,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_failed_start_of_a_look_up_leaves_no_resources, set_up, tear_down),
        cmocka_unit_test(test_a_port_is_opened_or_the_error_names_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
