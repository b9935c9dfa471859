/* SPDX-License-Identifier: Apache-2.0 */

/* See report.h. */

#include "yarn/migrate/report.h"

#include "util/array.h"
#include "yarn/conf/conf.h"

#define TEXT_MAX 300

static void entry_done(struct nm_migrate_entry *e)
{
    free(e->name);
    free(e->value);
    free(e->file);
    free(e->set_to);
    free(e->sentence);
}

/* Copies a text and makes it printable, since names and values come from files. Returns 0 or -ENOMEM. */
static int copy(const char *text, char **ret)
{
    char shown[TEXT_MAX];

    *ret = text ? strdup(nm_yarn_conf_printable(text, shown, sizeof shown)) : NULL;
    return text && !*ret ? -ENOMEM : 0;
}

/* Returns a copy of the sentence. Messages of --check-config have no full stop at the end. */
static char *with_stop(const char *sentence)
{
    const size_t n = strlen(sentence);

    return nm_strdup_printf("%s%s", sentence, n > 0 && sentence[n - 1] == '.' ? "" : ".");
}

int nm_migrate_report_add(struct nm_migrate_report *r, const struct nm_migrate_entry *e)
{
    struct nm_migrate_entry mine = {.group = e->group,
                                    .need = e->group == NM_MIGRATE_SET ? e->need : NM_MIGRATE_NO_NEED,
                                    .sentence = with_stop(e->sentence)};

    if (!mine.sentence || copy(e->name, &mine.name) < 0 || copy(e->value, &mine.value) < 0 ||
        copy(e->file, &mine.file) < 0 || copy(e->set_to, &mine.set_to) < 0 ||
        NM_ARRAY_ROOM(r->entries, r->n, r->room) < 0) {
        entry_done(&mine);
        return -ENOMEM;
    }
    r->entries[r->n++] = mine;
    return 0;
}

bool nm_migrate_report_has(const struct nm_migrate_report *r, const char *name, bool refused)
{
    for (size_t i = 0; i < r->n; i++) {
        const struct nm_migrate_entry *e = &r->entries[i];

        if (e->name && nm_streq(e->name, name) && (!refused || e->need == NM_MIGRATE_REFUSED))
            return true;
    }
    return false;
}

static int compare(const void *a, const void *b)
{
    const struct nm_migrate_entry *x = a, *y = b;

    if (x->group != y->group)
        return (int)x->group - (int)y->group;
    if (x->need != y->need)
        return (int)x->need - (int)y->need;
    if (!x->name || !y->name)
        return !x->name == !y->name ? strcmp(x->sentence, y->sentence) : x->name ? 1 : -1;
    return strcmp(x->name, y->name) ?: strcmp(x->sentence, y->sentence);
}

void nm_migrate_report_sort(struct nm_migrate_report *r)
{
    if (r->n > 0)
        qsort(r->entries, r->n, sizeof *r->entries, compare);
}

void nm_migrate_report_done(struct nm_migrate_report *r)
{
    for (size_t i = 0; i < r->n; i++)
        entry_done(&r->entries[i]);
    free(r->entries);
    *r = (struct nm_migrate_report){};
}

int nm_migrate_report_status(const struct nm_migrate_report *r)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->entries[i].need == NM_MIGRATE_REFUSED || r->entries[i].need == NM_MIGRATE_NEEDED)
            return 1;
    return 0;
}
