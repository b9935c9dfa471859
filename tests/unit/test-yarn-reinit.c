/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Requests of YARN's services for a running container, on a whole manager with real journal, shims and commands. The
 * test replaces the launcher: resources are available when the test says so.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <time.h>

#include "tests/unit/fail-nth.h"
#include "tests/unit/fake-launcher.h"
#include "tests/unit/yarn-tokens.h"
#include "cgroup/backend-fake.h"
#include "yarn/node/node-state.h"
#include "util/clock.h"

#define SLEEPS "exec sleep 1000"
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, manager_world_tear_down_real)

static int set_up(void **state)
{
    if (manager_world_set_up_real(state) < 0)
        return -1;
    manager_world_start(*state);
    fake_launcher_reset();
    return 0;
}

/* ---- one container ------------------------------------------------------------------------ */

/* A launch context with a command and resources with these names. */
struct context {
    Yarn__LaunchContext context;
    char *command;
    Yarn__NamedResource resources[4], *list[4];
    Yarn__LocalResource value;
};

static Yarn__LaunchContext *make(struct context *c, const char *command, const char *const *names)
{
    c->context = (Yarn__LaunchContext)YARN__LAUNCH_CONTEXT__INIT;
    c->value = (Yarn__LocalResource)YARN__LOCAL_RESOURCE__INIT;
    c->command = (char *)(uintptr_t)command;
    c->context.command = &c->command;
    c->context.n_command = command != NULL;
    c->context.resources = c->list;
    for (size_t i = 0; names && names[i]; i++) {
        c->resources[i] = (Yarn__NamedResource)YARN__NAMED_RESOURCE__INIT;
        c->resources[i].key = (char *)(uintptr_t)names[i];
        c->resources[i].value = &c->value;
        c->list[i] = &c->resources[i];
        c->context.n_resources = i + 1;
    }
    return &c->context;
}

struct one {
    struct manager_world *w;
    struct nm_yarn_node *n;
    struct nm_live_container *l;
    struct tokens_id ids;
    struct nm_exception why;
};

static bool is_running(const struct nm_live_container *l)
{
    return l->c->view.state == NM_RUNNING && !l->c->rerun && l->c->pid > 0;
}

static bool is_new(const struct nm_live_container *l)
{
    return l->c->view.state == NM_NEW;
}

static void make_ready(struct one *o)
{
    assert_non_null(fake_launcher.newest);
    fake_launcher.newest->listener.ended(fake_launcher.newest, 0, NULL, fake_launcher.newest->listener.userdata);
    manager_world_wait(o->w, o->l, is_running);
}

static void start(struct one *o, struct manager_world *w, bool opportunistic, const char *command)
{
    static const char *const names[] = {"a", "b", NULL};
    uint8_t bytes[512];
    struct context c;
    size_t size;

    *o = (struct one){.w = w, .n = fake_launcher_node(w)};
    tokens_ids(&o->ids, 1, 1, 5);
    o->ids.token = (Hadoop__ContainerTokenIdentifier)HADOOP__CONTAINER_TOKEN_IDENTIFIER__INIT;
    o->ids.token.container = &o->ids.container;
    o->ids.token.node_address = (char *)(uintptr_t) "node07:4711";
    o->ids.token.submitter = (char *)(uintptr_t) "alice";
    o->ids.resource = (Hadoop__Resource)HADOOP__RESOURCE__INIT;
    o->ids.resource.has_memory = o->ids.resource.has_vcores = 1;
    o->ids.resource.memory = 64;
    o->ids.resource.vcores = 1;
    o->ids.token.resource = &o->ids.resource;
    o->ids.token.has_execution_type = 1;
    o->ids.token.execution_type = opportunistic ? HADOOP__CONTAINER_TOKEN_IDENTIFIER__EXECUTION_TYPE__OPPORTUNISTIC
                                                : HADOOP__CONTAINER_TOKEN_IDENTIFIER__EXECUTION_TYPE__GUARANTEED;
    size = hadoop__container_token_identifier__pack(&o->ids.token, bytes);
    assert_int_equal(nm_yarn_node_start(o->n, (struct nm_bytes){bytes, size}, &o->ids.token, make(&c, command, names),
                                        &o->why), 0);
    o->l = w->m->lives.all[0];
    make_ready(o);
}

