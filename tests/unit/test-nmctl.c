/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The nmctl program against canned replies of nmd: which requests nmctl sends, what it prints to stdout and stderr, and
 * its exit status. tests/integration tests nmctl with the real nmd.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "fake-nmd.h"
#include "nmctl-run.h"
#include "util/clock.h"
#include "util/macros.h"

/* ---- without nmd ----------------------------------------------------------------------------- */

static const struct {
    const char *argv[10];
    int status;
    const char *out, *err; /* substrings that stdout and stderr must contain */
} words[] = {
    {{"nmctl"}, 2, "", "a verb is missing"},
    {{"nmctl", "lits"}, 2, "", "there is no verb 'lits'; did you mean 'list'?"},
    {{"nmctl", "frobnicate"}, 2, "", "there is no verb 'frobnicate'; 'nmctl --help'"},
    {{"nmctl", "--help"}, 0, "promote", ""},
    {{"nmctl", "help", "run"}, 0, "--opportunistic", ""},
    {{"nmctl", "run", "--help"}, 0, "--min-runtime TIME", ""},
    {{"nmctl", "--version"}, 0, "nmctl " NM_VERSION, ""},
    {{"nmctl", "run"}, 2, "", "run: give a command"},
    {{"nmctl", "run", "--"}, 2, "", "run: give a command"},
    {{"nmctl", "run", "", "x"}, 2, "", "an argument is empty"},
    {{"nmctl", "run", "-m", "12Q", "true"},
     2,
     "",
     "--memory '12Q' is not valid; allowed is a size"},
    {{"nmctl", "run", "-m", "0", "true"}, 2, "", "--memory '0' is out of range"},
    {{"nmctl", "run", "-m", "-1", "true"}, 2, "", "--memory '-1' is not valid"},
    {{"nmctl", "run", "-m", "99999999999T", "true"},
     2,
     "",
     "--memory '99999999999T' is out of range"},
    {{"nmctl", "run", "-c", "0.0001", "true"},
     2,
     "",
     "--vcores '0.0001' is not valid; allowed is a number of vcores"},
    {{"nmctl", "run", "--name", "a/b", "true"},
     2,
     "",
     "--name 'a/b' is not valid; allowed is 1 to 63"},
    {{"nmctl", "run", "--min-runtime", "soon", "true"}, 2, "", "--min-runtime 'soon' is not valid"},
    {{"nmctl", "run", "-e", "=x", "true"}, 2, "", "--env '=x' is not valid"},
    {{"nmctl", "run", "-e", "NOT_SET_ANYWHERE", "true"},
     2,
     "",
     "--env 'NOT_SET_ANYWHERE' is not valid"},
    {{"nmctl", "run", "-d", "/nonexistent/../x", "--memroy", "1", "true"},
     2,
     "",
     "did you mean --memory?"},
    {{"nmctl", "run", "-d", "nonexistent", "true"}, 2, "", "--workdir 'nonexistent': No such file"},
    {{"nmctl", "run", "--guaranteed", "--opportunistic", "true"}, 2, "", "can't be combined"},
    {{"nmctl", "run", "--wait", "--detach", "true"}, 2, "", "can't be combined"},
    {{"nmctl", "run", "-t", "-D", "true"}, 2, "", "--tty and --detach can't be combined"},
    {{"nmctl", "run", "--json", "true"}, 2, "", "--json needs --detach"},
    {{"nmctl", "run", "\xff"}, 2, "", "is not valid UTF-8"},
    {{"nmctl", "run", "-m"}, 2, "", "--memory needs a value"},
    {{"nmctl", "list", "--all=yes"}, 2, "", "--all takes no value"},
    {{"nmctl", "list", "-x"}, 2, "", "unknown option -x; see 'nmctl list --help'"},
    {{"nmctl", "list", "x"}, 2, "", "unexpected argument 'x'"},
    {{"nmctl", "kill"}, 2, "", "name a container"},
    {{"nmctl", "kill", "../x"}, 2, "", "'../x' is not a container's id or name"},
    {{"nmctl", "update", "web"}, 2, "", "nothing to change"},
    {{"nmctl", "top", "--sort", "color"}, 2, "", "allowed is cpu, memory"},
    {{"nmctl", "--socket", "/nonexistent/s", "list"},
     3,
     "",
     "nmd is not running at /nonexistent/s; start it"},
    {{"nmctl", "list", "--socket", "/nonexistent/s"},
     3,
     "",
     "nmd is not running at /nonexistent/s; start it"},
    {{"nmctl", "--socket=/nonexistent/s", "run", "true"}, 3, "", "nmd is not running"},
    {{"nmctl", "--socket=/nonexistent/s", "--retry=100ms", "list"}, 3, "", "nmd is not running"},
    {{"nmctl", "--retry=soon", "list"}, 2, "", "--retry 'soon' is not valid; allowed is a time"},
    {{"nmctl", "--socket=/nonexistent/s", "version"}, 3, "nmctl " NM_VERSION, "nmd is not running"},
    {{"nmctl", "--socket=/nonexistent/s", "logs", "web"}, 3, "", "nmd is not running"},
    {{"nmctl", "--socket=/nonexistent/s", "events", "-f"}, 3, "", "nmd is not running"},
    {{"nmctl", "__complete", "--", "pro"}, 0, "promote\t", ""},
    {{"nmctl", "__complete", "--", "run", "-d", ""}, 0, ":dir", ""},
    {{"nmctl", "ps", "--help"}, 0, "nmctl list", ""},
    {{"nmctl", "help", "stop"}, 0, "Also: nmctl stop.", ""},
    {{"nmctl", "p"}, 2, "", "there is no verb 'p'"},
    {{"nmctl", "list", "--state", "idle"}, 2, "", "--state 'idle' is not valid; allowed is new, localizing"},
    {{"nmctl", "wait"}, 2, "", "wait: name a container"},
    {{"nmctl", "run", "-d", "sleep", "10"}, 2, "", "-D is --detach"},
    {{"nmctl", "run", "-d", "/bin/true", "x"}, 2, "", "'/bin/true': Not a directory (-d is the working dir"},
    {{"nmctl", "run", "-w", "/tmp", "ls"}, 2, "", "/tmp is a directory, not a command (-d is"},
    {{"nmctl", "run", "-p", "80:80", "nginx"}, 2, "", "run: there is no option -p: containers use this ho"},
    {{"nmctl", "run", "--volume=/a:/b", "ls"}, 2, "", "no option --volume=/a:/b: containers see this host"},
    {{"nmctl", "run", "--cpus", "2", "ls"}, 2, "", "-c, --vcores"},
    {{"nmctl", "ps", "--filter", "name=x"}, 2, "", "use --app or --state"},
    {{"nmctl", "stop", "-t", "5", "web"}, 2, "", "kill-grace in nmd.conf"},
    {{"nmctl", "stats"}, 2, "", "there is no verb 'stats': 'nmctl top' shows"},
    {{"nmctl", "describe", "web"}, 2, "", "no verb 'describe': 'nmctl show' shows the details of a container"},
    {{"nmctl", "get", "containers"}, 2, "", "no verb 'get': 'nmctl list' shows containers, 'nmctl show' one"},
    {{"nmctl", "journal"}, 2, "", "no verb 'journal': 'nmctl events' shows what happened"},
    {{"nmctl", "delete", "web"}, 2, "", "'nmctl kill' ends a container, 'nmctl rm' removes"},
    {{"nmctl", "uncordon"}, 2, "", "'nmctl undrain'"},
    {{"nmctl", "wait", "--timeout", "soon", "web"}, 2, "", "--timeout 'soon' is not valid; allowed is a time"},
    {{"nmctl", "help", "pull"}, 2, "", "there are no images"},
    {{"nmctl", "__complete", "--", "ls", "--state", "RUN"}, 0, "RUNNING", ""},
    {{"nmctl", "__complete", "--", "ls", "--state", "ki"}, 0, "killing\nkilled\n", ""},
    {{"nmctl", "__complete", "--", "run", "--opp"}, 0, "--opportunistic\t", ""},
    {{"nmctl", "__complete", "--", "run", "make", "--opp"}, 0, ":file", ""},
    {{"nmctl", "__complete", "--", "--socket=/nonexistent/s", "kill", ""}, 0, "", ""},
};

