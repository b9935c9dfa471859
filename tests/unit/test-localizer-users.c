/* SPDX-License-Identifier: Apache-2.0 */

/* localize/localizer.h: the effect of one user's requests on other users. */

#include "localize/worker-protocol.h"
#include "tests/unit/localizer-fixture.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

static const char popular[] = "x:f-10";
static unsigned n_lines; /* number of lines that nmd has read from workers */

int __real_nm_worker_reply_parse(const char *text, size_t size, struct nm_worker_reply *ret);
int __wrap_nm_worker_reply_parse(const char *text, size_t size, struct nm_worker_reply *ret);

int __wrap_nm_worker_reply_parse(const char *text, size_t size, struct nm_worker_reply *ret)
{
    n_lines++;
    return __real_nm_worker_reply_parse(text, size, ret);
}

static void ask_public(struct fixture *w, const char *name, struct owner *o, const char *const *uris, size_t n)
{
    const uid_t bob = geteuid() == 0 ? NOBODY - 1 : geteuid();

    *o = (struct owner){0};
    assert_int_equal(ask_as(w, name, nm_streq(name, "bob") ? bob : worker_uid(), o, NM_VISIBILITY_PUBLIC, uris, n), 0);
}

static void one_worker(struct fixture *w)
{
    w->localizer = nm_localizer_free(w->localizer);
    w->params.max_workers = 1;
    start(w);
}

/* A PUBLIC resource doesn't wait for the resources before it in another user's queue, and is fetched only once. */
static void test_a_public_resource_does_not_wait_for_a_fetch_that_hangs(void **state)
{
    static const char *const uris[] = {"x:hang-1", popular};
    struct fixture *w = *state;
    struct owner alice, bob, again;
    pid_t pid;

    one_worker(w);
    ask_public(w, "alice", &alice, uris, 2);
    RUN_UNTIL(w, has_written_pid(w, &pid));
    ask_public(w, "bob", &bob, &uris[1], 1);
    RUN_UNTIL(w, bob.ended);
    assert_int_equal(bob.result, 0);
    assert_int_equal(alice.ended, 0);
    assert_int_equal(kill(pid, 0), 0);
    ask_public(w, "alice", &again, &uris[1], 1);
    RUN_UNTIL(w, again.ended);
    give_back(&alice);
    RUN_UNTIL(w, kill(pid, 0) < 0);
    assert_int_equal(count_log(w), 2);
    give_back(&bob);
    give_back(&again);
}

static void test_a_public_resource_does_not_wait_for_private_resources(void **state)
{
    struct fixture *w = *state;
    const char *uri = popular;
    struct owner own[3], public, bob;

    for (size_t i = 0; i < NM_ARRAY_SIZE(own); i++) {
        _cleanup_free_ char *hang = print("x:hang-%zu", i);

        ask(w, &own[i], hang);
    }
    ask_public(w, "alice", &public, &uri, 1);
    RUN_UNTIL(w, count_log(w) == 2);
    ask_public(w, "bob", &bob, &uri, 1);
    RUN_UNTIL(w, bob.ended && public.ended);
    assert_int_equal(bob.result, 0);
    assert_int_equal(public.result, 0);
    assert_int_equal(count_log(w), 3);
    for (size_t i = 0; i < NM_ARRAY_SIZE(own); i++)
        give_back(&own[i]);
    give_back(&public);
    give_back(&bob);
}

/* The first user may cancel the request. The resource is then fetched for the other user, whose queue comes first. */
static void test_a_fetch_for_two_users_continues_if_one_cancels(void **state)
{
    static const char *const hang[] = {"x:hang-1"}, *const other[] = {"x:hang-2"};
    struct fixture *w = *state;
    const char *uri = popular;
    struct owner alice, public, bob, shared;
    pid_t pid;

    one_worker(w);
    ask_public(w, "alice", &alice, hang, 1);
    RUN_UNTIL(w, has_written_pid(w, &pid));
    ask_public(w, "bob", &bob, other, 1);
    RUN_UNTIL(w, count_log(w) == 2);
    ask_public(w, "alice", &public, &uri, 1);
    ask_public(w, "bob", &shared, &uri, 1);
    give_back(&public);
    give_back(&alice);
    RUN_UNTIL(w, shared.ended);
    assert_int_equal(shared.result, 0);
    assert_int_equal(bob.ended, 0);
    assert_int_equal(count_log(w), 3);
    give_back(&shared);
    give_back(&bob);
}

