/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Uploads as nmd runs them: real processes of the containers' user, real files, and a real launcher that removes the
 * local logs. The uploader is this test itself, which a process of nmd runs under another name: it notes its work in
 * the remote directory, and succeeds or fails as files in this directory require.
 */

#include "launcher-fixture.h"
#include "tests/unit/remove-tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <syslog.h>
#include <unistd.h>

#include <jansson.h>

#include "tests/unit/fail-nth.h"
#include "util/error.h"
#include "util/fileio.h"
#include "yarn/logs/logs-state.h"

#define SUBMITTER "alice"
#define FIRST "container_1700000000000_0001_01_000001"
#define SECOND "container_1700000000000_0001_01_000002"

struct uploads {
    struct fixture *w;
    struct nm_yarn_logs *logs;
    unsigned n_changes;
    uint64_t silent_usec;
};

static char event_text[700], log_text[700];

/* ---- the uploader ------------------------------------------------------------------------- */

/* Appends a line to a file in the remote directory, which the test reads. */
static void note(const char *remote, const char *name, const char *line)
{
    _cleanup_free_ char *path = nm_strdup_printf("%s/%s", remote, name);
    FILE *f = fopen(path, "ae");

    if (f) {
        (void)fprintf(f, "%s\n", line);
        (void)fclose(f);
    }
}

static bool has_word(const char *remote, const char *word)
{
    _cleanup_free_ char *path = nm_strdup_printf("%s/%s", remote, word);

    return access(path, F_OK) == 0;
}

/* Writes the names of the containers, with "+" for a running one. */
static void note_containers(const char *remote, const json_t *work)
{
    _cleanup_free_ char *line = NULL;
    char text[2000] = "";
    size_t i;
    json_t *c;

    json_array_foreach(json_object_get(work, "containers"), i, c)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), " %d%s",
                       atoi(strrchr(json_string_value(json_object_get(c, "id")), '_') + 1),
                       json_is_true(json_object_get(c, "running")) ? "+" : "");
    line = nm_strdup_printf("%jd%s%s%s uid %d", (intmax_t)json_integer_value(json_object_get(work, "upload_msec")),
                            json_is_true(json_object_get(work, "abandoned")) ? " abandoned" : "",
                            json_is_true(json_object_get(work, "final")) ? " final" : "", text, (int)getuid());
    note(remote, "uploads", line);
}

/* Prints the result of an upload, as the files in the remote directory require. */
static void print_result(const char *remote)
{
    if (has_word(remote, "silent"))
        for (;;)
            (void)pause();
    if (has_word(remote, "forge")) {
        puts("{\"state\":\"done\",\"bytes\":9223372036854775807,\"files\":131072,\"name\":\"h_1\"}");
        return;
    }
    if (has_word(remote, "crash"))
        (void)raise(SIGKILL);
    if (has_word(remote, "refuse"))
        puts("{\"state\":\"failed\",\"error\":\"permission denied\",\"temporary\":false,\"full\":false}");
    else if (has_word(remote, "fail"))
        puts("{\"state\":\"failed\",\"error\":\"the quota is exceeded\",\"temporary\":true,\"full\":true}");
    else
        puts("{\"state\":\"done\",\"bytes\":10,\"files\":2,\"name\":\"h_1\"}");
}

static void do_work(const json_t *work, const char *remote)
{
    if (!json_is_true(json_object_get(work, "prepare"))) {
        note_containers(remote, work);
        puts("nonsense");
        puts("{\"state\":\"uploading\",\"bytes\":5,\"total\":10}");
        (void)fflush(stdout);
        print_result(remote);
        return;
    }
    note(remote, "prepared", "x");
    if (has_word(remote, "away"))
        puts("{\"state\":\"failed\",\"error\":\"no name node answers\",\"temporary\":true,\"full\":false}");
    else
        puts("{\"state\":\"done\",\"bytes\":0,\"files\":0,\"name\":\"\"}");
}

static int run_uploader(void)
{
    json_t *work = json_loadf(stdin, 0, NULL);
    const char *remote = json_string_value(json_object_get(work, "remote"));

    if (remote && strncmp(remote, "file://", 7) == 0)
        do_work(work, remote + 7);
    json_decref(work);
    return 0;
}

/* ---- fixture ------------------------------------------------------------------------------ */