static void test_each_verb_checks_its_arguments(void **state)
{
    struct nmctl_result r;

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(words); i++) {
        nmctl_run(&r, words[i].argv);
        if (r.status != words[i].status)
            fail_msg("case %zu: status %d, not %d; stderr: %s", i, r.status, words[i].status,
                     r.err);
        nmctl_expect(r.out, words[i].out);
        nmctl_expect(r.err, words[i].err);
        /* An error is reported in one line that begins with the program's name. */
        assert_true(!*r.err || strncmp(r.err, "nmctl: ", 7) == 0);
        assert_true(!*r.err || strchr(r.err, '\n') == r.err + strlen(r.err) - 1);
    }
}

/* ---- with canned replies --------------------------------------------------------------------- */

static void test_each_verb_prints_the_answer_of_nmd(void **state)
{
    static const struct fake_exchange x[] = {
        {"GET /v1/containers?limit=250&after=0 HTTP", OK("[" RUNNING "]"), NULL},
        {"GET /v1/containers?all=true&limit=250&after=0 HTTP", OK("[]"), NULL},
        {"GET /v1/containers/web HTTP", OK(RUNNING), NULL},
        {"GET /v1/containers/nix HTTP", REFUSED("404", "There is no container nix."), NULL},
        {"GET /v1/status", OK("{\"node\":{\"state\":\"running\",\"backend\":\"direct\"}}"), NULL},
        {"GET /v1/decisions?limit=",
         OK("{\"decisions\":[{\"number\":7,\"summary\":\"s\",\"explanation\":\"why\\nso\"}]}"),
         NULL},
        {"GET /v1/events HTTP", OK("{\"kind\":\"node\",\"text\":\"draining\"}\n{\"lost\":3}\n"),
         NULL},
        {"GET /v1/version", OK("{\"version\":\"9.9\"}"), NULL},
        {"GET /v1/config",
         OK("[{\"section\":\"queue\",\"key\":\"max_length\",\"value\":\"7\",\"default\":\"10\"}]"),
         NULL},
        {"GET /v1/containers/web/logs?stream=stdout HTTP", OK("to stdout\n"), NULL},
        {"GET /v1/containers/web/logs?stream=stderr HTTP", OK("to stderr\n"), NULL},
        {"GET /v1/containers/web/logs?stream=stderr&tail=2 HTTP", OK("tail\n"), NULL},
        {"GET /v1/containers/bad HTTP", OK("this is no JSON"), NULL},
        {"GET /v1/containers/worse HTTP", "nonsense\r\n", NULL},
        {"GET /v1/containers/evil HTTP", REFUSED("404", "\\u001b[2Jgone"), NULL},
    };
    struct fake_nmd f;
    struct nmctl_result r;

    (void)state;
    nmctl_serve(&f, x, NM_ARRAY_SIZE(x));
    RUN(&r, "list");
    assert_int_equal(r.status, 0);
    /* The container uses a quarter of a CPU, which is half a vcore. One vcore is half a CPU here. */
    nmctl_expect(r.out, ID "  web   guaranteed  RUNNING  100 MiB  512 MiB   0.25     0.5");
    /* the output to a file has no colours, and no escape sequences from a container's command */
    assert_null(strchr(r.out, '\033'));
    nmctl_expect(r.out, "sh -c 'echo ?[31mred'");
    RUN(&r, "list", "--json");
    nmctl_expect(r.out, "\"vcores\": 0.5");
    RUN(&r, "list", "--all", "--json");
    assert_string_equal(r.out, "[]\n");
    RUN(&r, "show", "web");
    nmctl_expect(r.out, "memory      100 MiB of 512 MiB");
    RUN(&r, "show", "nix", "web");
    assert_int_equal(r.status, 1);
    assert_string_equal(r.err, "nmctl: There is no container nix.\n");
    nmctl_expect(r.out, ID);
    RUN(&r, "status");
    assert_int_equal(r.status, 0);
    nmctl_expect(r.out, "running, direct backend");
    RUN(&r, "top");
    nmctl_expect(r.out, ID);
    RUN(&r, "explain");
    nmctl_expect(r.out, "decision 7");
    nmctl_expect(r.out, "  why\n  so\n");
    RUN(&r, "events");
    nmctl_expect(r.out, "draining");
    nmctl_expect(r.err, "3 were no longer available");
    RUN(&r, "version");
    assert_string_equal(r.out, "nmctl " NM_VERSION "\nnmd 9.9\n");
    RUN(&r, "config", "queue");
    nmctl_expect(r.out, "queue.max_length  7      10");
    RUN(&r, "logs", "web");
    assert_string_equal(r.out, "to stdout\n");
    assert_string_equal(r.err, "to stderr\n");
    RUN(&r, "logs", "--stderr", "-n", "2", "web");
    assert_string_equal(r.out, "");
    assert_string_equal(r.err, "tail\n");
    RUN(&r, "show", "bad");
    assert_int_equal(r.status, 3);
    nmctl_expect(r.err, "invalid answer from ");
    RUN(&r, "show", "worse");
    assert_int_equal(r.status, 3);
    RUN(&r, "show", "evil");
    assert_string_equal(r.err, "nmctl: ?[2Jgone\n");
    RUN(&r, "__complete", "--", "kill", "w");
    assert_string_equal(r.out, "web\tRUNNING, guaranteed\n");
    fake_nmd_stop(&f);
}

