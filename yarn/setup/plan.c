/* SPDX-License-Identifier: Apache-2.0 */

/* See plan.h. */

#include "yarn/setup/plan.h"

#include <string.h>
#include <sys/stat.h>

#include "yarn/setup/files.h"

#define DIR_MODE 0755   /* containers of all users must be able to enter the directory */
#define STATE_MODE 0700 /* StateDirectoryMode= of nmd.service */
#define TMP_MODE 01777

struct planner {
    const struct nm_setup_facts *facts;
    struct nm_arena *arena;
    struct nm_setup_plan *plan;
    size_t room;
};

static int add(struct planner *p, const struct nm_setup_step *step)
{
    if (p->plan->n_steps == p->room) {
        const size_t room = p->room ? 2 * p->room : 32;
        struct nm_setup_step *larger = nm_arena_alloc(p->arena, room * sizeof *larger);

        if (!larger)
            return -ENOMEM;
        if (p->room)
            memcpy(larger, p->plan->steps, p->room * sizeof *larger);
        p->plan->steps = larger;
        p->room = room;
    }
    p->plan->steps[p->plan->n_steps++] = *step;
    p->plan->n_changes += step->act == NM_SETUP_MAKE || step->act == NM_SETUP_CHANGE;
    p->plan->n_left += step->act == NM_SETUP_LEAVE;
    return 0;
}

static bool is_planned(const struct planner *p, const char *path)
{
    for (size_t i = 0; i < p->plan->n_steps; i++)
        if (nm_streq(p->plan->steps[i].path, path))
            return true;
    return false;
}

/* Adds the step that makes a directory, unless the plan already contains this step because of another path. */
static int add_new_dir(struct planner *p, const char *path, mode_t mode)
{
    const struct nm_setup_step step = {.act = NM_SETUP_MAKE, .is_dir = true, .path = path, .mode = mode,
                                       .uid = p->facts->uid, .gid = p->facts->gid};

    return is_planned(p, path) ? 0 : add(p, &step);
}

static int add_parent_dirs(struct planner *p, const struct nm_setup_path *spot)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < spot->n_missing; i++) {
        const char *path = spot->missing[i];

        r = add_new_dir(p, path, nm_streq(path, "/tmp") || nm_streq(path, "/var/tmp") ? TMP_MODE : DIR_MODE);
    }
    return r;
}

static const char *why_not(const struct nm_setup_path *s)
{
    switch (s->kind) {
    case NM_SETUP_LINK:
        return "the path is or contains a symbolic link, which the setup doesn't follow";
    case NM_SETUP_FILE:
        return "it is a file";
    case NM_SETUP_DIR:
        return "it is a directory";
    case NM_SETUP_NOTHING:
    case NM_SETUP_OTHER:
        break;
    }
    return s->error < 0 ? strerror(-s->error) : "it is neither a file nor a directory";
}

static bool is_mended(const struct planner *p, const char *path)
{
    for (size_t i = 0; i < p->plan->n_steps; i++)
        if (p->plan->steps[i].act == NM_SETUP_CHANGE && nm_streq(p->plan->steps[i].path, path))
            return true;
    return false;
}

/* Returns whether users other than root can change a directory above the path, and so replace the path, even after all
 * steps that have been planned before. */
static bool is_weak(const struct planner *p, const struct nm_setup_path *s)
{
    for (size_t i = 0; i < s->n_weak; i++)
        if (!is_mended(p, s->weak[i]))
            return true;
    return false;
}

/* Explains why no file is written below a directory that users other than root can change: these users could replace
 * the file. Names all such directories, because the administrator must fix all of them. Returns false without
 * memory. */
static bool explain_weak(struct planner *p, const struct nm_setup_path *s, struct nm_setup_step *step)
{
    size_t n = 0;

    step->weak = "";
    for (size_t i = 0; step->weak && i < s->n_weak; i++)
        if (!is_mended(p, s->weak[i]))
            step->weak = nm_arena_print(p->arena, "%s%s%s", step->weak, n++ > 0 ? " and " : "", s->weak[i]);
    if (step->weak)
        step->why = nm_arena_print(p->arena, "users other than root can change %s, which %s above it (to fix this, run "
                                   "chown root and chmod go-w on %s, unless other users need to write there)",
                                   step->weak, n > 1 ? "are" : "is", n > 1 ? "them" : "it");
    return step->weak && step->why;
}