static int reinit(struct one *o, Yarn__LaunchContext *context, bool auto_commit)
{
    Yarn__ReinitializeRequest r = YARN__REINITIALIZE_REQUEST__INIT;

    r.id = &o->ids.container;
    r.context = context;
    r.has_auto_commit = 1;
    r.auto_commit = auto_commit;
    return nm_yarn_node_reinitialize(o->n, &r, &o->why);
}

static int localize(struct one *o, Yarn__LaunchContext *context)
{
    Yarn__LocalizeRequest r = YARN__LOCALIZE_REQUEST__INIT;

    r.id = &o->ids.container;
    r.resources = context->resources;
    r.n_resources = context->n_resources;
    return nm_yarn_node_localize(o->n, &r, &o->why);
}

static void fetched(int result)
{
    struct nm_yarn_preparation *p = fake_launcher.newest;

    assert_non_null(p);
    p->failed = result < 0;
    p->listener.ended(p, result, result < 0 ? "There is no such file." : NULL, p->listener.userdata);
}

/* Ends the running command: by a signal, or when it exits by itself. */
static void let_end(struct one *o, bool by_force)
{
    if (by_force)
        (void)kill(o->l->c->pid, SIGKILL);
    manager_world_wait(o->w, o->l, manager_world_shim_is_gone);
    assert_int_equal(nm_fake_set_events(o->l->cg, false, false), 0);
    manager_world_settle(o->w);
}

static void runs_again(struct one *o, const char *command)
{
    let_end(o, true);
    manager_world_wait(o->w, o->l, is_new);
    assert_false(fake_launcher.newest->is_running || fake_launcher.newest->links);
    assert_int_equal(fake_launcher.n_preparations, 1);
    assert_string_equal(fake_launcher.newest->context->command[0], command);
    make_ready(o);
    assert_string_equal(o->l->c->command.argv[2], command);
}

static Yarn__ContainerStatus *status(struct one *o, struct nm_arena *arena)
{
    Yarn__ContainerStatus *s = NULL;

    nm_arena_init(arena, 1 << 20, NULL);
    assert_int_equal(nm_yarn_node_status(o->n, &o->ids.container, arena, &s, &o->why), 0);
    return s;
}

static void assert_said(struct one *o, int32_t sub_state, const char *words)
{
    struct nm_arena arena;
    const Yarn__ContainerStatus *s = status(o, &arena);

    assert_int_equal(s->state, 2);
    assert_int_equal(s->sub_state, sub_state);
    if (!strstr(s->diagnostics, words))
        fail_msg("'%s' isn't in '%s'", words, s->diagnostics);
    nm_arena_done(&arena);
}

static void assert_ended(struct one *o, int32_t exit_status, const char *words)
{
    struct nm_arena arena;
    const Yarn__ContainerStatus *s = status(o, &arena);

    assert_int_equal(s->state, 3);
    assert_int_equal(s->exit_status, exit_status);
    if (!strstr(s->diagnostics, words))
        fail_msg("'%s' isn't in '%s'", words, s->diagnostics);
    nm_arena_done(&arena);
}

/* expected: for instance "a=2 b=2" */
static void assert_localized(struct one *o, const char *expected)
{
    Yarn__ContainerLocalization *all;
    struct nm_arena arena;
    char text[200] = "";

    nm_arena_init(&arena, 1 << 20, NULL);
    assert_int_equal(nm_yarn_node_localization(o->n, &o->ids.container, &arena, &all, &o->why), 0);
    for (size_t i = 0; i < all->n_statuses; i++)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s=%d", i ? " " : "", all->statuses[i]->key,
                       (int)all->statuses[i]->state);
    assert_string_equal(text, expected);
    nm_arena_done(&arena);
}

