/* SPDX-License-Identifier: Apache-2.0 */

/* State that is saved for the next nmd: see node-state.h and app-store.h. */

#include "yarn/node/node-state.h"

#include "util/parse.h"

int nm_yarn_node_add(struct nm_yarn_node *n, struct nm_bytes blob, struct nm_yarn_container **ret)
{
    struct nm_yarn_container *i;
    int r = nm_yarn_container_table_add(&n->containers, blob, &i);

    if (r < 0)
        return r;
    i->node = n;
    if (!i->app->is_noted) {
        nm_yarn_app_store_put_application(&n->app_store, i->app->text, i->app->submitter);
        i->app->is_noted = true;
    }
    *ret = i;
    return 0;
}

/* Saves an early end, without the launch context, which isn't needed any more. */
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
    nm_yarn_app_store_put_end(&i->node->app_store, i->text, &end);
}

/* Loads an application. The file contains the name of the application's submitter, which becomes a part of paths. */
static bool load_app(const char *name, struct nm_bytes content, void *userdata)
{
    struct nm_yarn_node *n = userdata;
    _cleanup_free_ char *submitter = strndup((const char *)content.data, content.size);
    struct nm_yarn_application_id id;
    struct nm_yarn_app *app;

    if (submitter && (!nm_user_name_is_valid(submitter) || nm_yarn_application_id_parse(name, &id) < 0))
        return false;
    if (submitter && nm_yarn_container_table_add_app(&n->containers, &id, submitter, &app) == 0)
        app->is_noted = true;
    return true;
}

int nm_yarn_node_load_apps(struct nm_yarn_node *n)
{
    return nm_yarn_app_store_applications(&n->app_store, load_app, n);
}