static void test_an_answer_of_another_server_is_refused(void **state)
{
    static const struct fake_exchange x[] = {
        {"GET /v1/containers?limit", OK("{\"containers\":[]}"), NULL},
        {"GET /v1/decisions?limit", OK("[]"), NULL},
        {"GET /v1/containers/" ID "/decisions?limit", OK("{\"decisions\":{}}"), NULL},
    };
    static const char *const verbs[][4] = {
        {"nmctl", "list", NULL}, {"nmctl", "explain", NULL}, {"nmctl", "explain", ID, NULL}};
    struct fake_nmd f;
    struct nmctl_result r;

    (void)state;
    nmctl_serve(&f, x, NM_ARRAY_SIZE(x));
    for (size_t i = 0; i < NM_ARRAY_SIZE(verbs); i++) {
        nmctl_run(&r, verbs[i]);
        assert_int_equal(r.status, 3);
        nmctl_expect(r.err, "invalid answer from ");
    }
    fake_nmd_stop(&f);
}

/* nmctl prints the advice for a wait only while the container still waits for this reason. It prints no advice if the
 * container now waits for another reason, or runs. */
static void test_nmctl_explain_prints_no_outdated_advice(void **state)
{
#define DECISION(reason, text) \
    "{\"number\":1,\"kind\":\"queue\",\"reason\":\"" reason "\",\"explanation\":\"Queued.\\n  Why: " text \
    ".\\n  What you can do: " text ".\\n\"}"
#define DECISIONS OK("{\"decisions\":[" DECISION("no-sample", "sample") "," DECISION("over-alpha", "alpha") "]}")
    static const struct fake_exchange x[] = {
        {"GET /v1/containers/waits/decisions", DECISIONS, NULL},
        {"GET /v1/containers/waits HTTP",
         OK("{\"id\":\"" ID "\",\"state\":\"SCHEDULED\",\"hold\":\"over-alpha\",\"queue_position\":1}"), NULL},
        {"GET /v1/containers/runs/decisions", DECISIONS, NULL},
        {"GET /v1/containers/runs HTTP", OK("{\"id\":\"" ID "\",\"state\":\"RUNNING\"}"), NULL},
        {"GET /v1/status HTTP", OK("{}"), NULL},
    };
    struct fake_nmd f;
    struct nmctl_result r;

    (void)state;
    nmctl_serve(&f, x, NM_ARRAY_SIZE(x));
    RUN(&r, "explain", "waits");
    nmctl_expect(r.out, "Why: sample.");
    assert_null(strstr(r.out, "What you can do: sample."));
    nmctl_expect(r.out, "Why: alpha.\n    What you can do: alpha.\n");
    RUN(&r, "explain", "runs");
    nmctl_expect(r.out, "Why: alpha.");
    assert_null(strstr(r.out, "What you can do"));
    fake_nmd_stop(&f);
}

/* There is no decision about a container that ended without an action of nmd. nmctl explain uses the fields of the
 * container instead. */