static void on_report(int level, const char *sentence)
{
    assert_true(level <= LOG_INFO);
    (void)snprintf(log_text, sizeof log_text, "%s", sentence);
}

static void on_node_event(int level, const char *sentence, void *userdata)
{
    (void)userdata;
    assert_int_equal(level, LOG_WARNING);
    (void)snprintf(event_text, sizeof event_text, "%s", sentence);
}

static void on_change(void *userdata)
{
    ((struct uploads *)userdata)->n_changes++;
}

/* Starts log aggregation as nmd does. */
static void begin(struct uploads *u)
{
    char state[PATH_MAX];
    const struct nm_yarn_logs_params p = {
        .event = u->w->event, .settings = u->w->settings, .launcher = u->w->launcher, .program = "/proc/self/exe",
        .state_dir = state, .report_cb = on_report, .on_event = on_node_event, .on_change = on_change, .userdata = u,
        .silent_usec = u->silent_usec};
    char *message = NULL;

    (void)snprintf(state, sizeof state, "%s/state", u->w->root);
    if (nm_yarn_logs_new(&p, &u->logs, &message) < 0)
        fail_msg("%s", message ?: "no message");
    nm_yarn_logs_set_address(u->logs, "h", 1);
}

/* Starts with these properties. */
static void begin_with(struct uploads *u, const char *more)
{
    _cleanup_free_ char *text =
        nm_strdup_printf("<property><name>yarn.log-aggregation-enable</name><value>true</value></property>"
                         "<property><name>yarn.nodemanager.remote-app-log-dir</name><value>file:%s/remote</value>"
                         "</property>%s", u->w->root, more);

    assert_int_equal(mkdirat(u->w->root_fd, "remote", 0777), 0);
    assert_int_equal(fchmodat(u->w->root_fd, "remote", 01777, 0), 0);
    start(u->w, text);
    begin(u);
}

/* Ends nmd as kill -9 does, except that its processes end here, too, and starts the next nmd. */
static void restart(struct uploads *u)
{
    char *message = NULL;

    u->logs = nm_yarn_logs_free(u->logs);
    u->w->launcher = nm_yarn_launcher_free(u->w->launcher);
    if (try_start(u->w, &message) < 0)
        fail_msg("%s", message ?: "no message");
    begin(u);
}

static int set_up_uploads(void **state)
{
    struct uploads *u = calloc(1, sizeof *u);
    void *w;

    assert_non_null(u);
    assert_int_equal(set_up(&w), 0);
    u->w = w;
    *event_text = *log_text = '\0';
    *state = u;
    return 0;
}

static int tear_down_uploads(void **state)
{
    struct uploads *u = *state;
    void *w = u->w;

    u->logs = nm_yarn_logs_free(u->logs);
    free(u);
    return tear_down(&w);
}

/* ---- files -------------------------------------------------------------------------------- */

static void make_dir(struct fixture *w, const char *name)
{
    assert_int_equal(mkdirat(w->root_fd, name, 0755), 0);
    if (geteuid() == 0)
        assert_int_equal(fchownat(w->root_fd, name, w->uid, w->gid, 0), 0);
}

/* Makes the logs of both containers. */
static void make_logs(struct fixture *w)
{
    make_dir(w, "logs/" APPLICATION);
    make_dir(w, "logs/" APPLICATION "/" FIRST);
    make_dir(w, "logs/" APPLICATION "/" SECOND);
}

static void set_word(struct fixture *w, const char *word, bool is_set)
{
    _cleanup_free_ char *name = nm_strdup_printf("remote/%s", word);

    if (is_set)
        assert_int_equal(close(openat(w->root_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644)), 0);
    else
        assert_int_equal(unlinkat(w->root_fd, name, 0), 0);
}

static unsigned count_lines(const struct fixture *w, const char *name)
{
    char text[8000] = "";
    unsigned n = 0;

    (void)nm_read_file_at(w->root_fd, name, text, sizeof text, NULL);
    for (const char *p = text; *p; p++)
        n += *p == '\n';
    return n;
}

static bool has_text(const struct fixture *w, const char *name, const char *part)
{
    char text[8000] = "";

    (void)nm_read_file_at(w->root_fd, name, text, sizeof text, NULL);
    return strstr(text, part);
}

