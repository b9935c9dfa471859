/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The node's data of applications and containers that outlives them (see node-state.h). Files contain what the next nmd
 * needs. Memory contains the ids of containers and applications that were recently removed.
 */

#include "yarn/node/node-state.h"

#include "util/fnv1a.h"
#include "util/macros.h"
#include "util/parse.h"
#include "yarn/id-messages.h"
#include "yarn/logs/logs.h"

/* ---- files -------------------------------------------------------------------------------- */

/* Size limit of a file. The identifier of a token and the diagnostics of an end take a few KiB. */
#define FILE_MAX (256u << 10)
#define VIEW_APP 1   /* Hadoop's ApplicationAccessType, in LaunchContext.acls */
#define ACL_MAX 4096 /* bytes of an ACL */

int nm_yarn_app_store_open(const char *state_dir, struct nm_yarn_app_store *ret)
{
    int r;

    *ret = (struct nm_yarn_app_store){-1, -1};
    r = nm_yarn_state_dir_open(state_dir, "applications", &ret->applications_fd);
    return r < 0 ? r : nm_yarn_state_dir_open(state_dir, "early-ends", &ret->ends_fd);
}

void nm_yarn_app_store_done(struct nm_yarn_app_store *store)
{
    store->applications_fd = nm_close(store->applications_fd);
    store->ends_fd = nm_close(store->ends_fd);
}

/* Writes the application's submitter, which is one word. The view ACL follows in a second line. */
static void put_application(const struct nm_yarn_app_store *store, const struct nm_yarn_app *app)
{
    _cleanup_free_ char *text = NULL;

    if (nm_user_name_is_valid(app->submitter) &&
        asprintf(&text, "%s%s%s", app->submitter, app->view_acl ? "\n" : "", app->view_acl ?: "") >= 0)
        (void)nm_yarn_state_dir_put(store->applications_fd, app->text, nm_bytes_of(text));
}

/* Returns a copy of the view ACL in the context. NULL: there is none, or it is too long. As in Hadoop, the ACLs of an
 * application's first container count. */
static char *view_acl_of(const Yarn__LaunchContext *context)
{
    for (size_t i = 0; i < context->n_acls; i++)
        if (context->acls[i]->access_type == VIEW_APP && context->acls[i]->acl &&
            strlen(context->acls[i]->acl) <= ACL_MAX)
            return strdup(context->acls[i]->acl);
    return NULL;
}

void nm_yarn_app_store_drop_application(const struct nm_yarn_app_store *store, const char *name)
{
    nm_yarn_state_dir_drop(store->applications_fd, name);
}

static void put_end(const struct nm_yarn_app_store *store, const char *name, const Yarn__EarlyEnd *end)
{
    size_t size = yarn__early_end__get_packed_size(end);
    _cleanup_free_ uint8_t *data = size < FILE_MAX ? malloc(size + 1) : NULL;

    if (!data)
        return;
    (void)yarn__early_end__pack(end, data);
    (void)nm_yarn_state_dir_put(store->ends_fd, name, (struct nm_bytes){data, size});
}

void nm_yarn_app_store_drop_end(const struct nm_yarn_app_store *store, const char *name)
{
    nm_yarn_state_dir_drop(store->ends_fd, name);
}

static int read_applications(const struct nm_yarn_app_store *store, nm_yarn_state_file_cb_t cb, void *userdata)
{
    return nm_yarn_state_dir_read(store->applications_fd, FILE_MAX, cb, userdata);
}

int nm_yarn_app_store_ends(const struct nm_yarn_app_store *store, nm_yarn_state_file_cb_t cb, void *userdata)
{
    return nm_yarn_state_dir_read(store->ends_fd, FILE_MAX, cb, userdata);
}

/* ---- applications and early ends ---------------------------------------------------------- */

int nm_yarn_node_add(struct nm_yarn_node *n, struct nm_bytes blob, struct nm_yarn_container **ret)
{
    struct nm_yarn_container *i;
    int r = nm_yarn_container_table_add(&n->containers, blob, &i);

    if (r < 0)
        return r;
    i->node = n;
    if (!i->app->is_noted) {
        i->app->view_acl = i->app->view_acl ?: view_acl_of(i->record->context);
        put_application(&n->app_store, i->app);
        i->app->is_noted = true;
    }
    nm_yarn_container_begin_logs(i);
    *ret = i;
    return 0;
}

/* ---- logs --------------------------------------------------------------------------------- */

static struct nm_yarn_log_container log_container(const struct nm_yarn_container *i)
{
    const Hadoop__ContainerTokenIdentifier *t = i->token;