static void test_nmctl_explain_describes_ends_that_nmd_did_not_cause(void **state)
{
#define NO_DECISIONS OK("{\"decisions\":[]}")
    static const struct fake_exchange x[] = {
        {"GET /v1/containers/stopped/decisions", NO_DECISIONS, NULL},
        {"GET /v1/containers/stopped HTTP",
         OK("{\"id\":\"" ID "\",\"state\":\"COMPLETED\",\"exit_reason\":\"stopped\",\"exit_signal\":15,"
            "\"message\":\"systemd stopped its scope\\u001b without a request from nmd\"}"), NULL},
        {"GET /v1/containers/deaf/decisions", NO_DECISIONS, NULL},
        {"GET /v1/containers/deaf HTTP",
         OK("{\"id\":\"" ID "\",\"state\":\"RUNNING\",\"message\":\"systemd is stopping its scope\"}"), NULL},
        {"GET /v1/containers/shot/decisions", NO_DECISIONS, NULL},
        {"GET /v1/containers/shot HTTP",
         OK("{\"id\":\"" ID "\",\"state\":\"COMPLETED\",\"exit_reason\":\"signaled\",\"exit_signal\":9,"
            "\"message\":\"SIGKILL was not sent by nmd\"}"), NULL},
        {"GET /v1/containers/done/decisions", NO_DECISIONS, NULL},
        {"GET /v1/containers/done HTTP",
         OK("{\"id\":\"" ID "\",\"state\":\"COMPLETED\",\"exit_reason\":\"exited\",\"exit_code\":3}"), NULL},
    };
    struct fake_nmd f;
    struct nmctl_result r;

    (void)state;
    nmctl_serve(&f, x, NM_ARRAY_SIZE(x));
    RUN(&r, "explain", "stopped");
    nmctl_expect(r.out,
                 "\nnow ended: it was stopped through systemd: systemd stopped its scope? without a request from "
                  "nmd\n  What you can do: submit it again");
    RUN(&r, "explain", "deaf");
    nmctl_expect(r.out, "\nnow RUNNING: systemd is stopping its scope\n");
    RUN(&r, "explain", "shot");
    nmctl_expect(r.out,
           "\nnow ended: it was ended by signal 9 (Killed): SIGKILL was not sent by nmd\n  What you can do: ");
    RUN(&r, "explain", "done");
    nmctl_expect(r.out, "now ended: it exited with status 3\n");
    assert_null(strstr(r.out, "What you can do"));
    fake_nmd_stop(&f);
}

/* nmctl explain reports the placement of a container that this node has placed, even if the container runs on another
 * node. */
static void test_nmctl_explain_describes_the_placement_of_a_container(void **state)
{
#define HERE "container_1_0001_01_1099511627775"
#define THERE "container_1_0001_01_1099511627774"
#define NOWHERE "container_1_0001_01_1099511627773"
#define PLACEMENT \
    "{\"realtime_usec\":1000000,\"summary\":\"placed on n7:1, any\"," \
    "\"explanation\":\"It went to n7.\\nIt was number 1.\\n\"}"
    static const struct fake_exchange x[] = {
        {"GET /v1/placements/" HERE " HTTP", OK(PLACEMENT), NULL},
        {"GET /v1/containers/" HERE " HTTP", OK(RUNNING), NULL},
        {"GET /v1/containers/" HERE "/decisions",
         OK("{\"decisions\":[{\"number\":4,\"summary\":\"admitted\"}]}"), NULL},
        {"GET /v1/containers/" HERE " HTTP", OK(RUNNING), NULL},
        {"GET /v1/placements/" THERE " HTTP", OK(PLACEMENT), NULL},
        {"GET /v1/containers/" THERE " HTTP", REFUSED("404", "There is none."), NULL},
        {"GET /v1/placements/" NOWHERE " HTTP", REFUSED("404", "This node has not placed it."), NULL},
        {"GET /v1/containers/" NOWHERE "/decisions", REFUSED("404", "There is none."), NULL},
    };
    struct fake_nmd f;
    struct nmctl_result r;

    (void)state;
    nmctl_serve(&f, x, NM_ARRAY_SIZE(x));
    RUN(&r, "explain", HERE);
    assert_int_equal(r.status, 0);
    nmctl_expect(r.out, "placement, 19");
    nmctl_expect(r.out, "\n  It went to n7.\n  It was number 1.\n\ndecision 4, ");
    RUN(&r, "explain", THERE);
    assert_int_equal(r.status, 0);
    nmctl_expect(r.out, "\n  It went to n7.\n");
    RUN(&r, "explain", "--json", THERE);
    assert_int_equal(r.status, 0);
    nmctl_expect(r.out, "\"summary\": \"placed on n7:1, any\"");
    RUN(&r, "explain", NOWHERE);
    assert_int_equal(r.status, 1);
    assert_string_equal(r.err, "nmctl: There is none.\n");
    fake_nmd_stop(&f);
}

