/* SPDX-License-Identifier: Apache-2.0 */

/* See undo.h. */

#include "yarn/setup/undo.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#include "util/error.h"
#include "util/fileio.h"
#include "yarn/launch/dir-id.h"
#include "yarn/setup/files.h"

#define NAMES_MAX 64u
#define SHOWN_MAX 4u /* maximum number of names in a reason */
#define DIR_MODE 0755 /* the mode that the setup has set for a changed directory, as in plan.c */

/* ---- plan --------------------------------------------------------------------------------- */

static void check_file(const struct nm_setup_remaining *l, struct nm_setup_undo_step *s)
{
    if (l->spot.kind == NM_SETUP_NOTHING) {
        s->act = NM_SETUP_GONE;
    } else if (l->spot.kind == NM_SETUP_FILE && nm_setup_entry_has(s->entry, l->spot.sha256)) {
        s->act = NM_SETUP_REMOVE;
    } else {
        s->act = NM_SETUP_STAY;
        s->why = l->spot.kind == NM_SETUP_FILE ? "it was changed after the setup wrote it"
                                               : "another file or directory has replaced it";
    }
}

static bool is_as(const struct nm_setup_path *s, uid_t uid, gid_t gid, mode_t mode)
{
    return s->kind == NM_SETUP_DIR && s->uid == uid && s->gid == gid && s->mode == mode;
}

/* Returns whether owner and mode are those that the setup has set, or a mixture of these and the former ones. A mixture
 * is possible because chown() and chmod() are two steps, and the setup or the undo may have been interrupted between
 * them. */
static bool has_setup_owner_and_mode(const struct nm_setup_path *s, const struct nm_setup_entry *e, uid_t uid,
                                     gid_t gid)
{
    return s->kind == NM_SETUP_DIR && (s->mode == DIR_MODE || s->mode == e->mode) &&
           ((s->uid == uid && s->gid == gid) || (s->uid == e->uid && s->gid == e->gid));
}

/* Explains which files remain in a restored directory. Containers of the node leave files that belong to root, and the
 * former owner of the directory can't write to them. */
static const char *why_not_all(const struct nm_setup_entry *e, const char **names, struct nm_arena *a)
{
    char list[SHOWN_MAX * 64 + 20] = "", shown[60];
    size_t n = 0, n_names = 0;

    for (; names[n_names]; n_names++)
        if (n_names < SHOWN_MAX)
            n += (size_t)snprintf(list + n, sizeof list - n, "%s%s", n_names > 0 ? ", " : "",
                                  nm_yarn_conf_printable(names[n_names], shown, sizeof shown));
    return nm_arena_print(a, "files of jobs in it still belong to root (%s%s): before Hadoop's NodeManager starts, run"
                          " chown -R %u:%u %s, or empty it", list, n_names > SHOWN_MAX ? " and more" : "", e->uid,
                          e->gid, e->path);
}

static bool is_listed(const struct nm_setup_manifest *m, const char *dir, const char *name)
{
    for (size_t i = 0; i < m->n; i++)
        if (nm_setup_is_above(dir, m->entries[i].path) && nm_streq(m->entries[i].path + strlen(dir) + 1, name))
            return true;
    return false;
}

/* Copies the names, except those that have their own entry in the manifest, and so their own steps. */
static int leave_out_listed(const struct nm_setup_manifest *m, const char *dir, const char **names, struct nm_arena *a,
                            const char ***ret)
{
    size_t n = 0, room = 0;

    while (names[room])
        room++;
    *ret = nm_arena_alloc(a, (room + 1) * sizeof **ret);
    if (!*ret)
        return -ENOMEM;
    for (size_t i = 0; i < room; i++)
        if (!is_listed(m, dir, names[i]))
            (*ret)[n++] = names[i];
    (*ret)[n] = NULL;
    return 0;
}

static int check_changed(const struct nm_setup_manifest *m, const struct nm_setup_remaining *l, uid_t uid, gid_t gid,
                         struct nm_arena *a, struct nm_setup_undo_step *s)
{
    const struct nm_setup_entry *e = s->entry;
    const char **names;

    if (l->spot.kind == NM_SETUP_NOTHING || is_as(&l->spot, e->uid, e->gid, e->mode)) {
        s->act = NM_SETUP_GONE;
    } else if (has_setup_owner_and_mode(&l->spot, e, uid, gid)) {
        s->act = NM_SETUP_RESTORE;
    } else {
        s->act = NM_SETUP_STAY;
        s->why = l->spot.kind == NM_SETUP_DIR ? "its owner or mode was changed after the setup"
                                              : "another file or directory has replaced it";
    }
    if (s->act == NM_SETUP_STAY || e->uid == uid || !l->names)
        return 0;
    if (leave_out_listed(m, e->path, l->names, a, &names) < 0)
        return -ENOMEM;
    s->why = names[0] ? why_not_all(e, names, a) : NULL;
    return names[0] && !s->why ? -ENOMEM : 0;
}