/* ---- containers --------------------------------------------------------------------------- */

static struct nm_yarn_log_container of(const struct uploads *u, int64_t number, const char *text)
{
    return (struct nm_yarn_log_container){
        .id = {{{1700000000000, 1}, 1}, number}, .text = text, .submitter = SUBMITTER, .account = u->w->user,
        .is_master = number == 1, .launch = &u->w->context};
}

static void run_containers(struct uploads *u)
{
    const struct nm_yarn_log_container first = of(u, 1, FIRST), second = of(u, 2, SECOND);

    nm_yarn_logs_begin_container(u->logs, &first);
    nm_yarn_logs_begin_container(u->logs, &second);
    nm_yarn_logs_end_container(u->logs, &second, 1, true);
    nm_yarn_logs_end_container(u->logs, &first, 0, true);
}

static void end_application(struct uploads *u)
{
    nm_yarn_launcher_end_application(u->w->launcher, SUBMITTER, APPLICATION);
    nm_yarn_logs_end_application(u->logs, &(struct nm_yarn_application_id){1700000000000, 1});
}

/* Returns a number of the status. */
static int64_t number(const struct uploads *u, const char *name)
{
    json_t *o = nm_yarn_logs_to_json(u->logs, true);
    int64_t n = json_integer_value(json_object_get(o, name));

    assert_non_null(o);
    json_decref(o);
    return n;
}

/* Checks a member of the first application of the status. */
static bool is_shown(const struct uploads *u, const char *name, const char *text)
{
    json_t *o = nm_yarn_logs_to_json(u->logs, true);
    const char *shown = json_string_value(json_object_get(json_array_get(json_object_get(o, "applications"), 0), name));
    bool is_equal = shown && nm_streq(shown, text);

    json_decref(o);
    return is_equal;
}

/* Sends a heartbeat, and checks the statuses that it contains. */
static void check_reports(struct uploads *u, const char *statuses)
{
    Yarn__HeartbeatRequest request = YARN__HEARTBEAT_REQUEST__INIT;
    struct nm_arena arena;
    char text[20] = "";

    nm_arena_init(&arena, NM_MIB, NULL);
    assert_int_equal(nm_yarn_logs_report(u->logs, &arena, &request), 0);
    for (size_t i = 0; i < request.n_log_reports; i++)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%d", (int)request.log_reports[i]->status);
    assert_string_equal(text, statuses);
    nm_arena_done(&arena);
}

/* ---- tests -------------------------------------------------------------------------------- */

static void test_logs_are_removed_after_their_upload(void **state)
{
    struct uploads *u = *state;
    char expected[100];

    begin_with(u, "");
    make_logs(u->w);
    run_containers(u);
    assert_true(is_shown(u, "state", "running"));
    end_application(u);
    RUN_UNTIL(u->w, number(u, "uploaded") == 1);
    assert_int_equal(count_lines(u->w, "remote/uploads"), 1);
    (void)snprintf(expected, sizeof expected, " final 2 1 uid %d", (int)u->w->uid);
    assert_true(has_text(u->w, "remote/uploads", expected));
    assert_int_equal(number(u, "files"), 2);
    assert_int_equal(number(u, "bytes"), 10);
    RUN_UNTIL(u->w, !exists(u->w, "logs/" APPLICATION));
    assert_true(exists(u->w, "state/logs/" APPLICATION));
    check_reports(u, "34");
    nm_yarn_logs_reported(u->logs);
    assert_false(exists(u->w, "state/logs/" APPLICATION));
    check_reports(u, "");
}

static void test_logs_stay_while_uploads_fail(void **state)
{
    struct uploads *u = *state;
    uint64_t end_usec;

    begin_with(u, "<property><name>yarn.nodemanager.log.retain-seconds</name><value>0</value></property>");
    make_logs(u->w);
    set_word(u->w, "fail", true);
    run_containers(u);
    end_application(u);
    RUN_UNTIL(u->w, number(u, "failures") == 1);
    assert_true(is_shown(u, "state", "failing"));
    assert_true(is_shown(u, "error", "the quota is exceeded"));
    assert_non_null(strstr(log_text, "Can't upload the logs of " APPLICATION ": the quota is exceeded"));
    check_reports(u, "7");
    set_word(u->w, "fail", false);
    end_usec = nm_now_usec() + 300 * NM_USEC_PER_MSEC;
    RUN_UNTIL(u->w, nm_now_usec() > end_usec);
    assert_true(exists(u->w, "logs/" APPLICATION "/" FIRST)); /* retain-seconds 0 doesn't remove them */
    restart(u); /* the next nmd tries again at once */
    RUN_UNTIL(u->w, number(u, "uploaded") == 1);
    RUN_UNTIL(u->w, !exists(u->w, "logs/" APPLICATION));
    check_reports(u, "34");
}

