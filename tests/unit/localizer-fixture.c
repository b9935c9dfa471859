/* SPDX-License-Identifier: Apache-2.0 */

/* See localizer-fixture.h. */

#include "tests/unit/localizer-fixture.h"

#include <errno.h>

#include "tests/unit/remove-tree.h"
#include "util/fileio.h"

char *print(const char *format, ...)
{
    va_list ap;
    char *s;

    va_start(ap, format);
    assert_true(vasprintf(&s, format, ap) >= 0);
    va_end(ap);
    return s;
}

void start(struct fixture *w)
{
    assert_int_equal(nm_localizer_new(&w->params, &w->localizer), 0);
    nm_localizer_allow_removals(w->localizer);
}

uid_t worker_uid(void)
{
    return geteuid() == 0 ? NOBODY : geteuid();
}

#define SCRIPT \
    "log=$1/log; case ${2#x:} in " \
    "hang*) echo $$ >>$log; exec sleep 1000;; " \
    "grow*) for i in $(seq ${2##*-}); do echo $i >>$3.part; sleep 1; done; mv $3.part $3;; " \
    "bad*) echo bad >>$log; echo broken >&2; exit 1;; " \
    "*) echo fetched >>$log; head -c ${2##*-} /dev/zero >$3; sleep 0.3;; esac"

int fixture_set_up(void **state)
{
    struct fixture *w = calloc(1, sizeof *w);
    _cleanup_close_ int log = -EBADF;

    assert_non_null(w);
    (void)strcpy(w->root, "/tmp/nmd-test-loclzr.XXXXXX");
    assert_non_null(mkdtemp(w->root));
    assert_int_equal(chmod(w->root, 0711), 0);
    w->root_fd = open(w->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(mkdirat(w->root_fd, "local", 0755), 0);
    assert_int_equal(mkdirat(w->root_fd, "state", 0700), 0);
    log = openat(w->root_fd, "log", O_CREAT | O_WRONLY | O_CLOEXEC, 0666);
    assert_int_equal(fchmod(log, 0666), 0);
    w->local = print("%s/local", w->root);
    w->state = print("%s/state", w->root);
    assert_true(sd_event_new(&w->event) >= 0);
    w->settings = json_pack("{s:{s:[sssssss]}, s:{s:i}}", "commands", "x", "sh", "-c", SCRIPT, "sh", w->root, "{uri}",
                            "{target}", "limits", "attempts", 1);
    assert_non_null(w->settings);
    w->params = (struct nm_localizer_params){
        .event = w->event,
        .program = "./nm-localizer",
        .local_dir = w->local,
        .state_dir = w->state,
        .boot_id = "boot",
        .public_uid = worker_uid(),
        .public_gid = geteuid() == 0 ? NOBODY : getegid(),
        .cache_max_bytes = 1000,
        .max_workers = 3,
        .worker_max_bytes = UINT64_MAX, /* sanitizers map large address ranges */
        .settings = w->settings,
    };
    start(w);
    *state = w;
    return 0;
}

int fixture_tear_down(void **state)
{
    struct fixture *w = *state;

    (void)nm_localizer_free(w->localizer);
    (void)sd_event_unref(w->event);
    json_decref(w->settings);
    (void)remove_tree(w->root);
    (void)close(w->root_fd);
    free(w->local);
    free(w->state);
    free(w);
    return 0;
}

void on_progress(struct nm_localizer_request *request, const struct nm_localizer_progress *progress, void *userdata)
{
    struct owner *o = userdata;

    assert_ptr_equal(request, o->request);
    assert_true(progress->n_done < progress->n);
    o->progress++;
}

void on_ended(struct nm_localizer_request *request, int result, const char *message, void *userdata)
{
    struct owner *o = userdata;

    assert_ptr_equal(request, o->request);
    o->ended++;
    o->result = result;
    (void)snprintf(o->message, sizeof o->message, "%s", message ? message : "");
}

int ask_as(struct fixture *w, const char *name, uid_t uid, struct owner *o, enum nm_visibility visibility,
           const char *const *uris, size_t n)
{
    const struct nm_localizer_user user = {
        .name = name, .application = "application_1_0001", .uid = uid, .gid = w->params.public_gid};
    const struct nm_localizer_listener listener = {.progress = on_progress, .ended = on_ended, .userdata = o};
    struct nm_localizer_resource resources[4];

    assert_true(n <= NM_ARRAY_SIZE(resources));
    for (size_t i = 0; i < n; i++)
        resources[i] = (struct nm_localizer_resource){.visibility = visibility,
                                                      .uri = uris[i],
                                                      .type = "FILE",
                                                      .name = uris[i] + strlen("x:")};
    return nm_localizer_request(w->localizer, &user, resources, n, &listener, &o->request);
}

int try_ask(struct fixture *w, struct owner *o, enum nm_visibility visibility, const char *const *uris, size_t n)
{
    return ask_as(w, "alice", worker_uid(), o, visibility, uris, n);
}

void ask(struct fixture *w, struct owner *o, const char *uri)
{
    *o = (struct owner){0};
    assert_int_equal(try_ask(w, o, NM_VISIBILITY_PRIVATE, &uri, 1), 0);
    assert_int_equal(o->ended, 0); /* ended() is not called from within nm_localizer_request() */
}

void give_back(struct owner *o)
{
    o->request = nm_localizer_request_free(o->request);
}

unsigned count_log(struct fixture *w)
{
    char text[4096];
    unsigned n = 0;

    assert_int_equal(nm_read_file_at(w->root_fd, "log", text, sizeof text, NULL), 0);
    for (const char *p = text; (p = strchr(p, '\n')); p++)
        n++;
    return n;
}

bool exists(struct fixture *w, const char *name)
{
    return faccessat(w->root_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

bool has_written_pid(struct fixture *w, pid_t *pid)
{
    char text[4096];

    assert_int_equal(nm_read_file_at(w->root_fd, "log", text, sizeof text, NULL), 0);
    *pid = (pid_t)strtol(text, NULL, 10);
    return *pid > 0;
}
