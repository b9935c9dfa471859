/* SPDX-License-Identifier: Apache-2.0 */

/* See plan.h. */

#include "yarn/setup/plan.h"

#include <string.h>

#include "util/error.h"
#include "yarn/setup/files.h"

#define FILE_MODE 0644

static int do_step(const char *root, const struct nm_setup_step *s)
{
    switch (s->act) {
    case NM_SETUP_MAKE:
        return s->is_dir ? nm_setup_make_dir(root, s->path, s->uid, s->gid, s->mode)
                         : nm_setup_write_file(root, s->path, s->text, FILE_MODE);
    case NM_SETUP_CHANGE:
        return s->is_dir ? nm_setup_change_dir(root, s->path, s->old_uid, s->old_gid, s->old_mode, s->uid, s->gid,
                                               s->mode)
                         : nm_setup_write_file(root, s->path, s->text, FILE_MODE);
    case NM_SETUP_KEEP:
    case NM_SETUP_LEAVE:
        break;
    }
    return 0;
}

static int note_failure(const struct nm_setup_step *s, int r, struct nm_refusals *refusals)
{
    char *message = NULL;

    if (r < 0)
        r = nm_fail(&message, r, "%s can't be %s: %s", s->path,
                    s->act == NM_SETUP_CHANGE ? "changed" : s->is_dir ? "made" : "written", strerror(-r));
    return nm_refusals_add(refusals, r, message);
}

/* Executes either the steps for directories above the manifest, which must come first, or all other steps. */
static int do_steps(const struct nm_setup_request *w, const struct nm_setup_plan *p, bool of_manifest,
                    struct nm_refusals *refusals)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < p->n_steps; i++) {
        const struct nm_setup_step *s = &p->steps[i];

        if (nm_setup_is_above(s->path, w->manifest_path) == of_manifest)
            r = note_failure(s, do_step(w->root, s), refusals);
    }
    return r;
}

static int fail_manifest(const struct nm_setup_request *w, int r, char **ret_message)
{
    return nm_fail(ret_message, r, "can't write %s, the list that --undo needs: %s",
                   w->manifest_path, strerror(-r));
}

static int save(const struct nm_setup_request *w, const struct nm_setup_facts *f, const struct nm_setup_plan *p,
                bool done, struct nm_arena *a, char **ret_message)
{
    struct nm_setup_manifest m;
    _cleanup_free_ char *text = NULL;
    int r = nm_setup_plan_note(w, &f->manifest, p, done, a, &m);

    if (r == 0)
        r = nm_setup_manifest_print(&m, &text);
    if (r == 0)
        r = nm_setup_write_file(w->root, w->manifest_path, text, 0600);
    return r < 0 && r != -ENOMEM ? fail_manifest(w, r, ret_message) : r;
}

/* Removes the directories above the manifest again if the manifest could not be written. Without a manifest, undo would
 * not know that the setup made these directories. */
static void remove_made_parents(const struct nm_setup_request *w, const struct nm_setup_plan *p)
{
    for (size_t i = p->n_steps; i-- > 0;)
        if (p->steps[i].act == NM_SETUP_MAKE && nm_setup_is_above(p->steps[i].path, w->manifest_path))
            (void)nm_setup_remove_dir(w->root, p->steps[i].path);
}

int nm_setup_act(const struct nm_setup_request *w, const struct nm_setup_facts *f, const struct nm_setup_plan *p,
                 struct nm_arena *a, char **ret_message)
{
    _cleanup_(nm_refusals_done) struct nm_refusals refusals = {};
    int r;

    if (p->n_changes == 0)
        return 0;
    r = do_steps(w, p, true, &refusals);
    if (r == 0 && !refusals.text)
        r = save(w, f, p, false, a, ret_message);
    if (r < 0 || refusals.text)
        remove_made_parents(w, p);
    else
        r = do_steps(w, p, false, &refusals);
    if (r < 0 || refusals.text)
        return r < 0 ? r : nm_refusals_take(&refusals, ret_message);
    return save(w, f, p, true, a, ret_message);
}

int nm_setup_act_check(const struct nm_setup_request *w, const struct nm_setup_plan *p, char **ret_message)
{
    _cleanup_(nm_refusals_done) struct nm_refusals refusals = {};
    char *message = NULL;
    int r = p->n_changes > 0 ? nm_setup_check_write(w->root, w->manifest_path, false) : 0;

    if (r < 0 && r != -ENOMEM) {
        r = fail_manifest(w, r, &message);
        r = nm_refusals_add(&refusals, r, message);
    }
    for (size_t i = 0; r == 0 && i < p->n_steps; i++) {
        const struct nm_setup_step *s = &p->steps[i];

        if (s->act == NM_SETUP_MAKE || s->act == NM_SETUP_CHANGE)
            r = note_failure(s, nm_setup_check_write(w->root, s->path, s->is_dir && s->act == NM_SETUP_CHANGE),
                             &refusals);
    }
    return r < 0 ? r : nm_refusals_take(&refusals, ret_message);
}
