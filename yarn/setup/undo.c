/* SPDX-License-Identifier: Apache-2.0 */

/* See undo.h. */

#include "yarn/setup/undo.h"

#include <dirent.h>
#include <string.h>

#include "util/fileio.h"
#include "util/refusals.h"
#include "yarn/launch/text.h"
#include "yarn/setup/files.h"

#define NAMES_MAX 64u
#define DIR_MODE 0755 /* of a changed directory, as in plan.c */

/* ---- planning ----------------------------------------------------------------------------- */

static void judge_file(const struct nm_setup_left *l, struct nm_setup_undo_step *s)
{
    if (l->spot.kind == NM_SETUP_NOTHING) {
        s->act = NM_SETUP_GONE;
    } else if (l->spot.kind == NM_SETUP_FILE && nm_setup_entry_has(s->entry, l->spot.sha256)) {
        s->act = NM_SETUP_REMOVE;
    } else {
        s->act = NM_SETUP_STAY;
        s->why = l->spot.kind == NM_SETUP_FILE ? "somebody has changed it since it was written"
                                               : "something else is there by now";
    }
}

static bool is_as(const struct nm_setup_spot *s, uid_t uid, gid_t gid, mode_t mode)
{
    return s->kind == NM_SETUP_DIR && s->uid == uid && s->gid == gid && s->mode == mode;
}

/* Returns whether owner and mode are those that we set, or a mixture with the former ones: chown() and chmod() are two
 * steps, and either the setup or the undo may have been interrupted between them. */
static bool is_of_ours(const struct nm_setup_spot *s, const struct nm_setup_entry *e, uid_t uid, gid_t gid)
{
    return s->kind == NM_SETUP_DIR && (s->mode == DIR_MODE || s->mode == e->mode) &&
           ((s->uid == uid && s->gid == gid) || (s->uid == e->uid && s->gid == e->gid));
}

static void judge_changed(const struct nm_setup_left *l, uid_t uid, gid_t gid, struct nm_setup_undo_step *s)
{
    const struct nm_setup_entry *e = s->entry;

    if (l->spot.kind == NM_SETUP_NOTHING || is_as(&l->spot, e->uid, e->gid, e->mode)) {
        s->act = NM_SETUP_GONE;
    } else if (is_of_ours(&l->spot, e, uid, gid)) {
        s->act = NM_SETUP_RESTORE;
    } else {
        s->act = NM_SETUP_STAY;
        s->why = l->spot.kind == NM_SETUP_DIR ? "somebody has changed its owner or mode since"
                                              : "something else is there by now";
    }
}

static bool will_go(const struct nm_setup_undo *u, const char *path)
{
    for (size_t i = 0; i < u->n; i++)
        if (u->steps[i].act == NM_SETUP_REMOVE && nm_streq(u->steps[i].entry->path, path))
            return true;
    return false;
}

/* Decides on a directory that was made: it stays if it has other contents than what undo removes. */
static int judge_made(const struct nm_setup_left *l, const struct nm_setup_undo *u, const char *manifest_path,
                      struct nm_arena *a, struct nm_setup_undo_step *s)
{
    if (l->spot.kind != NM_SETUP_DIR) {
        s->act = l->spot.kind == NM_SETUP_NOTHING ? NM_SETUP_GONE : NM_SETUP_STAY;
        s->why = s->act == NM_SETUP_STAY ? "something else is there by now" : NULL;
        return 0;
    }
    s->act = NM_SETUP_REMOVE;
    for (const char **name = l->names; name && *name; name++) {
        const char *path = nm_yarn_print(a, "%s/%s", s->entry->path, *name);
        char shown[120];

        if (!path)
            return -ENOMEM;
        if (nm_streq(path, manifest_path) || will_go(u, path))
            continue;
        s->act = NM_SETUP_STAY;
        s->why = nm_yarn_print(a, "it isn't empty (%s)", nm_yarn_conf_shown(*name, shown, sizeof shown));
        return s->why ? 0 : -ENOMEM;
    }
    return 0;
}

/* Returns the next directory to remove, the one with the longest path, so that a directory comes before those above
 * it. */
static size_t next_made(const struct nm_setup_manifest *m, const bool *is_done)
{
    size_t best = m->n;

    for (size_t i = 0; i < m->n; i++)
        if (m->entries[i].kind == NM_SETUP_MADE_DIR && !is_done[i] &&
            (best == m->n || strlen(m->entries[i].path) > strlen(m->entries[best].path)))
            best = i;
    return best;
}

