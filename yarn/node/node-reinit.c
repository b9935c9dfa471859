/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Requests that YARN's services send for a running container: localize more resources, re-initialize with another
 * command, or return to the former command. See node.h. The conditions and texts are Hadoop's.
 *
 * The manager stores the record of the next command before it ends the running command, so a restarted nmd finds the
 * next command in the record. If nmd is restarted while the resources of a re-initialization are being fetched, the
 * re-initialization is dropped, and the container keeps running its command.
 */

#include "yarn/node/node-state.h"

#include <assert.h>
#include <stdlib.h>

#include "util/error.h"
#include "yarn/id-messages.h"
#include "yarn/node/exit-code.h"

#define COMMAND_MAX (64u << 10)
#define EXTRAS_MAX 64u

/* ---- refusals ----------------------------------------------------------------------------- */

static bool is_reinitializing(const struct nm_yarn_container *i, const struct nm_container *c)
{
    return i->reinit || i->reinit_pending || (c && c->rerun);
}

static const char *state_name(const struct nm_yarn_container *i, const struct nm_container *c)
{
    if (!c || i->completed)
        return "DONE";
    if (c->rerun)
        return "REINITIALIZING_AWAITING_KILL";
    return i->reinit && c->view.state == NM_RUNNING ? "REINITIALIZING" : nm_state_name(c->view.state);
}

static int check(const struct nm_yarn_container *i, const char *operation, struct nm_exception *why)
{
    const struct nm_container *c = i->completed ? NULL : nm_yarn_container_core(i);
    const enum nm_execution_type type = c ? c->view.type : nm_yarn_token_type(i->token);
    const bool is_reinit = is_reinitializing(i, c);

    if (c && c->view.state == NM_RUNNING && !is_reinit && type == NM_GUARANTEED)
        return 0;
    return nm_yarn_refuse(why, "Cannot perform %s on [%s]. Current state is [%s, isReInitializing=%s]. Container "
                          "Execution Type is [%s].", operation, i->text, state_name(i, c), is_reinit ? "true" : "false",
                          nm_execution_type_name(type));
}

static int find(struct nm_yarn_node *n, const Hadoop__ContainerId *id, const char *operation,
                struct nm_yarn_container **ret, struct nm_exception *why)
{
    struct nm_yarn_container_id number = nm_yarn_container_of(id);
    struct nm_yarn_container *i = nm_yarn_container_table_find(&n->containers, &number);
    char text[NM_YARN_ID_SIZE];

    if (!i)
        return nm_yarn_refuse(why, "Specified %s does not exist!", nm_yarn_container_id_format(&number, text));
    *ret = i;
    return check(i, operation, why);
}

/* ---- records ------------------------------------------------------------------------------ */

/* Stores a record with these contexts, first in the manager, then in the table's container. With `runs_again` the
 * manager ends the running command and starts the record's command. Returns 0, -errno, or a positive value with
 * *problem. */
static int put_record(struct nm_yarn_container *i, const Yarn__LaunchContext *context,
                      const Yarn__LaunchContext *before,
                      bool runs_again, struct nm_problem *problem)
{
    _cleanup_(nm_yarn_record_version_freep) struct nm_yarn_record_version *old = NULL, *kept = NULL;
    struct nm_manager *m = i->node->p.manager;
    _cleanup_free_ void *data = NULL;
    struct nm_rerun rerun = {0};
    struct nm_arena arena;
    struct nm_blob blob;
    Yarn__Record record;
    int r = nm_yarn_container_read_record(i, &old);

    if (r < 0)
        return r;
    record = *old->record;
    record.context = (Yarn__LaunchContext *)(uintptr_t)context;
    record.before = (Yarn__LaunchContext *)(uintptr_t)before;
    r = nm_yarn_record_repack(&record, &blob, &kept);
    if (r < 0)
        return r;
    data = blob.data;
    nm_arena_init(&arena, COMMAND_MAX, NULL);
    if (runs_again) {
        rerun = (struct nm_rerun){.argv = nm_yarn_launcher_command(context, &arena), .blob = &blob};
        r = rerun.argv ? nm_manager_rerun(m, NM_YARN_OWNER, i->text, &rerun, problem) : -ENOMEM;
    } else {
        r = nm_manager_set_blob(m, NM_YARN_OWNER, i->text, &blob, problem);
    }
    nm_arena_done(&arena);
    if (r != 0)
        return r;
    i->reinit_pending = i->reinit_pending || runs_again;
    nm_yarn_container_take_record(i, STEAL_PTR(kept));
    return 0;
}