/* ---- tests -------------------------------------------------------------------------------- */

static void test_restart(void **state)
{
    struct one o;
    pid_t pid;

    start(&o, *state, false, SLEEPS);
    pid = o.l->c->pid;
    assert_int_equal(nm_yarn_node_restart(o.n, &o.ids.container, &o.why), 0);
    assert_said(&o, 1, "Container will be Restarted.");
    assert_int_equal(nm_yarn_node_restart(o.n, &o.ids.container, &o.why), NM_YARN_REFUSED);
    assert_non_null(strstr(o.why.message, "Cannot perform RE_INIT on [container_1410901177871_0001_01_000005]. Current "
                           "state is [REINITIALIZING_AWAITING_KILL, isReInitializing=true]. Container Execution Type "
                           "is [GUARANTEED]."));
    runs_again(&o, SLEEPS);
    assert_true(o.l->c->pid != pid);
    assert_said(&o, 2, "Restarted");
    assert_localized(&o, "a=2 b=2");
    nm_yarn_node_free(o.n);
}

/* Fails the newest preparation. The container keeps running during a re-initialization, and keeps its resources when
 * that fails. */
static void fail_preparation(void)
{
    struct nm_yarn_preparation *p = fake_launcher.newest;

    p->failed = true;
    p->listener.ended(p, -EROFS, "The disk is read-only.", p->listener.userdata);
}

/* The disk of the container's directories has failed. The container gets other directories once per start, and a
 * restarted nmd knows them. */
static void test_restart_elsewhere(void **state)
{
    struct manager_world *w = *state;
    struct one o;

    start(&o, w, false, SLEEPS);
    assert_int_equal(nm_yarn_node_restart(o.n, &o.ids.container, &o.why), 0);
    let_end(&o, true);
    manager_world_wait(w, o.l, is_new);
    fake_launcher.elsewhere = "/var/tmp";
    fail_preparation();
    assert_non_null(fake_launcher.newest);
    assert_string_equal(o.l->c->command.workdir, "/var/tmp");
    assert_string_equal(o.l->c->log_dir, "/var/tmp");
    nm_yarn_node_free(o.n);
    manager_world_restart(w);
    o.n = fake_launcher_node(w);
    o.l = w->m->lives.all[0];
    assert_string_equal(o.l->c->command.workdir, "/var/tmp");
    fake_launcher.elsewhere = "/tmp"; /* the restarted nmd permits one more move, because it doesn't know of the
                                         first one */
    fail_preparation();
    assert_string_equal(o.l->c->log_dir, "/tmp");
    fail_preparation();
    manager_world_settle(w);
    assert_int_equal(fake_launcher.n_preparations, 0);
    nm_yarn_node_free(o.n);
}

static void test_reinitialize_and_commit(void **state)
{
    static const char *const names[] = {"b", "c", NULL};
    struct context c;
    struct one o;

    start(&o, *state, false, SLEEPS);
    assert_int_equal(reinit(&o, make(&c, "exec sleep 2000", names), false), 0);
    assert_true(fake_launcher.newest->is_running);
    assert_said(&o, 2, "Container will be Re-initialized.");
    assert_int_equal(nm_yarn_node_commit(o.n, &o.ids.container, &o.why), NM_YARN_REFUSED);
    assert_non_null(strstr(o.why.message, "Cannot perform COMMIT"));
    assert_non_null(strstr(o.why.message, "[REINITIALIZING, isReInitializing=true]"));
    fetched(0);
    assert_said(&o, 1, "");
    runs_again(&o, "exec sleep 2000");
    assert_localized(&o, "b=2 c=2 a=2");
    assert_int_equal(nm_yarn_node_commit(o.n, &o.ids.container, &o.why), 0);
    assert_int_equal(nm_yarn_node_commit(o.n, &o.ids.container, &o.why), NM_YARN_REFUSED);
    assert_string_equal(o.why.message, "Nothing to Commit !!");
    assert_int_equal(nm_yarn_node_roll_back(o.n, &o.ids.container, &o.why), NM_YARN_REFUSED);
    assert_string_equal(o.why.message, "Nothing to rollback to !!");
    nm_yarn_node_free(o.n);
}

