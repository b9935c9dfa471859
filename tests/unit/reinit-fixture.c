/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cgroup/backend-fake.h"
#include "tests/unit/reinit-fixture.h"
#include "yarn/node/node-state.h"

Yarn__LaunchContext *make_context(struct context *c, const char *command, const char *const *names)
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

static bool is_running(const struct nm_live_container *l)
{
    return l->c->view.state == NM_RUNNING && !l->c->rerun && l->c->pid > 0;
}

bool is_new(const struct nm_live_container *l)
{
    return l->c->view.state == NM_NEW;
}

void finish_preparation(struct reinit_fixture *o)
{
    assert_non_null(fake_launcher.newest);
    fake_launcher.newest->listener.ended(fake_launcher.newest, 0, NULL, fake_launcher.newest->listener.userdata);
    manager_fixture_wait(o->w, o->l, is_running);
}

void start_container(struct reinit_fixture *o, struct manager_fixture *w, bool opportunistic, const char *command)
{
    static const char *const names[] = {"a", "b", NULL};
    uint8_t bytes[512];
    struct context c;
    size_t size;

    *o = (struct reinit_fixture){.w = w, .n = fake_launcher_node(w)};
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
    assert_int_equal(nm_yarn_node_start(o->n, (struct nm_bytes){bytes, size}, &o->ids.token,
                                        make_context(&c, command, names), &o->why), 0);
    o->l = w->m->live.all[0];
    finish_preparation(o);
}

int request_reinit(struct reinit_fixture *o, Yarn__LaunchContext *context, bool auto_commit)
{
    Yarn__ReinitializeRequest r = YARN__REINITIALIZE_REQUEST__INIT;

    r.id = &o->ids.container;
    r.context = context;
    r.has_auto_commit = 1;
    r.auto_commit = auto_commit;
    return nm_yarn_node_reinitialize(o->n, &r, &o->why);
}

int request_localization(struct reinit_fixture *o, Yarn__LaunchContext *context)
{
    Yarn__LocalizeRequest r = YARN__LOCALIZE_REQUEST__INIT;

    r.id = &o->ids.container;
    r.resources = context->resources;
    r.n_resources = context->n_resources;
    return nm_yarn_node_localize(o->n, &r, &o->why);
}

void finish_fetching(int result)
{
    struct nm_yarn_preparation *p = fake_launcher.newest;

    assert_non_null(p);
    p->failed = result < 0;
    p->listener.ended(p, result, result < 0 ? "There is no such file." : NULL, p->listener.userdata);
}

void wait_for_end(struct reinit_fixture *o, bool by_force)
{
    if (by_force)
        (void)kill(o->l->c->pid, SIGKILL);
    manager_fixture_wait(o->w, o->l, manager_fixture_shim_is_gone);
    assert_int_equal(nm_fake_set_events(o->l->cg, false, false), 0);
    manager_fixture_settle(o->w);
}

void assert_runs_again(struct reinit_fixture *o, const char *command)
{
    wait_for_end(o, true);
    manager_fixture_wait(o->w, o->l, is_new);
    assert_false(fake_launcher.newest->retains || fake_launcher.newest->fetches || fake_launcher.newest->links);
    assert_int_equal(fake_launcher.n_preparations, 1);
    assert_string_equal(fake_launcher.newest->context->command[0], command);
    finish_preparation(o);
    assert_string_equal(o->l->c->command.argv[2], command);
}

Yarn__ContainerStatus *container_status(struct reinit_fixture *o, struct nm_arena *arena)
{
    Yarn__ContainerStatus *s = NULL;

    nm_arena_init(arena, 1 << 20, NULL);
    assert_int_equal(nm_yarn_node_status(o->n, &o->ids.container, arena, &s, &o->why), 0);
    return s;
}

void assert_diagnostics(struct reinit_fixture *o, int32_t sub_state, const char *words)
{
    struct nm_arena arena;
    const Yarn__ContainerStatus *s = container_status(o, &arena);

    assert_int_equal(s->state, 2);
    assert_int_equal(s->sub_state, sub_state);
    if (!strstr(s->diagnostics, words))
        fail_msg("'%s' isn't in '%s'", words, s->diagnostics);
    nm_arena_done(&arena);
}

void assert_ended(struct reinit_fixture *o, int32_t exit_status, const char *words)
{
    struct nm_arena arena;
    const Yarn__ContainerStatus *s = container_status(o, &arena);

    assert_int_equal(s->state, 3);
    assert_int_equal(s->exit_status, exit_status);
    if (!strstr(s->diagnostics, words))
        fail_msg("'%s' isn't in '%s'", words, s->diagnostics);
    nm_arena_done(&arena);
}

void assert_localized(struct reinit_fixture *o, const char *expected)
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

int request_restart(struct reinit_fixture *o)
{
    return nm_yarn_node_restart(o->n, &o->ids.container, &o->why);
}

int request_roll_back(struct reinit_fixture *o)
{
    return nm_yarn_node_roll_back(o->n, &o->ids.container, &o->why);
}

int request_commit(struct reinit_fixture *o)
{
    return nm_yarn_node_commit(o->n, &o->ids.container, &o->why);
}

int request_reinitialize(struct reinit_fixture *o)
{
    static const char *const names[] = {"b", "c", NULL};
    struct context c;

    return request_reinit(o, make_context(&c, OTHER_COMMAND, names), false);
}

int request_localize(struct reinit_fixture *o)
{
    static const char *const more[] = {"d", NULL};
    struct context c;

    return request_localization(o, make_context(&c, NULL, more));
}

void assert_refused(const struct reinit_fixture *o, int r, const char *words)
{
    assert_int_equal(r, NM_YARN_REFUSED);
    if (!strstr(o->why.message, words))
        fail_msg("'%s' isn't in '%s'", words, o->why.message);
}