static int answer(int r, const struct nm_problem *problem, struct nm_exception *why)
{
    return r > 0 ? nm_yarn_refuse(why, "%s", problem->message) : r;
}

/* ---- additional resources ----------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
    const Yarn__NamedResource *const *x = a, *const *y = b;

    return strcmp((*x)->key ?: "", (*y)->key ?: "");
}

/* Returns a copy of the list sorted by name, for bsearch(). A master chooses the lengths of the two lists that are
 * merged, and a merge blocks the event loop, so it must not compare each pair. */
static Yarn__NamedResource **sort_by_name(const Yarn__LaunchContext *c)
{
    Yarn__NamedResource **list = calloc(c->n_resources + 1, sizeof(*list));

    if (!list)
        return NULL;
    for (size_t k = 0; k < c->n_resources; k++)
        list[k] = c->resources[k];
    qsort(list, c->n_resources, sizeof(*list), compare_names);
    return list;
}

/* Copies `first` and adds the resources of `second` whose names aren't in `first`. The caller frees *ret_list. */
static int merge_resources(const Yarn__LaunchContext *first, const Yarn__LaunchContext *second,
                           Yarn__LaunchContext *ret, void **ret_list)
{
    _cleanup_free_ Yarn__NamedResource **by_name = sort_by_name(first);
    Yarn__NamedResource **list = by_name ? calloc(first->n_resources + second->n_resources + 1, sizeof(*list)) : NULL;

    if (!list)
        return -ENOMEM;
    *ret = *first;
    ret->resources = list;
    ret->n_resources = 0;
    for (size_t k = 0; k < first->n_resources; k++)
        list[ret->n_resources++] = first->resources[k];
    for (size_t k = 0; k < second->n_resources; k++)
        if (!bsearch(&second->resources[k], by_name, first->n_resources, sizeof(*list), compare_names))
            list[ret->n_resources++] = second->resources[k];
    *ret_list = list;
    return 0;
}

static int copy_context(const Yarn__LaunchContext *from, struct nm_yarn_extra *e)
{
    size_t size = yarn__launch_context__get_packed_size(from);
    _cleanup_free_ uint8_t *bytes = malloc(size + 1);

    if (!bytes)
        return -ENOMEM;
    (void)yarn__launch_context__pack(from, bytes);
    nm_arena_init(&e->arena, nm_arena_limit(size), NULL);
    e->context = (const Yarn__LaunchContext *)nm_arena_unpack(&e->arena, &yarn__launch_context__descriptor,
                                                              (struct nm_bytes){bytes, size});
    return e->context ? 0 : -ENOMEM;
}

static void on_progress(struct nm_yarn_preparation *p, const char *text, void *userdata)
{
    (void)p, (void)text, (void)userdata; /* the container is running, and its state in reports is RUNNING */
}

/* Requests resources, as the newest of the container's extras. links: link the resources into the working directory
 * when they are available. */
static int ask(struct nm_yarn_container *i, const Yarn__LaunchContext *context, bool links,
               void (*ended)(struct nm_yarn_preparation *p, int result, const char *message, void *userdata))
{
    struct nm_yarn_launcher *launcher = i->node->p.launcher;
    struct nm_yarn_extra *e = calloc(1, sizeof *e);
    const struct nm_yarn_preparation_listener listener = {on_progress, ended, e};
    struct nm_yarn_task task;
    int r;

    if (!e)
        return -ENOMEM;
    e->container = i;
    r = copy_context(context, e);
    task = nm_yarn_container_task(i, e->context);
    if (r >= 0)
        r = links ? nm_yarn_launcher_localize(launcher, &task, &listener, &e->preparation)
                  : nm_yarn_launcher_fetch(launcher, &task, &listener, &e->preparation);
    if (r < 0) {
        nm_arena_done(&e->arena);
        free(e);
        return r;
    }
    e->next = i->extras;
    i->extras = e;
    i->n_extras++;
    return 0;
}

static int check_extras(const struct nm_yarn_container *i, struct nm_exception *why)
{
    if (i->n_extras < EXTRAS_MAX)
        return 0;
    return nm_yarn_refuse(why, "Resources were localized for container %s %u times since it began to run, which is "
                          "the maximum on this node.", i->text, EXTRAS_MAX);
}