static void test_roll_back(void **state)
{
    struct context c;
    struct one o;

    start(&o, *state, false, SLEEPS);
    assert_int_equal(reinit(&o, make(&c, "exec sleep 2000", NULL), false), 0);
    fetched(0);
    runs_again(&o, "exec sleep 2000");
    assert_int_equal(nm_yarn_node_restart(o.n, &o.ids.container, &o.why), 0); /* another roll back is possible */
    runs_again(&o, "exec sleep 2000");
    assert_int_equal(nm_yarn_node_roll_back(o.n, &o.ids.container, &o.why), 0);
    assert_said(&o, 1, "Container upgrade will be Rolled-back.");
    runs_again(&o, SLEEPS);
    assert_localized(&o, "a=2 b=2");
    assert_int_equal(nm_yarn_node_roll_back(o.n, &o.ids.container, &o.why), NM_YARN_REFUSED);
    nm_yarn_node_free(o.n);
}

static void test_auto_commit(void **state)
{
    struct context c;
    struct one o;

    start(&o, *state, false, SLEEPS);
    assert_int_equal(reinit(&o, make(&c, "sleep 0.3; exit 5", NULL), true), 0);
    fetched(0);
    runs_again(&o, "sleep 0.3; exit 5");
    assert_int_equal(nm_yarn_node_roll_back(o.n, &o.ids.container, &o.why), NM_YARN_REFUSED);
    let_end(&o, false);
    assert_ended(&o, 5, "exit code 5");
    nm_yarn_node_free(o.n);
}

/* A re-initialized container that fails before the commit is rolled back automatically, once. */
static void test_it_fails_before_it_is_committed(void **state)
{
    struct context c;
    struct one o;

    start(&o, *state, false, SLEEPS);
    assert_int_equal(reinit(&o, make(&c, "sleep 0.3; exit 5", NULL), false), 0);
    fetched(0);
    runs_again(&o, "sleep 0.3; exit 5");
    let_end(&o, false);
    assert_true(is_new(o.l));
    assert_said(&o, 1, "Container Re-init Auto Rolled-Back.");
    make_ready(&o);
    assert_string_equal(o.l->c->command.argv[2], SLEEPS);
    (void)kill(o.l->c->pid, SIGSEGV);
    let_end(&o, false);
    assert_ended(&o, 128 + SIGSEGV, "Auto Rolled-Back");
    nm_yarn_node_free(o.n);
}

/* A killed container isn't rolled back, since a kill is no failure. */
static void test_it_is_killed_before_it_is_committed(void **state)
{
    struct context c;
    struct one o;

    start(&o, *state, false, SLEEPS);
    assert_int_equal(reinit(&o, make(&c, "exec sleep 2000", NULL), false), 0);
    fetched(0);
    runs_again(&o, "exec sleep 2000");
    let_end(&o, true);
    assert_ended(&o, 137, "by a signal");
    nm_yarn_node_free(o.n);
}

static void test_localization_fails(void **state)
{
    static const char *const names[] = {"c", NULL};
    struct context c;
    struct one o;
    pid_t pid;

    start(&o, *state, false, SLEEPS);
    pid = o.l->c->pid;
    assert_int_equal(reinit(&o, make(&c, "true", names), false), 0);
    fetched(-ENOENT);
    assert_said(&o, 2, "Container aborting re-initialization.. There is no such file.");
    assert_int_equal(o.l->c->pid, pid);
    assert_false(o.l->c->rerun);
    assert_localized(&o, "a=2 b=2 c=3");
    assert_int_equal(nm_yarn_node_roll_back(o.n, &o.ids.container, &o.why), NM_YARN_REFUSED);
    assert_string_equal(o.why.message, "Nothing to rollback to !!");
    assert_int_equal(reinit(&o, make(&c, "exec sleep 2000", NULL), true), 0);
    nm_yarn_node_free(o.n);
}