static void test_attempts_have_the_same_time(void **state)
{
    struct uploads *u = *state;
    char text[2000] = "", *second;

    begin_with(u, "");
    make_logs(u->w);
    set_word(u->w, "crash", true);
    run_containers(u);
    end_application(u);
    RUN_UNTIL(u->w, number(u, "failures") == 1);
    assert_true(is_shown(u, "error", "nm-log-uploader was killed by signal 9"));
    set_word(u->w, "crash", false);
    restart(u);
    RUN_UNTIL(u->w, number(u, "uploaded") == 1);
    assert_int_equal(nm_read_file_at(u->w->root_fd, "remote/uploads", text, sizeof text, NULL), 0);
    second = strchr(text, '\n') + 1;
    assert_int_equal(strncmp(text, second, strcspn(text, " ") + 1), 0);
}

static void test_a_refused_upload_is_given_up(void **state)
{
    struct uploads *u = *state;

    begin_with(u, "");
    make_logs(u->w);
    set_word(u->w, "refuse", true);
    run_containers(u);
    end_application(u);
    RUN_UNTIL(u->w, number(u, "given_up") == 1);
    assert_non_null(strstr(event_text, "doesn't try again: permission denied. They stay in "));
    check_reports(u, "5");
    assert_int_equal(count_lines(u->w, "remote/uploads"), 2); /* the second attempt removes what the first one left */
    assert_true(has_text(u->w, "remote/uploads", " abandoned final 2 1 uid"));
    assert_int_equal(number(u, "failures"), 1);
    assert_true(exists(u->w, "logs/" APPLICATION "/" FIRST));
    restart(u); /* the end of the logs is saved, and the ResourceManager is informed again */
    check_reports(u, "5");
    nm_yarn_logs_reported(u->logs);
    assert_false(exists(u->w, "state/logs/" APPLICATION));
    assert_true(exists(u->w, "logs/" APPLICATION "/" FIRST));
}

/* Numbers that a process of the user reports can't make the totals of the node useless. */
static void test_totals_are_limited(void **state)
{
    struct uploads *u = *state;
    struct statvfs vfs;

    begin_with(u, "");
    make_logs(u->w);
    set_word(u->w, "forge", true);
    run_containers(u);
    assert_int_equal(fstatvfs(u->w->root_fd, &vfs), 0);
    end_application(u);
    RUN_UNTIL(u->w, number(u, "uploaded") == 1);
    assert_int_equal(number(u, "files"), 131072);
    assert_true((uint64_t)number(u, "bytes") <= (uint64_t)vfs.f_blocks * vfs.f_frsize + 64 * NM_MIB);
}

/* A log directory with errors may have logs. The other logs are uploaded after some attempts, and no logs are removed.
 * The kernel refuses a path with too many links as it refuses one on a failing disk. */
static void test_a_failing_disk_is_not_a_disk_without_logs(void **state)
{
    struct uploads *u = *state;
    const char *dir;

    begin_with(u, "<property><name>nmd.log-aggregation.retry-seconds</name><value>3600</value></property>");
    make_logs(u->w);
    run_containers(u);
    dir = u->w->settings->log_dirs[0];
    assert_int_equal(renameat(u->w->root_fd, "logs", u->w->root_fd, "away"), 0);
    assert_int_equal(symlinkat("logs", u->w->root_fd, "logs"), 0);
    end_application(u);
    RUN_UNTIL(u->w, number(u, "failures") == 1);
    assert_true(is_shown(u, "state", "failing"));
    assert_non_null(strstr(log_text, "can't be read: Too many levels of symbolic links; nmd tries again"));
    assert_non_null(strstr(log_text, dir));
    check_reports(u, "7");
    assert_int_equal(unlinkat(u->w->root_fd, "logs", 0), 0);
    assert_int_equal(renameat(u->w->root_fd, "away", u->w->root_fd, "logs"), 0);
    restart(u);
    RUN_UNTIL(u->w, number(u, "uploaded") == 1);
    assert_true(has_text(u->w, "remote/uploads", " final 2 1 uid"));
}