/* ---- files -------------------------------------------------------------------------------- */

static const char *why_leave(const struct nm_setup_path *spot, bool is_noted)
{
    if (spot->kind != NM_SETUP_FILE || spot->error < 0)
        return why_not(spot);
    return is_noted ? "it was changed after the setup wrote it"
                    : "no setup has written it";
}

static int add_file(struct planner *p, const struct nm_setup_path *spot, const char *text)
{
    const struct nm_setup_entry *e = nm_setup_manifest_find(&p->facts->manifest, NM_SETUP_WROTE_FILE, spot->path);
    struct nm_setup_step step = {.path = spot->path, .text = text};
    const char *sum = text ? nm_setup_sha256(p->arena, text, strlen(text)) : NULL;
    const bool below_weak = is_weak(p, spot);
    int r;

    if (!sum)
        return -ENOMEM;
    if (spot->kind == NM_SETUP_NOTHING && !below_weak)
        step.act = NM_SETUP_MAKE;
    else if (spot->kind == NM_SETUP_FILE && spot->sha256 && nm_streq(spot->sha256, sum))
        step.act = NM_SETUP_KEEP;
    else if (spot->kind == NM_SETUP_FILE && !below_weak && e && nm_setup_entry_has(e, spot->sha256))
        step.act = NM_SETUP_CHANGE;
    else
        step.act = NM_SETUP_LEAVE;
    if (step.act == NM_SETUP_LEAVE && !below_weak)
        step.why = why_leave(spot, e);
    else if (step.act == NM_SETUP_LEAVE && !explain_weak(p, spot, &step))
        return -ENOMEM;
    r = step.act == NM_SETUP_MAKE ? add_parent_dirs(p, spot) : 0;
    return r < 0 ? r : add(p, &step);
}

/* ---- directories -------------------------------------------------------------------------- */

/* Returns the reason why the owner of a directory must not be changed, or NULL. Such a directory also has other uses,
 * and yarn-site.xml may name it by mistake. */
static const char *why_shared(const struct nm_setup_path *s)
{
    if (s->mode & S_ISVTX)
        return "all users share it";
    if (!strchr(s->path + 1, '/'))
        return "it is directly below the root directory, and other programs may depend on its owner and mode";
    if (strncmp(s->path, "/home/", 6) == 0 && !strchr(s->path + 6, '/'))
        return "it is a home directory";
    return NULL;
}

/* Decides what to do with a directory. Hadoop's NodeManager requires that its directories belong to its user. nmd
 * requires that only root can write to them. */
static struct nm_setup_step dir_step(const struct planner *p, const struct nm_setup_path *spot)
{
    struct nm_setup_step step = {.is_dir = true, .path = spot->path, .mode = DIR_MODE, .uid = p->facts->uid,
                                 .gid = p->facts->gid, .old_uid = spot->uid, .old_gid = spot->gid,
                                 .old_mode = spot->mode};
    const bool below_weak = is_weak(p, spot);

    if (spot->is_usable || (spot->is_private && !below_weak))
        step.act = NM_SETUP_KEEP;
    else if (below_weak || (spot->kind == NM_SETUP_DIR ? why_shared(spot) != NULL : spot->kind != NM_SETUP_NOTHING))
        step.act = NM_SETUP_LEAVE;
    else
        step.act = spot->kind == NM_SETUP_DIR ? NM_SETUP_CHANGE : NM_SETUP_MAKE;
    return step;
}

/* Adds the step for a directory. First adds the steps for all directories above it that are in the list, whatever their
 * order there, because they determine whether this directory can be made. */
static int add_dir(struct planner *p, const struct nm_setup_path *spot)
{
    struct nm_setup_step step;
    int r = 0;

    if (is_planned(p, spot->path))
        return 0;
    for (size_t i = 0; r == 0 && i < p->facts->n_dirs; i++)
        if (nm_setup_is_above(p->facts->dirs[i].path, spot->path))
            r = add_dir(p, &p->facts->dirs[i]);
    if (r < 0 || is_planned(p, spot->path))
        return r;
    step = dir_step(p, spot);
    if (step.act == NM_SETUP_LEAVE && !is_weak(p, spot))
        step.why = spot->kind == NM_SETUP_DIR ? why_shared(spot) : why_not(spot);
    else if (step.act == NM_SETUP_LEAVE && !explain_weak(p, spot, &step))
        return -ENOMEM;
    r = step.act == NM_SETUP_MAKE ? add_parent_dirs(p, spot) : 0;
    return r < 0 ? r : add(p, &step);
}