/* Resources that were localized later are also available after a restart of the container. */
static void test_localize(void **state)
{
    static const char *const more[] = {"c", NULL}, *const wrong[] = {"d", NULL};
    struct context c;
    struct one o;

    start(&o, *state, false, SLEEPS);
    assert_int_equal(localize(&o, make(&c, NULL, more)), 0);
    assert_true(fake_launcher.newest->links);
    fetched(0);
    assert_int_equal(localize(&o, make(&c, NULL, wrong)), 0);
    fetched(-ENOENT);
    assert_said(&o, 2, "There is no such file.");
    assert_localized(&o, "a=2 b=2 d=3 c=2");
    assert_int_equal(nm_yarn_node_restart(o.n, &o.ids.container, &o.why), 0);
    runs_again(&o, SLEEPS);
    assert_localized(&o, "c=2 a=2 b=2");
    nm_yarn_node_free(o.n);
}

static void test_who_is_refused(void **state)
{
    struct context c;
    struct one o;

    start(&o, *state, true, SLEEPS);
    assert_int_equal(localize(&o, make(&c, NULL, NULL)), NM_YARN_REFUSED);
    assert_non_null(strstr(o.why.message, "Cannot perform LOCALIZE on [container_1410901177871_0001_01_000005]. "
                           "Current state is [RUNNING, isReInitializing=false]. Container Execution Type is "
                           "[OPPORTUNISTIC]."));
    assert_int_equal(reinit(&o, make(&c, "true", NULL), true), NM_YARN_REFUSED);
    o.ids.container.id = 6;
    assert_int_equal(nm_yarn_node_restart(o.n, &o.ids.container, &o.why), NM_YARN_REFUSED);
    assert_non_null(strstr(o.why.message, "Specified container_"));
    assert_non_null(strstr(o.why.message, " does not exist!"));
    nm_yarn_node_free(o.n);
}

/* nmd is restarted while the former run ends: the new nmd prepares the requested run. */
static void test_another_nmd(void **state)
{
    struct manager_world *w = *state;
    struct context c;
    struct one o;

    start(&o, w, false, SLEEPS);
    assert_int_equal(reinit(&o, make(&c, "exec sleep 2000", NULL), false), 0);
    fetched(0);
    nm_yarn_node_free(o.n);
    manager_world_restart(w);
    o.n = fake_launcher_node(w);
    o.l = w->m->lives.all[0];
    assert_true(fake_launcher.newest->is_running);
    manager_world_start(w);
    (void)kill(o.l->c->pid, SIGKILL);
    manager_world_wait(w, o.l, is_new);
    make_ready(&o);
    assert_string_equal(o.l->c->command.argv[2], "exec sleep 2000");
    assert_int_equal(nm_yarn_node_roll_back(o.n, &o.ids.container, &o.why), 0);
    nm_yarn_node_free(o.n);
}

/* ---- failures of allocations -------------------------------------------------------------- */

static int request_restart(struct one *o)
{
    return nm_yarn_node_restart(o->n, &o->ids.container, &o->why);
}

static int request_roll_back(struct one *o)
{
    return nm_yarn_node_roll_back(o->n, &o->ids.container, &o->why);
}

static int request_commit(struct one *o)
{
    return nm_yarn_node_commit(o->n, &o->ids.container, &o->why);
}

static int request_reinitialize(struct one *o)
{
    static const char *const names[] = {"b", "c", NULL};
    struct context c;

    return reinit(o, make(&c, "exec sleep 2000", names), false);
}