static bool will_remove(const struct nm_setup_undo *u, const char *path)
{
    for (size_t i = 0; i < u->n; i++)
        if (u->steps[i].act == NM_SETUP_REMOVE && nm_streq(u->steps[i].entry->path, path))
            return true;
    return false;
}

/* Returns the path of the temporary file (NM_SETUP_NEW_NAME) of a file. NULL: no memory. */
static const char *new_name_of(const char *path, struct nm_arena *a)
{
    const char *slash = strrchr(path, '/');

    return nm_arena_print(a, "%.*s/" NM_SETUP_NEW_NAME, (int)(slash - path), path, slash + 1);
}

/* Decides what to do with a directory that the setup has made. The directory is kept if it contains more than the undo
 * removes. A manifest that is kept because of other entries counts as content, too. */
static int check_made(const struct nm_setup_remaining *l, const struct nm_setup_undo *u, const char *manifest_path,
                      struct nm_arena *a, struct nm_setup_undo_step *s)
{
    const char *manifest_new = new_name_of(manifest_path, a);

    if (l->spot.kind != NM_SETUP_DIR) {
        s->act = l->spot.kind == NM_SETUP_NOTHING ? NM_SETUP_GONE : NM_SETUP_STAY;
        s->why = s->act == NM_SETUP_STAY ? "another file or directory has replaced it" : NULL;
        return 0;
    }
    s->act = NM_SETUP_REMOVE;
    if (!manifest_new)
        return -ENOMEM;
    for (const char **name = l->names; name && *name; name++) {
        const char *path = nm_arena_print(a, "%s/%s", s->entry->path, *name);
        char shown[120];

        if (!path)
            return -ENOMEM;
        if (will_remove(u, path) || nm_streq(path, manifest_new) ||
            (nm_streq(path, manifest_path) && u->kept.n == 0))
            continue;
        s->act = NM_SETUP_STAY;
        s->why = nm_arena_print(a, "it isn't empty (%s)", nm_yarn_conf_printable(*name, shown, sizeof shown));
        return s->why ? 0 : -ENOMEM;
    }
    return 0;
}

/* Returns whether a directory must be removed after the other directory. The directories above the manifest come last,
 * because the manifest is removed only if no other entry is kept. Among the others, a directory comes before its parent
 * directories. */
static bool is_later(const char *path, const char *other, const char *manifest_path)
{
    const bool is_last = nm_setup_is_above(path, manifest_path);

    return is_last != nm_setup_is_above(other, manifest_path) ? is_last : strlen(path) < strlen(other);
}

static size_t next_made(const struct nm_setup_manifest *m, const char *manifest_path, const bool *is_done)
{
    size_t best = m->n;

    for (size_t i = 0; i < m->n; i++)
        if (m->entries[i].kind == NM_SETUP_MADE_DIR && !is_done[i] &&
            (best == m->n || is_later(m->entries[best].path, m->entries[i].path, manifest_path)))
            best = i;
    return best;
}

static void add_step(struct nm_setup_undo *u, const struct nm_setup_undo_step *s)
{
    u->steps[u->n++] = *s;
    if (s->act == NM_SETUP_STAY)
        u->kept.entries[u->kept.n++] = *s->entry;
}

/* Adds the step that removes the temporary file of a file. */
static int add_new_name(struct nm_setup_undo *u, const struct nm_setup_entry *e, struct nm_arena *a)
{
    struct nm_setup_entry *own = nm_arena_alloc(a, sizeof *own);
    const struct nm_setup_undo_step s = {.act = NM_SETUP_REMOVE, .entry = own};

    if (!own)
        return -ENOMEM;
    *own = (struct nm_setup_entry){.kind = NM_SETUP_WROTE_FILE, .path = new_name_of(e->path, a)};
    if (!own->path)
        return -ENOMEM;
    add_step(u, &s);
    return 0;
}

