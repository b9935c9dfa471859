/* SPDX-License-Identifier: Apache-2.0 */

/* See manifest.h. The manifest is JSON. Only root can write it, but the paths are checked nevertheless, because nmd
 * removes the files with these paths. */

#include "yarn/setup/manifest.h"

#include <jansson.h>

#include "util/fileio.h"
#include "util/json-text.h"

#define MANIFEST_VERSION 1
#define SIZE_MAX_BYTES ((size_t)1 << 20)
#define ENTRIES_MAX 1000u

static const char *const kinds[] = {
    [NM_SETUP_WROTE_FILE] = "file",
    [NM_SETUP_MADE_DIR] = "directory",
    [NM_SETUP_CHANGED_DIR] = "owner",
};

const struct nm_setup_entry *nm_setup_manifest_find(const struct nm_setup_manifest *m, enum nm_setup_entry_kind kind,
                                                    const char *path)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->entries[i].kind == kind && nm_streq(m->entries[i].path, path))
            return &m->entries[i];
    return NULL;
}

bool nm_setup_entry_has(const struct nm_setup_entry *e, const char *sum)
{
    for (size_t i = 0; sum && i < NM_ARRAY_SIZE(e->sums); i++)
        if (e->sums[i] && nm_streq(e->sums[i], sum))
            return true;
    return false;
}

/* ---- reading ------------------------------------------------------------------------------ */

/* Returns whether the path is absolute and has no "." or ".." component. */
static bool is_plain(const char *path)
{
    if (!path || *path != '/' || !path[1])
        return false;
    for (const char *p = path; (p = strchr(p, '/')); p++)
        if (p[1] == '/' || !p[1] || strncmp(p, "/../", 4) == 0 || nm_streq(p, "/.."))
            return false;
    return true;
}

static const char *copy_text(struct nm_arena *a, const json_t *value)
{
    const char *text = json_string_value(value);

    return text ? nm_arena_print(a, "%s", text) : NULL;
}

static int read_sums(struct nm_arena *a, const json_t *list, struct nm_setup_entry *e)
{
    const size_t n = json_array_size(list);

    if (n == 0 || n > NM_ARRAY_SIZE(e->sums))
        return -EBADMSG;
    for (size_t i = 0; i < n; i++) {
        const json_t *sum = json_array_get(list, i);

        if (json_string_length(sum) != NM_SETUP_SHA256_SIZE)
            return -EBADMSG;
        e->sums[i] = copy_text(a, sum);
        if (!e->sums[i])
            return -ENOMEM;
    }
    return 0;
}

static int read_owner(const json_t *object, struct nm_setup_entry *e)
{
    json_int_t uid, gid, mode;

    if (json_unpack((json_t *)object, "{s:I, s:I, s:I}", "uid", &uid, "gid", &gid, "mode", &mode) < 0 || uid < 0 ||
        uid >= UINT32_MAX || gid < 0 || gid >= UINT32_MAX || mode < 0 || mode > 07777)
        return -EBADMSG;
    e->uid = (uid_t)uid;
    e->gid = (gid_t)gid;
    e->mode = (mode_t)mode;
    return 0;
}

static int find_kind(const char *name, enum nm_setup_entry_kind *ret)
{
    for (size_t i = 0; name && i < NM_ARRAY_SIZE(kinds); i++)
        if (nm_streq(name, kinds[i])) {
            *ret = (enum nm_setup_entry_kind)i;
            return 0;
        }
    return -EBADMSG;
}

static int read_entry(struct nm_arena *a, const json_t *object, struct nm_setup_entry *ret)
{
    struct nm_setup_entry e = {};
    int r = find_kind(json_string_value(json_object_get(object, "kind")), &e.kind);

    if (r < 0 || !is_plain(json_string_value(json_object_get(object, "path"))))
        return -EBADMSG;
    e.path = copy_text(a, json_object_get(object, "path"));
    if (!e.path)
        return -ENOMEM;
    if (e.kind == NM_SETUP_WROTE_FILE)
        r = read_sums(a, json_object_get(object, "sha256"), &e);
    else if (e.kind == NM_SETUP_CHANGED_DIR)
        r = read_owner(object, &e);
    if (r == 0)
        *ret = e;
    return r;
}