static void test_nmctl_status_shows_application_masters(void **state)
{
    static const struct fake_exchange x[] = {
        {"GET /v1/status",
         OK("{\"node\":{\"state\":\"running\",\"backend\":\"direct\"},\"upstream\":{\"kind\":\"yarn\","
            "\"state\":\"running\",\"address\":\"rm:8031\",\"unhealthy\":\"draining: so\","
            "\"masters\":{\"address\":\"n1:8049\",\"attempts\":2,"
            "\"outstanding\":7,\"placed\":{\"node_local\":1,\"rack_local\":2,\"anywhere\":3},\"pipelines\":["
            "{\"attempt_id\":\"appattempt_1_0001_000001\",\"user\":\"al\\u001bice\",\"state\":\"running\","
            "\"outstanding\":7,\"nodes\":10,\"placed\":{\"node_local\":0,\"rack_local\":0,\"anywhere\":3},"
            "\"last_allocate_usec\":null}]}}}"), NULL},
    };
    struct fake_nmd f;
    struct nmctl_result r;

    (void)state;
    nmctl_serve(&f, x, NM_ARRAY_SIZE(x));
    RUN(&r, "status");
    assert_int_equal(r.status, 0);
    nmctl_expect(r.out, "upstream     yarn, running, reported as unhealthy: this node at rm:8031\n"
                        "             draining: so\n");
    nmctl_expect(r.out,
                 "masters      2 through n1:8049; 7 opportunistic containers wait for a node; placed 1 on requested "
                 "hosts, 2 in requested racks, 3 anywhere\n"
                  "             appattempt_1_0001_000001 of al?ice, running: 7 wait, 10 nodes; placed 0 on requested "
                 "hosts, 0 in requested racks, 3 anywhere\n");
    fake_nmd_stop(&f);
}

static void test_nmctl_status_shows_auxiliary_services(void **state)
{
    static const struct fake_exchange x[] = {
        {"GET /v1/status",
         OK("{\"node\":{\"state\":\"running\",\"backend\":\"direct\"},\"upstream\":{\"kind\":\"yarn\","
            "\"state\":\"running\",\"address\":\"rm:8031\",\"services\":[{\"name\":\"mapreduce_shuffle\",\"up\":true,"
            "\"port\":13562,\"restarts\":0,\"trouble\":null,\"applications\":1,\"connections\":2,\"blocks_sent\":1,"
            "\"blocks_failed\":3,\"sent_bytes\":1048576,\"executors\":null,\"streams\":null,\"slow_readers\":null},"
            "{\"name\":\"my_\\u001bspark\",\"up\":false,\"port\":7337,\"restarts\":2,"
            "\"trouble\":\"killed\\u001b by 9\",\"applications\":2,\"connections\":0,\"refused_connections\":1,"
            "\"blocks_sent\":10,\"blocks_failed\":0,"
            "\"sent_bytes\":100,\"executors\":4,\"streams\":1,\"slow_readers\":5,\"stalled_readers\":1,"
            "\"by_application\":["
            "{\"application\":\"app\\u001b1\",\"streams\":1,\"sent_bytes\":2048,\"stalled_readers\":1,"
            "\"slow_readers\":2},"
            "{\"application\":\"b\"},{\"application\":\"c\"},{\"application\":\"d\"},"
            "{\"application\":\"e\"}]}]}}"), NULL},
    };
    struct fake_nmd f;
    struct nmctl_result r;

    (void)state;
    nmctl_serve(&f, x, NM_ARRAY_SIZE(x));
    RUN(&r, "status");
    assert_int_equal(r.status, 0);
    nmctl_expect(r.out, "\nservices     mapreduce_shuffle up for ");
    nmctl_expect(r.out, ", port 13562: 1 application, 2 connections; 1 block sent (1.0 MiB), 3 failed\n");
    nmctl_expect(r.out, "\n             my_?spark away for ");
    nmctl_expect(r.out, ", port 7337, restarted 2 times: 2 applications, 4 executors, 0 connections, 1 open stream; "
                        "10 blocks sent (100 B), 0 failed, 1 connection refused, 1 client not reading, 5 slow readers "
                        "disconnected\n"
                        "             killed? by 9; it is started again\n"
                        "             app?1: 1 open stream, 2.0 KiB sent, 1 client not reading, 2 slow readers "
                        "disconnected\n"
                        "             b: ");
    nmctl_expect(r.out, "\n             2 more with --json\n");
    fake_nmd_stop(&f);
}

