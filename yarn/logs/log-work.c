/* SPDX-License-Identifier: Apache-2.0 */

/* See log-work.h. */

#include "yarn/logs/log-work.h"

#include "util/error.h"
#include "util/json-text.h"

static int add_container(json_t *array, const char *id, bool is_running)
{
    return json_array_append_new(array, json_pack("{s:s, s:b}", "id", id, "running", is_running));
}

/* Lists the ended containers of the upload, and the running containers if the application rolls. */
static json_t *list_containers(const struct nm_yarn_log_book *b)
{
    json_t *array = json_array();
    int r = array ? 0 : -1;

    for (size_t i = 0; r == 0 && i < b->upload.n; i++)
        r = add_container(array, b->ended[i], false);
    for (size_t i = 0; r == 0 && b->rolls && i < b->n_running; i++)
        if (b->running[i].is_accepted)
            r = add_container(array, b->running[i].id, true);
    if (r == 0)
        return array;
    json_decref(array);
    return NULL;
}

static json_t *list_dirs(const char *const *dirs, size_t n)
{
    json_t *array = json_array();

    for (size_t i = 0; array && i < n; i++)
        if (json_array_append_new(array, json_string(dirs[i])) < 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

/* Adds the members that both kinds of work have, and returns the text. Consumes the reference. */
static char *finish(json_t *o, const struct nm_yarn_settings *s)
{
    char *text = NULL;

    if (o && json_object_set_new(o, "remote", json_string(s->logs.remote)) == 0 &&
        json_object_set_new(o, "limits", json_pack("{s:i, s:i}", "seconds", NM_YARN_LOG_SECONDS, "idle_seconds",
                                                   NM_YARN_LOG_IDLE_SEC)) == 0 &&
        (!s->name_nodes || json_object_set(o, "name_nodes", s->name_nodes) == 0) &&
        (!s->webhdfs || json_object_set(o, "webhdfs", s->webhdfs) == 0))
        text = nm_json_text(o, JSON_COMPACT);
    json_decref(o);
    return text;
}

char *nm_yarn_log_work(const struct nm_yarn_settings *s, const struct nm_yarn_log_book *b, const char *node,
                       const char *const *dirs, size_t n_dirs)
{
    const struct nm_yarn_log_context *c = &b->context;

    return finish(json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:s, s:s, s:s, s:s, s:b, s:b, s:b, s:I, s:I, s:s, "
                            "s:s}", "application", b->id, "user", b->user, "node", node,
                            "format", s->logs.is_indexed ? "IndexedFile" : "TFile", "suffix", s->logs.suffix,
                            "log_dirs", list_dirs(dirs, n_dirs), "containers", list_containers(b),
                            "include", c->include ?: ".*", "exclude", c->exclude ?: "",
                            "rolled_include", c->rolled_include ?: "", "rolled_exclude", c->rolled_exclude ?: "",
                            "rolling", s->logs.roll_usec > 0, "final", b->upload.is_final,
                            "abandoned", b->upload.is_abandoned, "upload_msec", (json_int_t)b->upload.msec,
                            "max_files", (json_int_t)s->logs.max_files,
                            "view_acl", b->view_acl ?: "", "modify_acl", b->modify_acl ?: ""), s);
}

char *nm_yarn_log_work_prepare(const struct nm_yarn_settings *s)
{
    return finish(json_pack("{s:b, s:s, s:s}", "prepare", true, "remote_owner", s->logs.owner, "remote_group",
                            s->logs.group), s);
}