/* While a disk isn't mounted, the directory at which it was mounted has no logs. If the upload counted as done, the
 * logs would be removed when the disk is back. */
static void test_a_disk_that_is_not_mounted_is_not_a_disk_without_logs(void **state)
{
    struct uploads *u = *state;

    begin_with(u, "");
    make_logs(u->w);
    run_containers(u);
    assert_int_equal(renameat(u->w->root_fd, "logs", u->w->root_fd, "away"), 0);
    assert_int_equal(mkdirat(u->w->root_fd, "logs", 0755), 0);
    end_application(u);
    RUN_UNTIL(u->w, number(u, "failures") == 1);
    assert_non_null(strstr(log_text, "/logs can't be read: it was removed, or its disk isn't mounted; nmd tries"));
    assert_int_equal(number(u, "uploaded"), 0);
    assert_int_equal(unlinkat(u->w->root_fd, "logs", AT_REMOVEDIR), 0);
    assert_int_equal(renameat(u->w->root_fd, "away", u->w->root_fd, "logs"), 0);
    u->logs->books->due_usec = 0; /* the pause between the attempts is longer than this test */
    nm_yarn_logs_wake(u->logs);
    RUN_UNTIL(u->w, number(u, "uploaded") == 1);
    assert_true(has_text(u->w, "remote/uploads", " final 2 1 uid"));
}

/* The disk was away when nmd was restarted, or was replaced by another one, so another directory is at its path. */
static void test_a_disk_that_is_away_at_a_restart_is_not_a_disk_without_logs(void **state)
{
    struct uploads *u = *state;
    _cleanup_free_ char *dir = nm_strdup_printf("%s/logs", u->w->root);
    uint64_t failed_usec;

    begin_with(u, "");
    make_logs(u->w);
    run_containers(u);
    assert_int_equal(renameat(u->w->root_fd, "logs", u->w->root_fd, "away"), 0);
    restart(u);
    assert_true(exists(u->w, "logs"));
    end_application(u);
    RUN_UNTIL(u->w, number(u, "failures") == 1);
    assert_non_null(strstr(log_text, "/logs can't be read: its disk isn't mounted, or was replaced by another one;"));
    assert_int_equal(number(u, "uploaded"), 0);
    assert_int_equal(remove_tree(dir), 0);
    assert_int_equal(renameat(u->w->root_fd, "away", u->w->root_fd, "logs"), 0);
    failed_usec = nm_now_usec();
    RUN_UNTIL(u->w, nm_now_usec() > failed_usec + 2 * NM_USEC_PER_MSEC); /* no disk is checked more often */
    u->logs->books->due_usec = 0; /* the pause between the attempts is longer than this test */
    nm_yarn_logs_wake(u->logs);
    RUN_UNTIL(u->w, number(u, "uploaded") == 1);
    assert_true(has_text(u->w, "remote/uploads", " final 2 1 uid"));
    RUN_UNTIL(u->w, !exists(u->w, "logs/" APPLICATION));
}

/* After several attempts the logs on the other disks are uploaded. */
static void test_logs_on_a_failing_disk_are_given_up(void **state)
{
    struct uploads *u = *state;

    begin_with(u, "");
    make_logs(u->w);
    run_containers(u);
    assert_int_equal(renameat(u->w->root_fd, "logs", u->w->root_fd, "away"), 0);
    assert_int_equal(symlinkat("logs", u->w->root_fd, "logs"), 0);
    end_application(u);
    RUN_UNTIL(u->w, number(u, "failures") == 1);
    u->logs->books->failures = 3; /* the pauses between attempts are longer than this test */
    u->logs->books->due_usec = 0;
    nm_yarn_logs_wake(u->logs);
    RUN_UNTIL(u->w, number(u, "given_up") == 1);
    assert_non_null(strstr(event_text, "/logs can't be read: Too many levels of symbolic links. They stay in "));
    check_reports(u, "735");
}

