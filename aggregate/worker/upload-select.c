/* SPDX-License-Identifier: Apache-2.0 */

/* See upload-select.h. */

#include "aggregate/worker/upload-select.h"

#include "util/error.h"

static const char *const names[] = {
    [NM_UPLOAD_INCLUDE] = "include",
    [NM_UPLOAD_EXCLUDE] = "exclude",
    [NM_UPLOAD_ROLLED_INCLUDE] = "rolled include",
    [NM_UPLOAD_ROLLED_EXCLUDE] = "rolled exclude",
};

int nm_upload_select_init(struct nm_upload_select *s, const struct nm_upload_work *work,
                          struct nm_upload_report *report)
{
    const char *const texts[] = {
        [NM_UPLOAD_INCLUDE] = work->include,
        [NM_UPLOAD_EXCLUDE] = work->exclude,
        [NM_UPLOAD_ROLLED_INCLUDE] = work->rolled_include,
        [NM_UPLOAD_ROLLED_EXCLUDE] = work->rolled_exclude,
    };

    *s = (struct nm_upload_select){.report = report};
    for (size_t i = 0; i < NM_UPLOAD_PATTERNS; i++) {
        _cleanup_free_ char *message = NULL;
        int r = *texts[i] ? nm_pattern_new_find(texts[i], &s->patterns[i], &message) : 0;

        if (r == -ENOMEM)
            return r;
        if (r < 0)
            nm_upload_report_note(report, "the %s pattern is ignored: %s", names[i], message ?: strerror(-r));
    }
    return 0;
}

void nm_upload_select_done(struct nm_upload_select *s)
{
    for (size_t i = 0; i < NM_UPLOAD_PATTERNS; i++)
        s->patterns[i] = nm_pattern_free(s->patterns[i]);
}

/* Returns whether the pattern is found in the name. A pattern that needs too many steps is not tried with further
 * names, because a directory may have thousands of them. */
static bool finds(struct nm_upload_select *s, enum nm_upload_pattern which, const char *name)
{
    const bool otherwise = which == NM_UPLOAD_INCLUDE;
    int r;

    if (!s->patterns[which])
        return otherwise;
    r = nm_pattern_match(s->patterns[which], name);
    if (r >= 0)
        return r > 0;
    nm_upload_report_note(s->report, "the %s pattern is ignored for %s: %s", names[which], name,
                          r == -EILSEQ      ? "versions of Java disagree about it"
                          : r == -ETIMEDOUT ? "it needs too many steps"
                                            : strerror(-r));
    if (r == -ETIMEDOUT)
        s->patterns[which] = nm_pattern_free(s->patterns[which]);
    return otherwise;
}

bool nm_upload_select_match(struct nm_upload_select *s, const char *name, bool is_running)
{
    if (finds(s, NM_UPLOAD_ROLLED_INCLUDE, name) && !finds(s, NM_UPLOAD_ROLLED_EXCLUDE, name))
        return true;
    return !is_running && finds(s, NM_UPLOAD_INCLUDE, name) && !finds(s, NM_UPLOAD_EXCLUDE, name);
}