    return (struct nm_yarn_log_container){
        .id = i->id, .text = i->text, .submitter = i->app->submitter,
        .account = i->record->user && *i->record->user ? i->record->user : NULL,
        .is_master = t->container_type == HADOOP__CONTAINER_TOKEN_IDENTIFIER__CONTAINER_TYPE__APPLICATION_MASTER,
        .context = {t->log_aggregation.data, t->log_aggregation.len}, .launch = i->record->context};
}

void nm_yarn_container_begin_logs(const struct nm_yarn_container *i)
{
    const struct nm_yarn_log_container c = log_container(i);

    if (i->node->p.logs)
        nm_yarn_logs_begin_container(i->node->p.logs, &c);
}

void nm_yarn_container_end_logs(const struct nm_yarn_container *i)
{
    const struct nm_yarn_log_container c = log_container(i);

    if (i->node->p.logs)
        nm_yarn_logs_end_container(i->node->p.logs, &c, i->exit_status, !i->ended_early);
}

/* ---- early ends --------------------------------------------------------------------------- */

/* Saves the end of a container that ended early. The launch context is left out, because it isn't needed any more. */
void nm_yarn_container_note_end(const struct nm_yarn_container *i)
{
    Yarn__LaunchContext nothing = YARN__LAUNCH_CONTEXT__INIT;
    Yarn__EarlyEnd end = YARN__EARLY_END__INIT;
    Yarn__Record record = *i->record;
    _cleanup_free_ void *data = NULL;
    struct nm_blob blob;

    record.context = &nothing;
    record.before = NULL;
    if (nm_yarn_record_pack(&record, (struct nm_bytes){record.identifier.data, record.identifier.len}, &blob) < 0)
        return;
    data = blob.data;
    end.has_record = end.has_exit_status = 1;
    end.record = (ProtobufCBinaryData){blob.bytes, data};
    end.exit_status = i->exit_status;
    end.diagnostics = i->diagnostics;
    put_end(&i->node->app_store, i->text, &end);
}

/* Loads an application. The file contains the name of the application's submitter, which becomes a component of paths,
 * and may contain its view ACL. */
static bool load_app(const char *name, struct nm_bytes content, void *userdata)
{
    struct nm_yarn_node *n = userdata;
    _cleanup_free_ char *submitter = strndup((const char *)content.data, content.size);
    char *view_acl = submitter ? strchr(submitter, '\n') : NULL;
    struct nm_yarn_application_id id;
    struct nm_yarn_app *app;

    if (view_acl)
        *view_acl++ = '\0';
    if (submitter && (!nm_user_name_is_valid(submitter) || nm_yarn_application_id_parse(name, &id) < 0))
        return false;
    if (submitter && nm_yarn_container_table_add_app(&n->containers, &id, submitter, &app) == 0) {
        app->is_noted = true;
        app->view_acl = view_acl ? strdup(view_acl) : NULL; /* without memory, fewer users may read the logs */
    }
    return true;
}

int nm_yarn_node_load_apps(struct nm_yarn_node *n)
{
    return read_applications(&n->app_store, load_app, n);
}

/* ---- removed containers and applications -------------------------------------------------- */

/* The lists of removed ids are rings: a new entry replaces the oldest entry. A container is found by a 64-bit hash of
 * its id. With a few thousand ids, a collision is so unlikely that the code doesn't handle it. */

void nm_yarn_recent_note(struct nm_yarn_node *n, const char *text, uint64_t now_usec)
{
    n->recent[n->next_recent] = (struct nm_yarn_recent){nm_fnv1a_64(text), now_usec};
    n->next_recent = (n->next_recent + 1) % NM_YARN_RECENT_MAX;
}

bool nm_yarn_recent_has(const struct nm_yarn_node *n, const char *text, uint64_t now_usec)
{
    const uint64_t hash = nm_fnv1a_64(text);

    for (size_t i = 0; i < NM_YARN_RECENT_MAX; i++)
        if (n->recent[i].hash == hash && n->recent[i].usec > 0 && now_usec - n->recent[i].usec < NM_YARN_RECENT_USEC)
            return true;
    return false;
}

void nm_yarn_recent_note_app(struct nm_yarn_node *n, const struct nm_yarn_application_id *id)
{
    if (nm_yarn_recent_has_app(n, id))
        return;
    n->ended[n->next_ended] = *id;
    n->next_ended = (n->next_ended + 1) % NM_YARN_ENDED_APPS_MAX;
}

bool nm_yarn_recent_has_app(const struct nm_yarn_node *n, const struct nm_yarn_application_id *id)
{
    for (size_t i = 0; i < NM_YARN_ENDED_APPS_MAX; i++)
        if (nm_yarn_same_application(&n->ended[i], id))
            return true;
    return false;
}