int nm_setup_undo_plan(const struct nm_setup_manifest *m, const struct nm_setup_remaining *left, uid_t uid, gid_t gid,
                       const char *manifest_path, struct nm_arena *a, struct nm_setup_undo *ret)
{
    struct nm_setup_undo u = {
        .steps = nm_arena_alloc(a, (2 * m->n + 1) * sizeof *u.steps),
        .kept = {.conf_dir = m->conf_dir, .entries = nm_arena_alloc(a, (m->n + 1) * sizeof *u.kept.entries)},
    };
    bool *is_done = nm_arena_alloc(a, m->n + 1);
    int r = u.steps && u.kept.entries && is_done ? 0 : -ENOMEM;

    for (size_t i = 0; r == 0 && i < m->n; i++) {
        struct nm_setup_undo_step s = {.entry = &m->entries[i], .spot = &left[i].spot};

        is_done[i] = s.entry->kind != NM_SETUP_MADE_DIR;
        if (s.entry->kind == NM_SETUP_WROTE_FILE)
            check_file(&left[i], &s);
        else if (s.entry->kind == NM_SETUP_CHANGED_DIR)
            r = check_changed(m, &left[i], uid, gid, a, &s);
        if (is_done[i])
            add_step(&u, &s);
        if (r == 0 && left[i].has_new)
            r = add_new_name(&u, s.entry, a);
    }
    for (size_t i; r == 0 && (i = next_made(m, manifest_path, is_done)) < m->n; is_done[i] = true) {
        struct nm_setup_undo_step s = {.entry = &m->entries[i], .spot = &left[i].spot};

        r = check_made(&left[i], &u, manifest_path, a, &s);
        add_step(&u, &s);
    }
    if (r == 0)
        *ret = u;
    return r;
}

/* ---- examination -------------------------------------------------------------------------- */

/* Returns whether the entry belongs to this user. Is false for lost+found, which is in the top directory of a disk and
 * always belongs to root. */
static bool is_of_user(DIR *d, const char *name)
{
    struct stat st;

    return !nm_streq(name, "lost+found") && fstatat(dirfd(d), name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           st.st_uid == geteuid();
}

/* Returns whether the name stands for something that stays if the directory stays. nmd's id goes with nmd. */
static bool is_content(const char *name)
{
    return !nm_streq(name, ".") && !nm_streq(name, "..") && !nm_streq(name, NM_YARN_DIR_ID_FILE);
}

/* Lists some names in a directory. own: only the names of files that belong to this user. A few names are enough,
 * because a single unexpected file is a reason to keep the directory. */
static int list_names(const char *root, const char *path, bool own, struct nm_arena *a, const char ***ret)
{
    _cleanup_free_ char *full = NULL;
    _cleanup_closedir_ DIR *d = NULL;
    const char **names = nm_arena_alloc(a, (NAMES_MAX + 1) * sizeof *names);
    const struct dirent *e;
    size_t n = 0;

    if (!names || asprintf(&full, "%s%s", root, path) < 0) {
        full = NULL;
        return -ENOMEM;
    }
    (void)nm_fdopendir(nm_open_no_links(full, O_RDONLY | O_DIRECTORY), &d);
    while (d && n < NAMES_MAX && (e = readdir(d))) {
        if (!is_content(e->d_name) || (own && !is_of_user(d, e->d_name)))
            continue;
        names[n] = nm_arena_print(a, "%s", e->d_name);
        if (!names[n++])
            return -ENOMEM;
    }
    names[n] = NULL;
    *ret = names;
    return 0;
}

static int find_new(const char *root, const char *path, struct nm_arena *a, bool *ret)
{
    const char *name = new_name_of(path, a);
    struct nm_setup_path spot;
    int r = name ? nm_setup_path_examine(a, root, name, &spot) : -ENOMEM;

    if (r == 0)
        *ret = spot.kind == NM_SETUP_FILE;
    return r;
}

int nm_setup_undo_examine(const char *root, const struct nm_setup_manifest *m, struct nm_arena *a,
                          struct nm_setup_remaining **ret, char **ret_message)
{
    struct nm_setup_remaining *left = nm_arena_alloc(a, (m->n + 1) * sizeof *left);
    int r = left ? 0 : -ENOMEM;

    for (size_t i = 0; r == 0 && i < m->n; i++) {
        left[i] = (struct nm_setup_remaining){};
        r = nm_setup_path_examine(a, root, m->entries[i].path, &left[i].spot);
        if (r == 0 && left[i].spot.error < 0 && left[i].spot.error != -ENOTDIR)
            r = nm_fail(ret_message, left[i].spot.error, "can't examine %s: %s", m->entries[i].path,
                        strerror(-left[i].spot.error));
        if (r == 0 && m->entries[i].kind == NM_SETUP_WROTE_FILE)
            r = find_new(root, m->entries[i].path, a, &left[i].has_new);
        else if (r == 0 && left[i].spot.kind == NM_SETUP_DIR)
            r = list_names(root, m->entries[i].path, m->entries[i].kind == NM_SETUP_CHANGED_DIR, a, &left[i].names);
    }
    if (r == 0)
        *ret = left;
    return r;
}

/* ---- execution ---------------------------------------------------------------------------- */

/* Removes the id that nmd has given to a local or log directory. */
static int remove_id(const char *root, const char *dir)
{
    _cleanup_free_ char *path = nm_strdup_printf("%s/" NM_YARN_DIR_ID_FILE, dir);

    return path ? nm_setup_remove_file(root, path) : -ENOMEM;
}

static int do_step(const char *root, const struct nm_setup_undo_step *s)
{
    const struct nm_setup_entry *e = s->entry;
    int r;

    if (s->act != NM_SETUP_RESTORE && s->act != NM_SETUP_REMOVE)
        return 0;
    if (e->kind == NM_SETUP_WROTE_FILE)
        return nm_setup_remove_file(root, e->path);
    r = remove_id(root, e->path);
    if (r < 0)
        return r;
    if (s->act == NM_SETUP_REMOVE)
        return nm_setup_remove_dir(root, e->path);
    return nm_setup_change_dir(root, e->path, s->spot->uid, s->spot->gid, s->spot->mode, e->uid, e->gid, e->mode);
}

static int note_failure(const struct nm_setup_undo_step *s, int r, struct nm_refusals *refusals)
{
    char *message = NULL;

    if (r < 0)
        r = nm_fail(&message, r, "%s can't be %s: %s", s->entry->path,
                    s->act == NM_SETUP_RESTORE ? "restored" : "removed", strerror(-r));
    return nm_refusals_add(refusals, r, message);
}

/* Executes either the steps for directories above the manifest, or all other steps. */
static int do_steps(const char *root, const struct nm_setup_undo *u, const char *manifest_path, bool of_manifest,
                    struct nm_refusals *refusals)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < u->n; i++) {
        const struct nm_setup_undo_step *s = &u->steps[i];

        if (nm_setup_is_above(s->entry->path, manifest_path) == of_manifest)
            r = note_failure(s, do_step(root, s), refusals);
    }
    return r;
}