static void test_each_verb_sends_the_right_request(void **state)
{
    static const struct fake_exchange x[] = {
        {"POST /v1/containers/web/kill HTTP", OK(RUNNING), "{\"now\":false}"},
        {"POST /v1/containers/now/kill HTTP", OK(RUNNING), "{\"now\":true}"},
        {"GET /v1/containers/" ID "/wait HTTP", OK(ENDED_AS("143", "killed", "Killed (on request)")), NULL},
        {"POST /v1/containers/web/promote HTTP", OK(RUNNING), NULL},
        {"POST /v1/containers/done/pause HTTP", REFUSED("409", "It has ended."), NULL},
        {"PATCH /v1/containers/web HTTP", OK(RUNNING),
         "{\"memory_bytes\":1073741824,\"vcores\":1.5}"},
        {"GET /v1/containers?limit=250&after=0 HTTP",
         OK("[{\"id\":\"container_1_1\",\"name\":\"w\",\"state\":\"SCHEDULED\"},"
            "{\"id\":\"container_1_2\",\"name\":null,\"state\":\"NEW\"},"
            "{\"id\":\"container_1_3\",\"name\":\"r\",\"state\":\"RUNNING\"}]"), NULL},
        {"POST /v1/drain HTTP", OK("{\"discarded\":{\"count\":1,\"containers\":[{\"id\":\"container_1_1\"}]}}"),
         "{\"deadline_usec\":5000000,\"kill_opportunistic\":true}"},
        {"GET /v1/containers?limit=250&after=0 HTTP", OK("[]"), NULL},
        {"POST /v1/drain HTTP", OK("{\"upstream\":{\"kind\":\"yarn\",\"state\":\"running\"}}"),
         "{\"until_restart\":true}"},
        {"POST /v1/undrain HTTP", OK("{}"), NULL},
        {"POST /v1/close-breaker HTTP", OK("{}"), NULL},
        {"POST /v1/reload HTTP", REFUSED("400", "nmd.conf:3: no."), NULL},
    };
    struct fake_nmd f;
    struct nmctl_result r;

    (void)state;
    nmctl_serve(&f, x, NM_ARRAY_SIZE(x));
    RUN(&r, "kill", "web");
    assert_int_equal(r.status, 0);
    assert_string_equal(r.out, ID " (web): RUNNING\n");
    RUN(&r, "kill", "--now", "--wait", "now");
    assert_string_equal(r.out, ID ": Killed (on request)\n");
    RUN(&r, "promote", "web");
    assert_string_equal(r.out, ID " (web): RUNNING, guaranteed\n");
    RUN(&r, "pause", "done");
    assert_int_equal(r.status, 1);
    assert_string_equal(r.err, "nmctl: It has ended.\n");
    RUN(&r, "update", "-m", "1G", "-c", "1.5", "web");
    assert_int_equal(r.status, 0);
    RUN(&r, "drain", "--deadline", "5s", "--kill-opportunistic");
    assert_string_equal(r.err, "nmctl: drain: discards 2 containers that wait: w, container_1_2\n");
    assert_string_equal(r.out, "draining; 1 waiting container was discarded\n");
    RUN(&r, "drain", "--until-restart");
    assert_string_equal(r.out, "draining\n");
    nmctl_expect(r.err, "nmctl: drain: nmd reports no free resources to the ResourceManager, and an unhealthy node");
    RUN(&r, "undrain");
    assert_int_equal(r.status, 0);
    RUN(&r, "close-breaker");
    assert_string_equal(r.out, "the breaker is closed\n");
    RUN(&r, "config", "--reload");
    assert_int_equal(r.status, 1);
    assert_string_equal(r.err, "nmctl: nmd.conf:3: no.\n");
    fake_nmd_stop(&f);
}

static void assert_reload(const struct fake_exchange *x, const char *expected)
{
    struct fake_nmd f;
    struct nmctl_result r;

    nmctl_serve(&f, x, 1);
    RUN(&r, "config", "--reload");
    assert_int_equal(r.status, 0);
    assert_string_equal(r.out, expected);
    fake_nmd_stop(&f);
}

static void test_nmctl_reload_prints_the_result(void **state)
{
    static const struct fake_exchange
        all = {"POST /v1/reload HTTP", OK("{\"node\":{\"needs_restart\":null}}"), NULL},
        some = {"POST /v1/reload HTTP", OK("{\"node\":{\"needs_restart\":\"[interface] http-address\"}}"), NULL};

    (void)state;
    assert_reload(&all, "configuration reloaded\n");
    assert_reload(&some, "configuration reloaded; a restart of nmd is needed for [interface] http-address\n");
}

/* ---- nmctl run ------------------------------------------------------------------------------- */

static void run_and_check(const char *end, int status, const char *printed)
{
    const struct fake_exchange x[] = {
        {"POST /v1/containers HTTP", CREATED(RUNNING), "\"command\":[\"echo\",\"-m\"]"},
        {"GET /v1/containers/" ID "/wait HTTP", end, NULL},
        {"GET /v1/containers/" ID "/logs?stream=stdout&follow=true HTTP", OK("out\n"), NULL},
        {"GET /v1/containers/" ID "/logs?stream=stderr&follow=true HTTP", OK("err\n"), NULL},
    };
    struct fake_nmd f;
    struct nmctl_result r;

    nmctl_serve(&f, x, NM_ARRAY_SIZE(x));
    RUN(&r, "run", "echo", "-m");
    assert_int_equal(r.status, status);
    assert_string_equal(r.out, "out\n");
    nmctl_expect(r.err, "err\n");
    nmctl_expect(r.err, printed);
    fake_nmd_stop(&f);
}

static void test_nmctl_run_returns_the_exit_status_of_the_command(void **state)
{
    (void)state;
    run_and_check(OK(ENDED("0", "exited")), 0, "");
    run_and_check(OK(ENDED("7", "exited")), 7, "");
    run_and_check(OK(ENDED("139", "signaled")), 139, "was ended by signal");
    run_and_check(OK(ENDED("137", "preempted")), 137, "was killed to give its resources back");
    run_and_check(OK(ENDED("137", "oom-killed")), 137, "ran out of memory");
    run_and_check(OK(ENDED("null", "shed")), 125, "discarded from the queue");
    run_and_check(OK(ENDED("127", "command-not-found")), 127,
                  "was not run: its command was not found");
    run_and_check(OK(ENDED("null", "permission-denied")), 126, "no permission to execute its command");
}

static void test_nmctl_run_sends_the_requested_resources(void **state)
{
    static const struct fake_exchange x[] = {
        {"POST /v1/containers HTTP", CREATED(RUNNING),
         "{\"execution_type\":\"OPPORTUNISTIC\",\"command\":[\"make\",\"-j4\"],\"memory_bytes\":"
         "536870912,"
         "\"vcores\":0.5,\"min_runtime_usec\":60000000,\"expected_usec\":500000,\"name\":\"n\","
         "\"app\":\"a\","
         "\"user\":\"nobody\",\"workdir\":\"/tmp\",\"env\":{\"A\":\"b=c\",\"HERE\":\"there\"}}"},
    };
    struct fake_nmd f;
    struct nmctl_result r;

    (void)state;
    (void)setenv("HERE", "there", 1);
    nmctl_serve(&f, x, NM_ARRAY_SIZE(x));
    RUN(&r, "run", "--opportunistic", "-m", "512M", "-c", "0.5", "--name", "n", "--app", "a", "-e",
        "A=b=c", "-e", "HERE", "-d", "/tmp", "-u", "nobody", "--min-runtime", "1min", "--expect",
        "500ms", "--detach", "--", "make", "-j4");
    assert_string_equal(r.err, "");
    assert_int_equal(r.status, 0);
    assert_string_equal(r.out, ID "\n");
    fake_nmd_stop(&f);
}