static void test_a_silent_uploader_is_killed(void **state)
{
    struct uploads *u = *state;

    u->silent_usec = NM_USEC_PER_SEC;
    begin_with(u, "");
    make_logs(u->w);
    set_word(u->w, "silent", true);
    run_containers(u);
    end_application(u);
    RUN_UNTIL(u->w, is_shown(u, "state", "uploading"));
    assert_int_equal(number(u, "running"), 1);
    RUN_UNTIL(u->w, number(u, "failures") == 1);
    assert_true(is_shown(u, "error", "nm-log-uploader reported nothing for 1 seconds, and was killed"));
    assert_int_equal(number(u, "running"), 0);
}

/* While the remote file system is away, one process tries, and no upload begins. */
static void test_a_lost_name_node_costs_one_process(void **state)
{
    struct uploads *u = *state;

    begin_with(u, "");
    make_logs(u->w);
    set_word(u->w, "away", true);
    run_containers(u);
    end_application(u);
    RUN_UNTIL(u->w, number(u, "failures") == 1);
    assert_true(is_shown(u, "error", "no name node answers"));
    assert_non_null(strstr(log_text, "/remote: no name node answers; nmd keeps the logs and tries again"));
    check_reports(u, "7");
    assert_int_equal(count_lines(u->w, "remote/prepared"), 1);
    assert_int_equal(number(u, "attempts"), 0);
    set_word(u->w, "away", false);
    restart(u);
    RUN_UNTIL(u->w, number(u, "uploaded") == 1);
    assert_int_equal(count_lines(u->w, "remote/prepared"), 2);
}

/* An application whose containers wrote no logs here is reported, too, because the ResourceManager waits for it. */
static void test_an_application_without_logs_is_reported(void **state)
{
    struct uploads *u = *state;
    struct nm_yarn_log_container c;

    begin_with(u, "");
    c = of(u, 2, SECOND);
    nm_yarn_logs_begin_container(u->logs, &c);
    nm_yarn_logs_end_container(u->logs, &c, -1000, false);
    end_application(u);
    RUN_UNTIL(u->w, number(u, "uploaded") == 1);
    check_reports(u, "34");
    assert_false(exists(u->w, "remote/uploads"));
    assert_false(exists(u->w, "remote/prepared"));
}

static void test_local_logs_can_be_kept(void **state)
{
    struct uploads *u = *state;

    begin_with(u, "<property><name>yarn.log-aggregation.enable-local-cleanup</name><value>false</value></property>");
    make_logs(u->w);
    run_containers(u);
    end_application(u);
    RUN_UNTIL(u->w, number(u, "uploaded") == 1);
    RUN_UNTIL(u->w, !exists(u->w, "local/usercache/alice@corp$/appcache/" APPLICATION));
    assert_true(exists(u->w, "logs/" APPLICATION "/" FIRST));
    assert_true(exists(u->w, "state/ended/" APPLICATION)); /* who may read them */
}

/* The running container's files are uploaded at each interval, and those of the ended one once. */
static void test_running_applications_are_uploaded(void **state)
{
    static const uint8_t context[] = {0x1a, 2, '.', '*'}; /* rolled_include: ".*" */
    struct uploads *u = *state;
    struct nm_yarn_log_container first, second;

    begin_with(u, "<property><name>yarn.nodemanager.log-aggregation.roll-monitoring-interval-seconds</name><value>1"
                  "</value></property><property><name>yarn.nodemanager.log-aggregation.roll-monitoring-interval-seconds"
                  ".min</name><value>1</value></property>");
    make_logs(u->w);
    first = of(u, 1, FIRST);
    second = of(u, 2, SECOND);
    first.context = second.context = (struct nm_bytes){context, sizeof context};
    nm_yarn_logs_begin_container(u->logs, &first);
    nm_yarn_logs_begin_container(u->logs, &second);
    nm_yarn_logs_end_container(u->logs, &second, 0, true);
    RUN_UNTIL(u->w, number(u, "files") >= 4);
    assert_true(has_text(u->w, "remote/uploads", " 2 1+ uid"));
    assert_true(has_text(u->w, "remote/uploads", "\n") && has_text(u->w, "remote/uploads", " 1+ uid"));
    assert_true(exists(u->w, "logs/" APPLICATION "/" SECOND)); /* a cycle removes nothing */
    nm_yarn_logs_end_container(u->logs, &first, 0, true);
    end_application(u);
    RUN_UNTIL(u->w, number(u, "uploaded") == 1);
    assert_true(has_text(u->w, "remote/uploads", " final 1 uid"));
    assert_false(has_text(u->w, "remote/uploads", " final 2"));
    check_reports(u, "34");
}