static void on_localized(struct nm_yarn_preparation *p, int result, const char *message, void *userdata)
{
    struct nm_yarn_extra *e = userdata;
    struct nm_yarn_container *i = e->container;
    struct nm_problem problem = {0};
    _cleanup_free_ void *list = NULL;
    Yarn__LaunchContext context;
    int r = result;

    (void)p;
    if (r >= 0)
        r = merge_resources(e->context, i->record->context, &context, &list);
    if (r >= 0) {
        Yarn__LaunchContext whole = *i->record->context;

        whole.resources = context.resources;
        whole.n_resources = context.n_resources;
        r = put_record(i, &whole, i->record->before, false, &problem);
    }
    if (r != 0)
        nm_yarn_container_add_message(i, "%s", r > 0 ? problem.message : message ?: strerror(-r));
}

int nm_yarn_node_localize(struct nm_yarn_node *n, const Yarn__LocalizeRequest *r, struct nm_exception *why)
{
    Yarn__LaunchContext context = YARN__LAUNCH_CONTEXT__INIT;
    struct nm_yarn_container *i;
    int found = find(n, r->id, "LOCALIZE", &i, why);

    if (found == 0)
        found = check_extras(i, why);
    if (found != 0 || r->n_resources == 0)
        return found;
    context.resources = r->resources;
    context.n_resources = r->n_resources;
    return ask(i, &context, true, on_localized);
}

/* ---- another command ---------------------------------------------------------------------- */

/* Re-initializes the container. As in Hadoop, the container keeps the resources of the former context. It also keeps
 * the former context's tokens if the new context has no tokens. */
static int re_initialize(struct nm_yarn_container *i, const struct nm_yarn_extra *e, struct nm_problem *problem)
{
    const Yarn__LaunchContext *former = i->record->context;
    _cleanup_free_ void *list = NULL;
    Yarn__LaunchContext context;
    int r = merge_resources(e->context, former, &context, &list);

    if (r < 0)
        return r;
    if (context.tokens.len == 0) {
        context.has_tokens = former->has_tokens;
        context.tokens = former->tokens;
    }
    return put_record(i, &context, e->auto_commit ? NULL : former, true, problem);
}

static void on_localized_extra(struct nm_yarn_preparation *p, int result, const char *message, void *userdata)
{
    struct nm_yarn_extra *e = userdata;
    struct nm_yarn_container *i = e->container;
    struct nm_problem problem = {0};
    int r;

    (void)p;
    assert(i->reinit == e);
    i->reinit = NULL;
    if (result < 0) {
        nm_yarn_container_add_message(i, "Container aborting re-initialization.. %s", message ?: strerror(-result));
        return;
    }
    r = re_initialize(i, e, &problem);
    if (r != 0)
        nm_yarn_container_add_message(i, "Error re-initializing due to[%s]", r > 0 ? problem.message : strerror(-r));
}

static int restart(struct nm_yarn_container *i, struct nm_exception *why)
{
    struct nm_problem problem = {0};
    int r = put_record(i, i->record->context, i->record->before, true, &problem);

    if (r == 0)
        nm_yarn_container_add_message(i, "Container will be Restarted.");
    return answer(r, &problem, why);
}

int nm_yarn_node_restart(struct nm_yarn_node *n, const Hadoop__ContainerId *id, struct nm_exception *why)
{
    struct nm_yarn_container *i;
    int r = find(n, id, "RE_INIT", &i, why);

    return r != 0 ? r : restart(i, why);
}

int nm_yarn_node_reinitialize(struct nm_yarn_node *n, const Yarn__ReinitializeRequest *request,
                              struct nm_exception *why)
{
    struct nm_yarn_container *i;
    int r = find(n, request->id, "RE_INIT", &i, why);

    if (r != 0)
        return r;
    if (!request->context)
        return restart(i, why);
    if (request->context->n_command == 0)
        return nm_yarn_refuse(why, "The re-initialization of container %s has no command.", i->text);
    r = nm_yarn_refuse_runtime(request->context, why);
    if (r == 0)
        r = check_extras(i, why);
    if (r == 0)
        r = ask(i, request->context, false, on_localized_extra);
    if (r != 0)
        return r;
    i->extras->auto_commit = request->auto_commit;
    i->reinit = i->extras;
    nm_yarn_container_add_message(i, "Container will be Re-initialized.");
    return 0;
}