static void test_nmctl_run_by_root_sends_the_user_root(void **state)
{
    const struct fake_exchange x[] = {
        {"POST /v1/containers HTTP", CREATED(RUNNING),
         geteuid() == 0 ? "\"command\":[\"id\"],\"user\":\"root\"}" : "\"command\":[\"id\"]}"},
    };
    struct fake_nmd f;
    struct nmctl_result r;

    (void)state;
    nmctl_serve(&f, x, NM_ARRAY_SIZE(x));
    RUN(&r, "run", "--detach", "id");
    assert_int_equal(r.status, 0);
    fake_nmd_stop(&f);
}

static void test_nmctl_run_reports_a_refused_container(void **state)
{
    static const struct fake_exchange x[] = {
        {"POST /v1/containers HTTP", REFUSED("422", "It is larger than the node."), NULL},
    };
    struct fake_nmd f;
    struct nmctl_result r;

    (void)state;
    nmctl_serve(&f, x, NM_ARRAY_SIZE(x));
    RUN(&r, "run", "true");
    assert_int_equal(r.status, 125);
    assert_string_equal(r.err, "nmctl: It is larger than the node.\n");
    fake_nmd_stop(&f);
}

/* nmctl run also reports that nmd has exited while nmctl waits. */
static void test_nmctl_run_reports_that_its_container_is_queued(void **state)
{
    static const struct fake_exchange x[] = {
        {"POST /v1/containers HTTP", CREATED(QUEUED), NULL},
        {"GET /v1/status HTTP",
         OK("{\"node\":{\"utilization\":{\"memory\":0.82,\"cpu\":0.1},"
            "\"over_allocation_threshold\":{\"memory\":0.8,\"cpu\":0.8}}}"),
         NULL},
        {"GET /v1/containers/" ID " HTTP", OK(QUEUED), NULL},
        {"GET /v1/containers/" ID, NULL, NULL},
    };
    const char *const argv[] = {"nmctl", "run", "true", NULL};
    struct nmctl_started s;
    struct fake_nmd f;
    struct nmctl_result r;

    (void)state;
    nmctl_serve(&f, x, NM_ARRAY_SIZE(x));
    nmctl_start(&s, argv);
    nmctl_await(s.err, "\n");
    fake_nmd_stop(&f); /* nmd is killed: the container keeps running, and nmctl waits until Ctrl-C */
    nmctl_await(s.err, "lost the connection to nmd at");
    (void)kill(s.pid, SIGINT);
    nmctl_finish(&s, &r);
    assert_int_equal(r.status, 3);
    nmctl_expect(r.err,
           "nmctl: queued at position 2: 82 % of the node's memory is used or reserved, over the over-allocation "
           "threshold of 80 %\n");
    nmctl_expect(r.err, " could not be killed and may continue");
}

/* A noun is singular only after the number 1. */
static void test_a_noun_is_singular_only_after_one(void **state)
{
    static const struct fake_exchange x[] = {
        {"GET /v1/status HTTP",
         OK("{\"node\":{\"capacity\":{\"memory_bytes\":1073741824,\"vcores\":1,\"cpu_millicores\":1000},"
            "\"squeeze_millicores\":1000},"
            "\"upstream\":{\"kind\":\"yarn\",\"memory_bytes\":1073741824,\"vcores\":1,"
            "\"masters\":{\"outstanding\":1,\"pipelines\":[{\"outstanding\":1,\"nodes\":1}]}}}"), NULL},
        {"GET /v1/containers/one HTTP", OK("{\"id\":\"" ID "\",\"cpu_used_millicores\":1000,\"vcores\":1}"), NULL},
        {"GET /v1/containers/more HTTP", OK("{\"id\":\"" ID "\",\"cpu_used_millicores\":1010,\"vcores\":1.5}"), NULL},
    };
    struct nmctl_result r;
    struct fake_nmd f;

    (void)state;
    nmctl_serve(&f, x, NM_ARRAY_SIZE(x));
    RUN(&r, "show", "one");
    nmctl_expect(r.out, "1.00 core used, 1 vcore requested, ");
    RUN(&r, "show", "more");
    nmctl_expect(r.out, "1.01 cores used, 1.5 vcores requested, ");
    RUN(&r, "status");
    nmctl_expect(r.out, "of 1.00 core: ");
    nmctl_expect(r.out, "of 1.00 vcore: ");
    nmctl_expect(r.out, "are limited to 1.0 core\n");
    nmctl_expect(r.out, " and 1 vcore for this node; ");
    nmctl_expect(r.out, " 1 opportunistic container waits for a node; ");
    nmctl_expect(r.out, ": 1 waits, 1 node; ");
    fake_nmd_stop(&f);
}

/* nmctl status names the head of the queue and the request of this container. The request is part of the queue
 * reason. */