static int request_localize(struct one *o)
{
    static const char *const more[] = {"d", NULL};
    struct context c;

    return localize(o, make(&c, NULL, more));
}

/* On each lack of memory the request fails and the container keeps running. The request succeeds in the end. */
static void insist(struct one *o, int (*operation)(struct one *o))
{
    int r = -ENOMEM;

    for (unsigned n = 1; r != 0; n++) {
        bool failed;

        fail_nth(FAIL_MEMORY, n);
        r = operation(o);
        failed = fail_stop();
        assert_true(r == 0 || (r == -ENOMEM && failed));
        if (r != 0)
            assert_said(o, 2, "");
    }
}

/* The resources have been fetched, but can't be recorded for lack of memory: the request is repeated until it
 * succeeds. */
static void insist_on_what_is_fetched(struct one *o, int (*operation)(struct one *o))
{
    bool failed = true;

    insist(o, operation);
    for (unsigned n = 1; failed; n++) {
        fail_nth(FAIL_MEMORY, n);
        fetched(0);
        failed = fail_stop() && !o->l->c->rerun;
        if (failed)
            assert_int_equal(operation(o), 0);
    }
}

static void test_without_memory(void **state)
{
    struct one o;

    start(&o, *state, false, SLEEPS);
    insist_on_what_is_fetched(&o, request_localize);
    insist(&o, request_restart);
    runs_again(&o, SLEEPS);
    assert_localized(&o, "d=2 a=2 b=2");
    insist_on_what_is_fetched(&o, request_reinitialize);
    runs_again(&o, "exec sleep 2000");
    assert_localized(&o, "b=2 c=2 d=2 a=2");
    insist(&o, request_roll_back);
    runs_again(&o, SLEEPS);
    assert_int_equal(request_reinitialize(&o), 0);
    fetched(0);
    runs_again(&o, "exec sleep 2000");
    insist(&o, request_commit);
    assert_int_equal(request_commit(&o), NM_YARN_REFUSED);
    assert_string_equal(o.why.message, "Nothing to Commit !!");
    nm_yarn_node_free(o.n);
}

/* The number of localizations for one run is limited. */
static void test_too_often(void **state)
{
    struct one o;

    start(&o, *state, false, SLEEPS);
    for (unsigned i = 0; i < 64; i++) {
        assert_int_equal(request_localize(&o), 0);
        fetched(0);
    }
    assert_int_equal(request_localize(&o), NM_YARN_REFUSED);
    assert_string_equal(o.why.message, "Resources were localized for container container_1410901177871_0001_01_000005 "
                                       "64 times since it began to run, which is the maximum on this node.");
    assert_int_equal(request_reinitialize(&o), NM_YARN_REFUSED);
    assert_int_equal(request_restart(&o), 0); /* a restart resets the number */
    runs_again(&o, SLEEPS);
    assert_int_equal(request_localize(&o), 0);
    nm_yarn_node_free(o.n);
}

/* ---- many resources ----------------------------------------------------------------------- */

#define MANY 8000u

/* Makes MANY resources whose names begin with this letter. The caller frees the list. */
static Yarn__NamedResource *make_many(Yarn__LaunchContext *context, char letter)
{
    static Yarn__LocalResource value = YARN__LOCAL_RESOURCE__INIT;
    Yarn__NamedResource *all = calloc(MANY, sizeof *all);
    char (*names)[24] = calloc(MANY, sizeof *names);

    *context = (Yarn__LaunchContext)YARN__LAUNCH_CONTEXT__INIT;
    context->resources = calloc(MANY, sizeof(*context->resources));
    assert_true(all && names && context->resources);
    context->n_resources = MANY;
    for (unsigned i = 0; i < MANY; i++) {
        (void)snprintf(names[i], sizeof names[i], "%c-resource-%u", letter, i);
        all[i] = (Yarn__NamedResource)YARN__NAMED_RESOURCE__INIT;
        all[i].key = names[i];
        all[i].value = &value;
        context->resources[i] = &all[i];
    }
    return all;
}