int nm_yarn_node_roll_back(struct nm_yarn_node *n, const Hadoop__ContainerId *id, struct nm_exception *why)
{
    struct nm_problem problem = {0};
    struct nm_yarn_container *i;
    int r = find(n, id, "ROLLBACK", &i, why);

    if (r != 0)
        return r;
    if (!i->record->before)
        return nm_yarn_refuse(why, "Nothing to rollback to !!");
    r = put_record(i, i->record->before, NULL, true, &problem);
    if (r == 0)
        nm_yarn_container_add_message(i, "Container upgrade will be Rolled-back.");
    return answer(r, &problem, why);
}

int nm_yarn_node_commit(struct nm_yarn_node *n, const Hadoop__ContainerId *id, struct nm_exception *why)
{
    struct nm_problem problem = {0};
    struct nm_yarn_container *i;
    int r = find(n, id, "COMMIT", &i, why);

    if (r != 0)
        return r;
    if (!i->record->before)
        return nm_yarn_refuse(why, "Nothing to Commit !!");
    return answer(put_record(i, i->record->context, NULL, false, &problem), &problem, why);
}

/* ---- events of the manager ---------------------------------------------------------------- */

/* Prepares the next run. All resources of the next run are requested again, and usually exist on the node. */
void nm_yarn_container_prepare_reinit(struct nm_yarn_container *i)
{
    nm_yarn_container_drop_extras(i);
    i->preparation = nm_yarn_preparation_free(i->preparation);
    i->prepared = NULL;
    i->moved = false;
    nm_yarn_container_drop_records(i);
    if (*i->node->host) /* if the host name is not known yet, nm_yarn_node_set_address() begins the preparation */
        nm_yarn_container_prepare(i);
}

/* Returns true if the command itself failed and no signal ended it. */
static bool has_failed(const struct nm_container *c)
{
    return nm_yarn_exit_is_failure(c) && c->exit_reason != NM_EXIT_OOM && c->exit_code != 0 &&
           !nm_yarn_exit_is_external(c);
}

void nm_yarn_container_decide_at_end(struct nm_yarn_container *i, const struct nm_container *c)
{
    const int32_t code = c->exit_code;
    struct nm_problem problem;

    if (!i->record->before || !has_failed(c) || put_record(i, i->record->before, NULL, true, &problem) != 0)
        return;
    i->node->counted.rolled_back++;
    nm_yarn_container_add_message(i, "Container exited with a non-zero exit code %d.", code);
    nm_yarn_container_add_message(i, "Container Re-init Auto Rolled-Back.");
}

/* ---- state of resources ------------------------------------------------------------------- */

static int put_all(const Yarn__LaunchContext *context, const struct nm_yarn_preparation *p, struct nm_arena *arena,
                   Yarn__ContainerLocalization *all)
{
    for (size_t k = 0; k < context->n_resources; k++) {
        Yarn__LocalizationStatus *s = nm_arena_alloc(arena, sizeof *s);
        const char *message = NULL;

        if (!s)
            return -ENOMEM;
        *s = (Yarn__LocalizationStatus)YARN__LOCALIZATION_STATUS__INIT;
        s->key = context->resources[k]->key;
        s->has_state = 1;
        s->state = p ? nm_yarn_preparation_state(p, k, &message) : 1;
        s->diagnostics = (char *)(uintptr_t)message;
        all->statuses[all->n_statuses++] = s;
    }
    return 0;
}

int nm_yarn_node_localization(struct nm_yarn_node *n, const Hadoop__ContainerId *id, struct nm_arena *arena,
                              Yarn__ContainerLocalization **ret, struct nm_exception *why)
{
    const Yarn__LaunchContext *first;
    Yarn__ContainerLocalization *all;
    struct nm_yarn_container *i;
    size_t count;
    int r = nm_yarn_find_live(n, id, &i, why);

    if (r != 0)
        return r;
    first = i->prepared ?: i->record->context;
    count = first->n_resources;
    for (const struct nm_yarn_extra *e = i->extras; e; e = e->next)
        count += e->context->n_resources;
    all = nm_arena_alloc(arena, sizeof *all);
    if (!all)
        return -ENOMEM;
    *all = (Yarn__ContainerLocalization)YARN__CONTAINER_LOCALIZATION__INIT;
    all->id = (Hadoop__ContainerId *)(uintptr_t)id;
    all->statuses = nm_arena_alloc(arena, (count + 1) * sizeof *all->statuses);
    if (!all->statuses)
        return -ENOMEM;
    r = put_all(first, i->preparation, arena, all);
    for (const struct nm_yarn_extra *e = i->extras; r >= 0 && e; e = e->next)
        r = put_all(e->context, e->preparation, arena, all);
    *ret = all;
    return r;
}