static int read_entries(struct nm_arena *a, const json_t *root, struct nm_setup_manifest *ret)
{
    const json_t *list = json_object_get(root, "entries");
    const size_t n = json_array_size(list);
    struct nm_setup_manifest m = {.conf_dir = copy_text(a, json_object_get(root, "conf_dir"))};
    int r = 0;

    /* conf_dir isn't checked: it is only displayed */
    if (json_integer_value(json_object_get(root, "version")) != MANIFEST_VERSION || !json_is_array(list) ||
        n > ENTRIES_MAX || !json_is_string(json_object_get(root, "conf_dir")))
        return -EBADMSG;
    m.entries = nm_arena_alloc(a, (n + 1) * sizeof *m.entries);
    if (!m.conf_dir || !m.entries)
        return -ENOMEM;
    for (m.n = 0; r == 0 && m.n < n; m.n++)
        r = read_entry(a, json_array_get(list, m.n), &m.entries[m.n]);
    if (r == 0)
        *ret = m;
    return r;
}

int nm_setup_manifest_parse(struct nm_arena *a, const char *text, size_t size, struct nm_setup_manifest *ret,
                            char **ret_message)
{
    json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
    int r = root ? read_entries(a, root, ret) : -EBADMSG;

    json_decref(root);
    return r == -EBADMSG ? nm_fail(ret_message, r, "it is not a list of the changes of a setup") : r;
}

int nm_setup_manifest_load(struct nm_arena *a, const char *path, struct nm_setup_manifest *ret, char **ret_message)
{
    _cleanup_free_ uint8_t *data = NULL;
    _cleanup_free_ char *why = NULL;
    size_t size;
    int r = nm_read_regular_at(AT_FDCWD, path, SIZE_MAX_BYTES, &data, &size);

    if (r == -ENOENT || r == -ENOTDIR) {
        *ret = (struct nm_setup_manifest){};
        return 0;
    }
    if (r == 0)
        r = nm_setup_manifest_parse(a, (const char *)data, size, ret, &why);
    if (r < 0 && r != -ENOMEM)
        return nm_fail(ret_message, r, "can't read %s, the list of the changes of an earlier setup: %s", path,
                       why ?: r == -EBADMSG ? "it is not a regular file, or too large" : strerror(-r));
    return r;
}

/* ---- writing ------------------------------------------------------------------------------ */

static json_t *pack_entry(const struct nm_setup_entry *e)
{
    switch (e->kind) {
    case NM_SETUP_WROTE_FILE:
        return e->sums[1] ? json_pack("{s:s, s:s, s:[s, s]}", "kind", kinds[e->kind], "path", e->path, "sha256",
                                      e->sums[0], e->sums[1])
                          : json_pack("{s:s, s:s, s:[s]}", "kind", kinds[e->kind], "path", e->path, "sha256",
                                      e->sums[0]);
    case NM_SETUP_CHANGED_DIR:
        return json_pack("{s:s, s:s, s:I, s:I, s:I}", "kind", kinds[e->kind], "path", e->path, "uid",
                         (json_int_t)e->uid, "gid", (json_int_t)e->gid, "mode", (json_int_t)e->mode);
    case NM_SETUP_MADE_DIR:
        break;
    }
    return json_pack("{s:s, s:s}", "kind", kinds[e->kind], "path", e->path);
}

int nm_setup_manifest_print(const struct nm_setup_manifest *m, char **ret)
{
    json_t *list = json_array(), *root;
    char *text;

    for (size_t i = 0; i < m->n; i++)
        if (json_array_append_new(list, pack_entry(&m->entries[i])) < 0) {
            json_decref(list);
            return -ENOMEM;
        }
    root = json_pack("{s:i, s:s, s:o}", "version", MANIFEST_VERSION, "conf_dir", m->conf_dir, "entries", list);
    text = nm_json_text(root, JSON_INDENT(1));
    json_decref(root);
    if (!text)
        return -ENOMEM;
    *ret = text;
    return 0;
}
