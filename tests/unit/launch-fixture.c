/* SPDX-License-Identifier: Apache-2.0 */

/* See launch-fixture.h. */

#include "tests/unit/launch-fixture.h"

#include <errno.h>
#include <poll.h>
#include <pwd.h>
#include <sys/stat.h>

#include "tests/unit/remove-tree.h"
#include "util/clock.h"
#include "util/fileio.h"

static int open_shim(const struct fixture *w)
{
    return open(w->shim ?: getenv("NMD_SHIM") ?: NM_TEST_SHIM, O_PATH | O_CLOEXEC);
}

int set_up(void **state)
{
    struct fixture *w = calloc(1, sizeof *w);

    strcpy(w->root, "/tmp/nm-test-launch-XXXXXX");
    if (!mkdtemp(w->root) || chmod(w->root, 0755) < 0)
        return -1;
    (void)snprintf(w->dir, sizeof w->dir, "%s/c/1", w->root);
    (void)snprintf(w->logs, sizeof w->logs, "%s/l/1", w->root);
    w->cgroup_fd = -EBADF;
    w->command = (struct nm_command){
        .argv = w->argv,
        .env = w->env,
        .workdir = (char *)"",
        .uid = geteuid(),
        .gid = getegid(),
        .no_new_privs = true,
    };
    w->command.user = strdup(getpwuid(geteuid()) ? getpwuid(geteuid())->pw_name : "0");
    *state = w;
    return sd_event_new(&w->event);
}

int tear_down(void **state)
{
    struct fixture *w = *state;

    nm_launch_free(w->launch);
    nm_spawner_free(w->spawner);
    sd_event_unref(w->event);
    if (*w->cgroup) {
        char path[192];

        (void)snprintf(path, sizeof path, "%s/cgroup.kill", w->cgroup);
        (void)nm_write_file_at(AT_FDCWD, path, "1");
        for (int i = 0; i < 1000 && rmdir(w->cgroup) < 0 && errno == EBUSY; i++)
            (void)poll(NULL, 0, 5);
    }
    (void)remove_tree(w->root);
    free(w->command.user);
    free(w);
    return 0;
}

void on_launch(struct nm_launch *l, enum nm_launch_phase phase, const struct nm_launch_record *r,
               void *userdata)
{
    struct fixture *w = userdata;

    assert_true(!w->launch || l == w->launch);
    assert_int_equal(w->n_ended, 0);
    if (phase == NM_LAUNCH_STARTED) {
        assert_non_null(r);
        w->n_started++;
        w->started = *r;
    } else {
        w->n_ended++;
        w->without_record = !r;
        if (r)
            w->ended = *r;
    }
}

int launch(struct fixture *w)
{
    _cleanup_close_ int shim = open_shim(w);
    const struct nm_launch_params p = {
        .spawner = w->spawner,
        .shim_fd = shim,
        .cgroup_fd = w->cgroup_fd,
        .container_dir = w->dir,
        .log_dir = w->logs,
        .container_id = w->id ?: "container_1_000001",
        .command = &w->command,
        .oom_score_adj = w->oom_score_adj,
        .input_fd = w->input_fd,
        .rows = w->rows,
        .columns = w->columns,
        .confine = w->confine,
        .output_max_bytes = w->output_max_bytes,
        .private_ipc = w->confine,
        .event = w->event,
    };

    return nm_launch_new(&p, on_launch, w, &w->launch);
}

void free_launch(struct fixture *w)
{
    w->launch = nm_launch_free(w->launch);
}

/* Runs the loop until *counter is not zero. */
void wait_for(struct fixture *w, const unsigned *counter)
{
    uint64_t until = nm_now_usec() + DEADLINE_USEC;

    while (*counter == 0) {
        if (nm_now_usec() > until)
            fail_msg("the shim has sent no event in time");
        assert_true(sd_event_run(w->event, 100000) >= 0);
    }
}

void run(struct fixture *w)
{
    assert_int_equal(launch(w), 0);
    assert_int_equal(nm_launch_open_gate(w->launch), 0);
    wait_for(w, &w->n_ended);
}

void assert_nothing_written(const struct fixture *w)
{
    struct stat st;
    char path[128];

    (void)snprintf(path, sizeof path, "%s/stdout", w->logs);
    assert_true(stat(path, &st) < 0 ? errno == ENOENT : st.st_size == 0);
}

/* Returns the command's output in a static buffer. */
const char *output(const struct fixture *w, const char *stream)
{
    static char buf[65536];
    char path[128];

    (void)snprintf(path, sizeof path, "%s/%s", w->logs, stream);
    assert_int_equal(nm_read_file_at(AT_FDCWD, path, buf, sizeof buf, NULL), 0);
    return buf;
}

void use_user(struct fixture *w, const char *name)
{
    const struct passwd *pw = getpwnam(name);

    if (geteuid() != 0 || !pw)
        skip();
    free(w->command.user);
    w->command.user = strdup(name);
    w->command.uid = pw->pw_uid;
    w->command.gid = pw->pw_gid;
}

void wait_until_dead(pid_t pid)
{
    uint64_t until = nm_now_usec() + DEADLINE_USEC;
    char path[32], text[1024];

    (void)snprintf(path, sizeof path, "/proc/%d/stat", pid);
    /* A zombie counts as dead, since PID 1 may never reap it. */
    while (nm_read_file_at(AT_FDCWD, path, text, sizeof text, NULL) == 0 && !strstr(text, ") Z ")) {
        assert_true(nm_now_usec() < until);
        (void)poll(NULL, 0, 5);
    }
}