/* An application that ended while nmd was not running has no containers, and the node doesn't have it. */
static bool has_none(void *userdata, const struct nm_yarn_application_id *id)
{
    (void)userdata, (void)id;
    return false;
}

static void test_an_end_during_a_restart_is_noticed(void **state)
{
    struct uploads *u = *state;

    begin_with(u, "");
    make_logs(u->w);
    run_containers(u);
    restart(u);
    assert_int_equal(number(u, "waiting"), 0);
    nm_yarn_logs_end_strays(u->logs, has_none, NULL);
    RUN_UNTIL(u->w, number(u, "uploaded") == 1);
    assert_true(has_text(u->w, "remote/uploads", " final 2 1 uid"));
}

/* Each failure of a start ends it without a trace, and the saved state stays. */
static void try_to_begin(void *userdata)
{
    struct uploads *u = userdata;
    char state[PATH_MAX];
    const struct nm_yarn_logs_params p = {
        .event = u->w->event, .settings = u->w->settings, .launcher = u->w->launcher, .program = "/proc/self/exe",
        .state_dir = state, .report_cb = on_report, .on_event = on_node_event, .on_change = on_change, .userdata = u};
    struct nm_yarn_logs *logs = NULL;
    _cleanup_free_ char *message = NULL;
    int r;

    (void)snprintf(state, sizeof state, "%s/state", u->w->root);
    r = nm_yarn_logs_new(&p, &logs, &message);
    assert_true((r == 0) == (logs != NULL));
    nm_yarn_logs_free(logs);
}

static void test_a_failed_start_changes_nothing(void **state)
{
    struct uploads *u = *state;

    begin_with(u, "");
    make_logs(u->w);
    run_containers(u);
    u->logs = nm_yarn_logs_free(u->logs);
    assert_true(fail_each_of(FAIL_MEMORY | FAIL_OPEN | FAIL_EVENT, try_to_begin, u) > 10);
    begin(u);
    end_application(u);
    RUN_UNTIL(u->w, number(u, "uploaded") == 1);
    assert_true(has_text(u->w, "remote/uploads", " final 2 1 uid"));
}

static void test_a_missing_uploader_is_refused(void **state)
{
    _cleanup_free_ char *message = NULL;

    (void)state;
    assert_int_equal(nm_yarn_logs_check("/nonexistent/nm-log-uploader", &message), -ENOENT);
    assert_string_equal(message, "Can't upload the logs of containers with /nonexistent/nm-log-uploader: No such file "
                                 "or directory");
    assert_int_equal(nm_yarn_logs_check("/proc/self/exe", &message), 0);
}

#define UPLOADS(test) cmocka_unit_test_setup_teardown(test, set_up_uploads, tear_down_uploads)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        UPLOADS(test_logs_are_removed_after_their_upload),
        UPLOADS(test_logs_stay_while_uploads_fail),
        UPLOADS(test_attempts_have_the_same_time),
        UPLOADS(test_a_refused_upload_is_given_up),
        UPLOADS(test_totals_are_limited),
        UPLOADS(test_a_failing_disk_is_not_a_disk_without_logs),
        UPLOADS(test_a_disk_that_is_not_mounted_is_not_a_disk_without_logs),
        UPLOADS(test_a_disk_that_is_away_at_a_restart_is_not_a_disk_without_logs),
        UPLOADS(test_logs_on_a_failing_disk_are_given_up),
        UPLOADS(test_a_silent_uploader_is_killed),
        UPLOADS(test_a_lost_name_node_costs_one_process),
        UPLOADS(test_an_application_without_logs_is_reported),
        UPLOADS(test_local_logs_can_be_kept),
        UPLOADS(test_running_applications_are_uploaded),
        UPLOADS(test_an_end_during_a_restart_is_noticed),
        UPLOADS(test_a_failed_start_changes_nothing),
        cmocka_unit_test(test_a_missing_uploader_is_refused),
    };

    if (argc > 0 && nm_streq(argv[0], "nm-log-uploader"))
        return run_uploader();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