static void test_nmctl_status_names_the_request_of_the_queue_head(void **state)
{
    static const struct fake_exchange x[] = {
        {"GET /v1/status HTTP",
         OK("{\"node\":{\"utilization\":{\"memory\":0.002,\"cpu\":0},\"capacity\":{\"memory_bytes\":4294967296},"
            "\"preemption_threshold\":{\"memory\":0.95,\"cpu\":0.95}},\"queue\":{\"length\":1,\"max_length\":500,"
            "\"hold\":{\"reason\":\"would-exceed-beta\",\"container_id\":\"" ID "\"}}}"), NULL},
        {"GET /v1/containers/" ID " HTTP", OK("{\"id\":\"" ID "\",\"memory_bytes\":4080218931}"), NULL},
    };
    struct nmctl_result r;
    struct fake_nmd f;

    (void)state;
    nmctl_serve(&f, x, NM_ARRAY_SIZE(x));
    RUN(&r, "status");
    nmctl_expect(r.out, "1 of 500; " ID " is queued: memory is at 0.2 % of capacity, and with the 3.8 GiB that it asks "
                        "for would be at 95.2 %, over the limit of 95 %\n");
    fake_nmd_stop(&f);
}

/* The container never ends in this test. Each Ctrl-C leads to the next step of nmctl, and nmctl exits after the third
 * Ctrl-C. */
static void test_each_ctrl_c_leads_to_the_next_step_of_nmctl_run(void **state)
{
    static const struct fake_exchange x[] = {
        {"POST /v1/containers HTTP", CREATED(RUNNING), NULL},
        {"POST /v1/containers/" ID "/kill HTTP", OK(RUNNING), NULL},
        {"GET /v1/containers/" ID "/logs?stream=stdout", "HTTP/1.1 200 OK\r\n\r\nstarted\n", NULL},
        {"GET /v1/containers/" ID, NULL, NULL},
    };
    const char *const argv[] = {"nmctl", "run", "sleep", "1000", NULL};
    struct nmctl_started s;
    struct fake_nmd f;
    struct nmctl_result r;

    (void)state;
    nmctl_serve(&f, x, NM_ARRAY_SIZE(x));
    nmctl_start(&s, argv);
    nmctl_await(s.out, "started");
    (void)kill(s.pid, SIGINT);
    nmctl_await(s.err, "nmctl: Ctrl-C: killing " ID " (repeat to kill at once)\n");
    (void)kill(s.pid, SIGINT);
    nmctl_await(s.err, "nmctl: killing " ID " at once\n");
    (void)kill(s.pid, SIGINT);
    nmctl_finish(&s, &r);
    assert_int_equal(r.status, 130);
    fake_nmd_stop(&f);
}

/* A signal also ends nmctl's wait for an answer of an nmd that hangs. */
static void test_ctrl_c_ends_the_wait_for_an_answer(void **state)
{
    static const struct fake_exchange x[] = {{"POST /v1/containers HTTP", NULL, NULL}};
    const char *const argv[] = {"nmctl", "run", "sleep", "1000", NULL};
    struct nmctl_started s;
    struct fake_nmd f;
    struct nmctl_result r;
    uint64_t end = nm_now_usec() + NMCTL_DEADLINE_USEC;

    (void)state;
    nmctl_serve(&f, x, NM_ARRAY_SIZE(x));
    nmctl_start(&s, argv);
    /* Repeat the signal until nmctl has handled the second signal. A first signal that arrives before nmctl has
     * installed its handler kills nmctl. */
    while (kill(s.pid, SIGTERM) == 0 && nm_now_usec() < end) {
        siginfo_t info = {0};
        if (waitid(P_PID, (id_t)s.pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
            info.si_pid == s.pid)
            break;
        (void)poll(NULL, 0, 20);
    }
    nmctl_finish(&s, &r);
    assert_true(r.status == 128 + SIGTERM || r.status == -SIGTERM);
    if (r.status > 0)
        nmctl_expect(r.err, "interrupted before nmd answered");
    fake_nmd_stop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_verb_checks_its_arguments),
        cmocka_unit_test(test_each_verb_prints_the_answer_of_nmd),
        cmocka_unit_test(test_an_answer_of_another_server_is_refused),
        cmocka_unit_test(test_nmctl_explain_prints_no_outdated_advice),
        cmocka_unit_test(test_nmctl_explain_describes_ends_that_nmd_did_not_cause),
        cmocka_unit_test(test_nmctl_explain_describes_the_placement_of_a_container),
        cmocka_unit_test(test_nmctl_status_shows_application_masters),
        cmocka_unit_test(test_nmctl_status_shows_auxiliary_services),
        cmocka_unit_test(test_a_noun_is_singular_only_after_one),
        cmocka_unit_test(test_nmctl_status_names_the_request_of_the_queue_head),
        cmocka_unit_test(test_each_verb_sends_the_right_request),
        cmocka_unit_test(test_nmctl_reload_prints_the_result),
        cmocka_unit_test(test_nmctl_run_returns_the_exit_status_of_the_command),
        cmocka_unit_test(test_nmctl_run_sends_the_requested_resources),
        cmocka_unit_test(test_nmctl_run_by_root_sends_the_user_root),
        cmocka_unit_test(test_nmctl_run_reports_a_refused_container),
        cmocka_unit_test(test_nmctl_run_reports_that_its_container_is_queued),
        cmocka_unit_test(test_each_ctrl_c_leads_to_the_next_step_of_nmctl_run),
        cmocka_unit_test(test_ctrl_c_ends_the_wait_for_an_answer),
    };

    (void)setenv("LC_ALL", "C", 1);
    (void)unsetenv("NMD_SOCKET");
    (void)unsetenv("COLUMNS");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