/* Returns the CPU time that the loop needs to record MANY fetched resources. */
static uint64_t usec_of_many(struct one *o, char letter)
{
    struct timespec before, after;
    Yarn__LaunchContext context;
    Yarn__NamedResource *all = make_many(&context, letter);

    assert_int_equal(localize(o, &context), 0);
    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before), 0);
    fetched(0);
    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after), 0);
    free(all[0].key);
    free(context.resources);
    free(all);
    return (uint64_t)(after.tv_sec - before.tv_sec) * NM_USEC_PER_SEC + (uint64_t)after.tv_nsec / 1000 -
           (uint64_t)before.tv_nsec / 1000;
}

/* Merging two long lists takes time in proportion to the sum of their lengths instead of the product. It happens in
 * the event loop, and the user of the container chooses the lengths. */
static void test_many(void **state)
{
    struct one o;
    uint64_t few, many;

    start(&o, *state, false, SLEEPS);
    few = usec_of_many(&o, 'x');
    many = usec_of_many(&o, 'y');
    assert_int_equal(o.n->containers.first->record->context->n_resources, 2 * MANY + 2);
    assert_in_range(many, 0, 4 * few + 50 * NM_USEC_PER_MSEC);
    nm_yarn_node_free(o.n);
}

/* ---- types -------------------------------------------------------------------------------- */

static int32_t type_in_beat(struct one *o)
{
    Yarn__NodeStatus status = YARN__NODE_STATUS__INIT;
    struct nm_arena arena;
    int32_t type;

    nm_arena_init(&arena, 1 << 20, NULL);
    assert_int_equal(nm_yarn_node_report(o->n, &arena, &status), 0);
    assert_int_equal(status.n_containers, 1);
    type = status.containers[0]->execution_type;
    nm_arena_done(&arena);
    return type;
}

static void assert_type_elsewhere(struct one *o, int32_t type)
{
    Yarn__RegisterRequest request = YARN__REGISTER_REQUEST__INIT;
    struct nm_arena arena;

    assert_int_equal(status(o, &arena)->execution_type, type);
    nm_arena_done(&arena);
    nm_arena_init(&arena, 1 << 20, NULL);
    assert_int_equal(nm_yarn_node_report_all(o->n, &arena, &request), 0);
    assert_int_equal(request.n_containers, 1);
    assert_int_equal(request.containers[0]->execution_type, type);
    nm_arena_done(&arena);
}

/* A heartbeat reports an opportunistic container as guaranteed until its end, since the ResourceManager would regard
 * others as lost. Application masters and registrations get the real type. */
static void test_types(void **state)
{
    enum { GUARANTEED = 1, OPPORTUNISTIC = 2 };
    struct one o;

    start(&o, *state, true, "exec sleep 1000");
    assert_int_equal(type_in_beat(&o), GUARANTEED);
    assert_type_elsewhere(&o, OPPORTUNISTIC);
    assert_int_equal(nm_yarn_node_stop(o.n, &o.ids.container, NM_YARN_KILLED_BY_RM, "Away.", &o.why), 0);
    assert_int_equal(type_in_beat(&o), GUARANTEED);
    let_end(&o, true);
    assert_int_equal(type_in_beat(&o), OPPORTUNISTIC);
    assert_type_elsewhere(&o, OPPORTUNISTIC);
    nm_yarn_node_free(o.n);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(test_types),
        TEST(test_restart), TEST(test_restart_elsewhere),
        TEST(test_reinitialize_and_commit),
        TEST(test_roll_back),
        TEST(test_auto_commit),
        TEST(test_it_fails_before_it_is_committed),
        TEST(test_it_is_killed_before_it_is_committed),
        TEST(test_localization_fails),
        TEST(test_localize),
        TEST(test_who_is_refused),
        TEST(test_another_nmd),
        TEST(test_without_memory),
        TEST(test_too_often),
        TEST(test_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