/* Removes the manifest, or replaces it by a manifest with the entries that are kept. */
static int finish_manifest(const char *root, const struct nm_setup_manifest *kept, const char *manifest_path,
                           char **ret_message)
{
    _cleanup_free_ char *text = NULL, *new_name = NULL;
    const char *slash = strrchr(manifest_path, '/');
    int r = asprintf(&new_name, "%.*s/" NM_SETUP_NEW_NAME, (int)(slash - manifest_path), manifest_path, slash + 1);

    if (r < 0) {
        new_name = NULL;
        return -ENOMEM;
    }
    r = nm_setup_remove_file(root, new_name); /* an interrupted setup may have left this file */
    if (r == 0 && kept->n > 0)
        r = nm_setup_manifest_print(kept, &text);
    if (r == 0)
        r = text ? nm_setup_write_file(root, manifest_path, text, 0600) : nm_setup_remove_file(root, manifest_path);
    if (r < 0 && r != -ENOMEM)
        return nm_fail(ret_message, r, "%s can't be %s: %s", manifest_path, text ? "written" : "removed",
                       strerror(-r));
    return r;
}

int nm_setup_undo_act(const char *root, const struct nm_setup_undo *u, const char *manifest_path, char **ret_message)
{
    _cleanup_(nm_refusals_done) struct nm_refusals refusals = {};
    int r = do_steps(root, u, manifest_path, false, &refusals);

    if (r == 0 && !refusals.text) {
        r = finish_manifest(root, &u->kept, manifest_path, ret_message);
        if (r < 0)
            return r;
        r = do_steps(root, u, manifest_path, true, &refusals);
    }
    return r < 0 ? r : nm_refusals_take(&refusals, ret_message);
}

int nm_setup_undo_check(const char *root, const struct nm_setup_undo *u, const char *manifest_path, char **ret_message)
{
    _cleanup_(nm_refusals_done) struct nm_refusals refusals = {};
    char *message = NULL;
    int r = 0;

    for (size_t i = 0; r == 0 && i < u->n; i++) {
        const struct nm_setup_undo_step *s = &u->steps[i];

        if (s->act == NM_SETUP_REMOVE || s->act == NM_SETUP_RESTORE)
            r = note_failure(s, nm_setup_check_write(root, s->entry->path, s->act == NM_SETUP_RESTORE), &refusals);
    }
    if (r == 0)
        r = nm_setup_check_write(root, manifest_path, false);
    if (r < 0 && r != -ENOMEM) {
        r = nm_fail(&message, r, "%s can't be changed: %s", manifest_path, strerror(-r));
        r = nm_refusals_add(&refusals, r, message);
    }
    return r < 0 ? r : nm_refusals_take(&refusals, ret_message);
}
