/* SPDX-License-Identifier: Apache-2.0 */

/* See migrate.h. */

#include "yarn/migrate/migrate.h"

#include "util/json-text.h"

#define CANNOT_READ 2

/* Prints the report. Returns -EIO if stdout can't be written, so that a script doesn't trust a part of a report. */
static int print(const char *dir, const struct nm_migrate_report *r, bool as_json)
{
    json_t *j = as_json ? nm_migrate_to_json(dir, r) : NULL;
    _cleanup_free_ char *text = nm_json_text(j, JSON_INDENT(2));

    json_decref(j);
    if (as_json && !text)
        return -ENOMEM;
    if (as_json)
        printf("%s\n", text);
    else
        nm_migrate_print(stdout, dir, r);
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : -EIO;
}

static void report_lines(const char *text)
{
    for (size_t n; *text; text += n + (text[n] == '\n')) {
        n = strcspn(text, "\n");
        nm_diag("%.*s", (int)n, text);
    }
}

int nm_migrate_run(const char *dir, bool as_json)
{
    _cleanup_(nm_migrate_report_done) struct nm_migrate_report report = {};
    _cleanup_free_ char *message = NULL;
    int r = nm_migrate_gather(dir, &report, &message);

    if (r == 0) {
        r = print(dir, &report, as_json);
        if (r < 0)
            message = nm_strdup_printf("can't print the report: %s", strerror(-r));
    }
    if (r < 0) {
        report_lines(message ?: strerror(-r));
        return CANNOT_READ;
    }
    return nm_migrate_report_status(&report);
}