/* Both users cancel their requests before the fetch. */
static void test_a_resource_is_not_fetched_if_both_users_cancel(void **state)
{
    static const char *const hang[] = {"x:hang-1"}, *const other[] = {"x:hang-2"};
    struct fixture *w = *state;
    const char *uri = popular;
    struct owner alice, public, bob, shared;

    one_worker(w);
    ask_public(w, "alice", &alice, hang, 1);
    ask_public(w, "bob", &bob, other, 1);
    RUN_UNTIL(w, count_log(w) == 2);
    ask_public(w, "alice", &public, &uri, 1);
    ask_public(w, "bob", &shared, &uri, 1);
    give_back(&public);
    give_back(&shared);
    RUN_UNTIL(w, !exists(w, "state/12"));
    give_back(&alice);
    give_back(&bob);
    ask_public(w, "alice", &alice, &uri, 1);
    RUN_UNTIL(w, alice.ended);
    assert_int_equal(alice.result, 0);
    assert_int_equal(count_log(w), 3);
    give_back(&alice);
}

/* Starts a process that writes into the worker's pipe until nmd closes the reading end. */
static pid_t begin_to_flood(pid_t worker)
{
    static const char line[] = "{\"resource\":0,\"state\":\"fetching\",\"bytes\":1,\"total\":2}\n";
    _cleanup_free_ char *path = print("/proc/%d/fd/1", worker);
    _cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);
    pid_t pid;

    assert_true(fd >= 0);
    pid = fork();
    if (pid == 0) {
        while (write(fd, line, sizeof line - 1) > 0)
            ;
        _exit(0);
    }
    return pid;
}

static void test_a_worker_that_writes_too_many_replies_is_killed(void **state)
{
    struct fixture *w = *state;
    struct owner o;
    pid_t command, flood;

    ask(w, &o, "x:hang-1");
    RUN_UNTIL(w, has_written_pid(w, &command));
    n_lines = 0;
    flood = begin_to_flood(getpgid(command));
    RUN_UNTIL(w, o.ended);
    (void)kill(flood, SIGKILL);
    (void)waitpid(flood, NULL, 0);
    give_back(&o);
    assert_int_equal(o.result, -EIO);
    assert_non_null(strstr(o.message, "x:hang-1: nm-localizer wrote more to its pipe than the protocol permits and was "
                                      "killed"));
    /* this many lines are permitted, because an nmd that was blocked for long may find them in the pipe */
    assert_true(n_lines > 1000);
    assert_true(n_lines < 2000);
    assert_true(o.progress < 100); /* progress is reported only from time to time */
    RUN_UNTIL(w, !exists(w, "state/10"));
}

/* A fetch that receives no data for a time limit is ended. A fetch that receives a byte from time to time continues,
 * whatever the file's name. */
static void test_a_fetch_without_progress_is_ended(void **state)
{
    struct fixture *w = *state;
    struct owner hangs, grows;

    w->localizer = nm_localizer_free(w->localizer);
    w->params.silent_usec = SECONDS * NM_USEC_PER_SEC;
    w->params.stalled_usec = 3 * NM_USEC_PER_SEC;
    start(w);
    ask(w, &hangs, "x:hang-1");
    ask(w, &grows, "x:grow-5");
    RUN_UNTIL(w, hangs.ended);
    assert_int_equal(hangs.result, -EIO);
    assert_non_null(strstr(hangs.message, "x:hang-1: nm-localizer received no data for 3 seconds and was killed"));
    RUN_UNTIL(w, grows.ended);
    assert_string_equal(grows.message, "");
    give_back(&hangs);
    give_back(&grows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_public_resource_does_not_wait_for_a_fetch_that_hangs),
        TEST(test_a_public_resource_does_not_wait_for_private_resources),
        TEST(test_a_fetch_for_two_users_continues_if_one_cancels),
        TEST(test_a_resource_is_not_fetched_if_both_users_cancel),
        TEST(test_a_worker_that_writes_too_many_replies_is_killed),
        TEST(test_a_fetch_without_progress_is_ended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
