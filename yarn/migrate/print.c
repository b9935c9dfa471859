/* SPDX-License-Identifier: Apache-2.0 */

/* See migrate.h. */

#include "yarn/migrate/migrate.h"

#include <ctype.h>
#include <limits.h>

#include "yarn/conf/conf.h"

#define WIDTH 100
#define INDENT "      "
#define VALUE_MAX 60

static const char *const titles[] = {
    [NM_MIGRATE_SET] = "Set this",
    [NM_MIGRATE_DIFFERS] = "Differs from Hadoop's NodeManager",
    [NM_MIGRATE_SAME] = "The same",
};
static const char *const keys[] = {[NM_MIGRATE_SET] = "set", [NM_MIGRATE_DIFFERS] = "differs",
                                   [NM_MIGRATE_SAME] = "same"};
static const char *const needs[] = {[NM_MIGRATE_REFUSED] = "refused", [NM_MIGRATE_NEEDED] = "needed",
                                    [NM_MIGRATE_SUGGESTED] = "suggested"};

/* ---- text --------------------------------------------------------------------------------- */

/* Prints a sentence that begins with a capital letter, in indented lines. Names of programs keep their small letter. */
static void print_sentence(FILE *out, const char *text)
{
    const bool is_name = strncmp(text, "nm", 2) == 0 || text[strcspn(text, " :.=")] != ' ';
    size_t column = strlen(INDENT);

    fputs(INDENT, out);
    for (const char *p = text; *p;) {
        const size_t n = strcspn(p, " ");

        if (p > text && column + 1 + n > WIDTH) {
            fputs("\n" INDENT, out);
            column = strlen(INDENT);
        } else if (p > text) {
            fputc(' ', out);
            column++;
        }
        fputc(p == text && !is_name ? toupper((unsigned char)*p) : *p, out);
        (void)fwrite(p + 1, 1, n > 0 ? n - 1 : 0, out);
        column += n;
        p += n + (p[n] == ' ');
    }
    fputc('\n', out);
}

/* Prints the property, its value and the name of the file. */
static void print_head(FILE *out, const struct nm_migrate_entry *e)
{
    const char *slash = e->file ? strrchr(e->file, '/') : NULL, *file = slash ? slash + 1 : e->file;

    fputs(e->name ?: file ?: "several properties", out);
    if (e->name && e->value)
        fprintf(out, " = %.*s%s (%s)", VALUE_MAX, *e->value ? e->value : "''",
                strlen(e->value) > VALUE_MAX ? "..." : "", file ?: "by default");
    if (e->set_to)
        fprintf(out, "; set it to %s", e->set_to);
    fputc('\n', out);
}

static void print_entry(FILE *out, const struct nm_migrate_entry *e)
{
    fputs("  ", out);
    if (e->group == NM_MIGRATE_SET)
        fprintf(out, "%s: ", needs[e->need]);
    print_head(out, e);
    print_sentence(out, e->sentence);
}

static size_t count(const struct nm_migrate_report *r, enum nm_migrate_group group)
{
    size_t n = 0;

    for (size_t i = 0; i < r->n; i++)
        n += r->entries[i].group == group;
    return n;
}

void nm_migrate_print(FILE *out, const char *dir, const struct nm_migrate_report *r)
{
    char shown[PATH_MAX];

    dir = nm_yarn_conf_printable(dir, shown, sizeof shown);
    fprintf(out, "%s: %zu to set, %zu different, %zu the same\n", dir, count(r, NM_MIGRATE_SET),
            count(r, NM_MIGRATE_DIFFERS), count(r, NM_MIGRATE_SAME));
    for (enum nm_migrate_group g = 0; g < NM_MIGRATE_N_GROUPS; g++) {
        if (count(r, g) > 0)
            fprintf(out, "\n%s:\n", titles[g]);
        for (size_t i = 0; i < r->n; i++)
            if (r->entries[i].group == g)
                print_entry(out, &r->entries[i]);
    }
    if (r->n_others > 0)
        fprintf(out, "\n%zu other properties are for other services or for jobs.\n", r->n_others);
    fprintf(out, "\nnmd --yarn-setup %s --dry-run shows what a node needs besides these files.\n", dir);
}

/* ---- JSON --------------------------------------------------------------------------------- */

static int append(json_t *lists[], const struct nm_migrate_entry *e)
{
    json_t *j = json_pack("{s:s?, s:s?, s:s?, s:s?, s:s}", "property", e->name, "value", e->value, "file", e->file,
                          "set_to", e->set_to, "sentence", e->sentence);

    if (j && e->group == NM_MIGRATE_SET && json_object_set_new(j, "need", json_string(needs[e->need])) < 0) {
        json_decref(j);
        return -ENOMEM;
    }
    return json_array_append_new(lists[e->group], j) < 0 ? -ENOMEM : 0;
}

json_t *nm_migrate_to_json(const char *dir, const struct nm_migrate_report *r)
{
    char shown[PATH_MAX];
    json_t *all = json_pack("{s:s, s:i, s:I}", "directory", nm_yarn_conf_printable(dir, shown, sizeof shown),
                            "status", nm_migrate_report_status(r),
                            "other_properties", (json_int_t)r->n_others);
    json_t *lists[NM_MIGRATE_N_GROUPS];
    int e = all ? 0 : -ENOMEM;

    for (enum nm_migrate_group g = 0; g < NM_MIGRATE_N_GROUPS; g++) {
        lists[g] = json_array();
        if (json_object_set_new(all, keys[g], lists[g]) < 0) /* takes the list even on failure */
            e = -ENOMEM;
    }
    for (size_t i = 0; e == 0 && i < r->n; i++)
        e = append(lists, &r->entries[i]);
    if (e == 0)
        return all;
    json_decref(all);
    return NULL;
}