int nm_setup_undo_plan(const struct nm_setup_manifest *m, const struct nm_setup_left *left, uid_t uid, gid_t gid,
                       const char *manifest_path, struct nm_arena *a, struct nm_setup_undo *ret)
{
    struct nm_setup_undo u = {.steps = nm_arena_alloc(a, (m->n + 1) * sizeof *u.steps)};
    bool *is_done = nm_arena_alloc(a, m->n + 1);
    int r = u.steps && is_done ? 0 : -ENOMEM;

    for (size_t i = 0; r == 0 && i < m->n; i++) {
        struct nm_setup_undo_step s = {.entry = &m->entries[i], .spot = &left[i].spot};

        is_done[i] = s.entry->kind != NM_SETUP_MADE_DIR;
        if (s.entry->kind == NM_SETUP_WROTE_FILE)
            judge_file(&left[i], &s);
        else if (s.entry->kind == NM_SETUP_CHANGED_DIR)
            judge_changed(&left[i], uid, gid, &s);
        if (is_done[i])
            u.steps[u.n++] = s;
    }
    for (size_t i; r == 0 && (i = next_made(m, is_done)) < m->n; is_done[i] = true) {
        struct nm_setup_undo_step s = {.entry = &m->entries[i], .spot = &left[i].spot};

        r = judge_made(&left[i], &u, manifest_path, a, &s);
        u.steps[u.n++] = s;
    }
    for (size_t i = 0; r == 0 && i < u.n; i++)
        u.n_staying += u.steps[i].act == NM_SETUP_STAY;
    if (r == 0)
        *ret = u;
    return r;
}

/* ---- looking ------------------------------------------------------------------------------ */

/* Lists some names of a directory. A few are enough: one that isn't ours keeps the directory. */
static int list_names(const char *root, const char *path, struct nm_arena *a, const char ***ret)
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
        if (nm_streq(e->d_name, ".") || nm_streq(e->d_name, ".."))
            continue;
        names[n] = nm_yarn_print(a, "%s", e->d_name);
        if (!names[n++])
            return -ENOMEM;
    }
    names[n] = NULL;
    *ret = names;
    return 0;
}

int nm_setup_undo_look(const char *root, const struct nm_setup_manifest *m, struct nm_arena *a,
                       struct nm_setup_left **ret, char **ret_message)
{
    struct nm_setup_left *left = nm_arena_alloc(a, (m->n + 1) * sizeof *left);
    int r = left ? 0 : -ENOMEM;

    for (size_t i = 0; r == 0 && i < m->n; i++) {
        left[i] = (struct nm_setup_left){};
        r = nm_setup_spot_look(a, root, m->entries[i].path, &left[i].spot);
        if (r == 0 && left[i].spot.error < 0 && left[i].spot.error != -ENOTDIR)
            r = nm_fail(ret_message, left[i].spot.error, "%s can't be looked at: %s", m->entries[i].path,
                        strerror(-left[i].spot.error));
        if (r == 0 && m->entries[i].kind == NM_SETUP_MADE_DIR && left[i].spot.kind == NM_SETUP_DIR)
            r = list_names(root, m->entries[i].path, a, &left[i].names);
    }
    if (r == 0)
        *ret = left;
    return r;
}

/* ---- acting ------------------------------------------------------------------------------- */

static int do_step(const char *root, const struct nm_setup_undo_step *s)
{
    const struct nm_setup_entry *e = s->entry;

    if (s->act == NM_SETUP_RESTORE)
        return nm_setup_change_dir(root, e->path, s->spot->uid, s->spot->gid, s->spot->mode, e->uid, e->gid, e->mode);
    if (s->act != NM_SETUP_REMOVE)
        return 0;
    return e->kind == NM_SETUP_WROTE_FILE ? nm_setup_remove_file(root, e->path) : nm_setup_remove_dir(root, e->path);
}

/* Does the steps for directories above the manifest, or all others. */
static int do_steps(const char *root, const struct nm_setup_undo *u, const char *manifest_path, bool of_manifest,
                    struct nm_refusals *refusals)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < u->n; i++) {
        const struct nm_setup_undo_step *s = &u->steps[i];
        char *message = NULL;

        if (nm_setup_is_above(s->entry->path, manifest_path) != of_manifest)
            continue;
        r = do_step(root, s);
        if (r < 0)
            r = nm_fail(&message, r, "%s can't be %s: %s", s->entry->path,
                        s->act == NM_SETUP_RESTORE ? "given back" : "removed", strerror(-r));
        r = nm_refusals_add(refusals, r, message);
    }
    return r;
}

int nm_setup_undo_act(const char *root, const struct nm_setup_undo *u, const char *manifest_path, char **ret_message)
{
    _cleanup_(nm_refusals_done) struct nm_refusals refusals = {};
    int r = do_steps(root, u, manifest_path, false, &refusals);

    if (r == 0 && !refusals.text) {
        r = nm_setup_remove_file(root, manifest_path);
        if (r < 0)
            return nm_fail(ret_message, r, "%s can't be removed: %s", manifest_path, strerror(-r));
        r = do_steps(root, u, manifest_path, true, &refusals);
    }
    return r < 0 ? r : nm_refusals_take(&refusals, ret_message);
}