/* Adds nmd's state directory, which will contain the manifest. It must be added because systemd makes this directory
 * only when it starts nmd for the first time. */
static int add_state(struct planner *p)
{
    const struct nm_setup_path *s = &p->facts->state;
    int r = 0;

    if (s->kind == NM_SETUP_NOTHING)
        r = add_parent_dirs(p, s);
    return r < 0 || s->kind != NM_SETUP_NOTHING ? r : add_new_dir(p, s->path, STATE_MODE);
}

int nm_setup_plan_make(const struct nm_setup_request *w, const struct nm_yarn_settings *s,
                       const struct nm_setup_facts *f,
                       struct nm_arena *a, struct nm_setup_plan *ret)
{
    struct nm_setup_plan plan = {};
    struct planner p = {.facts = f, .arena = a, .plan = &plan};
    int r = add_state(&p);

    for (size_t i = 0; r == 0 && i < f->n_dirs; i++)
        r = add_dir(&p, &f->dirs[i]);
    if (r == 0)
        r = add_file(&p, &f->unit, nm_setup_unit_text(w, s, f, a));
    if (r == 0) /* this file comes last, because it makes nmd a node at its next start */
        r = add_file(&p, &f->config, nm_setup_config_text(w, a));
    if (r == 0)
        r = nm_setup_advise(w, s, f, a, &plan.advice, &plan.n_advice);
    if (r == 0)
        *ret = plan;
    return r;
}

/* ---- the manifest ------------------------------------------------------------------------- */

/* Removes entries of other kinds for the same path. Their files no longer exist or were replaced. */
static void drop_others(struct nm_setup_manifest *m, enum nm_setup_entry_kind kind, const char *path)
{
    size_t n = 0;

    for (size_t i = 0; i < m->n; i++)
        if (m->entries[i].kind == kind || !nm_streq(m->entries[i].path, path))
            m->entries[n++] = m->entries[i];
    m->n = n;
}

/* Adds an entry for the step. If the entry exists already, its former owner and mode are kept, because undo must
 * restore them. */
static int note(struct nm_setup_manifest *m, const struct nm_setup_step *step, bool done, struct nm_arena *a)
{
    const enum nm_setup_entry_kind kind = !step->is_dir               ? NM_SETUP_WROTE_FILE
                                          : step->act == NM_SETUP_MAKE ? NM_SETUP_MADE_DIR
                                                                       : NM_SETUP_CHANGED_DIR;
    struct nm_setup_entry *e;
    const char *sum;

    drop_others(m, kind, step->path);
    e = (struct nm_setup_entry *)nm_setup_manifest_find(m, kind, step->path);
    if (!e) {
        e = &m->entries[m->n++];
        *e = (struct nm_setup_entry){.kind = kind, .path = step->path, .uid = step->old_uid, .gid = step->old_gid,
                                     .mode = step->old_mode};
    }
    if (step->is_dir)
        return 0;
    sum = nm_setup_sha256(a, step->text, strlen(step->text));
    if (!sum)
        return -ENOMEM;
    if (done || !e->sums[0] || !nm_streq(e->sums[0], sum))
        e->sums[1] = done ? NULL : e->sums[0];
    e->sums[0] = sum;
    return 0;
}

int nm_setup_plan_note(const struct nm_setup_request *w, const struct nm_setup_manifest *before,
                       const struct nm_setup_plan *p, bool done, struct nm_arena *a, struct nm_setup_manifest *ret)
{
    struct nm_setup_manifest m = {
        .conf_dir = w->conf_dir,
        .entries = nm_arena_alloc(a, (before->n + p->n_steps + 1) * sizeof *m.entries),
        .n = before->n,
    };
    int r = 0;

    if (!m.entries)
        return -ENOMEM;
    if (before->n > 0)
        memcpy(m.entries, before->entries, before->n * sizeof *m.entries);
    for (size_t i = 0; r == 0 && i < p->n_steps; i++)
        if (p->steps[i].act == NM_SETUP_MAKE || p->steps[i].act == NM_SETUP_CHANGE)
            r = note(&m, &p->steps[i], done, a);
    if (r == 0)
        *ret = m;
    return r;
}
