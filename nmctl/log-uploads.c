/* SPDX-License-Identifier: Apache-2.0 */

/* See log-uploads.h. */

#include "nmctl/log-uploads.h"

#include <inttypes.h>

#include "nmctl/json.h"
#include "nmctl/masters.h"
#include "util/parse.h"

#define INDENT NM_MASTERS_INDENT

static void print_progress(FILE *f, const json_t *a)
{
    char done[32], total[32];

    if (nm_json_u64(a, "total_bytes") == 0)
        return;
    fprintf(f, ", %s of %s", nm_format_size_down(nm_json_u64(a, "bytes"), done, sizeof done),
            nm_format_size(nm_json_u64(a, "total_bytes"), total, sizeof total));
}

static void print_failure(FILE *f, const json_t *a)
{
    char error[400], wait[32];

    (void)snprintf(error, sizeof error, "%s", nm_json_str(a, "error"));
    fprintf(f, " (%" PRIu64 " attempt%s failed", nm_json_u64(a, "failures"), nm_plural(nm_json_num(a, "failures")));
    if (*error)
        fprintf(f, "; the last one: %s", nm_term_clean(error));
    if (nm_json_has(a, "next_usec"))
        fprintf(f, "; next attempt in %s", nm_format_duration(nm_json_u64(a, "next_usec"), wait, sizeof wait));
    (void)fputc(')', f);
}

/* Prints an application whose upload is in progress or fails. The others are only counted. */
static void print_application(FILE *f, const json_t *a)
{
    const bool is_uploading = nm_streq(nm_json_str(a, "state"), "uploading");
    char id[128], user[128];

    if (!is_uploading && nm_json_u64(a, "failures") == 0)
        return;
    (void)snprintf(id, sizeof id, "%s", nm_json_str(a, "application"));
    (void)snprintf(user, sizeof user, "%s", nm_json_str(a, "user"));
    fprintf(f, "%*s%s", INDENT, "", nm_term_clean(id));
    fprintf(f, " of %s: %s", *user ? nm_term_clean(user) : "an unknown user", nm_json_str(a, "state"));
    if (is_uploading)
        print_progress(f, a);
    if (nm_json_u64(a, "failures") > 0)
        print_failure(f, a);
    (void)fputc('\n', f);
}

void nm_log_uploads_print(FILE *f, const struct nm_term *term, const json_t *logs)
{
    char size[32], remote[600];
    const json_t *a;
    size_t i;

    if (!json_is_object(logs))
        return;
    (void)snprintf(remote, sizeof remote, "%s", nm_json_str(logs, "remote"));
    fprintf(f, "%s%-*s%s", nm_term_on(term, NM_STYLE_BOLD), INDENT, "logs", nm_term_off(term, NM_STYLE_BOLD));
    fprintf(f, "%" PRIu64 " uploading, %" PRIu64 " waiting, %" PRIu64 " failing; ", nm_json_u64(logs, "running"),
            nm_json_u64(logs, "waiting"), nm_json_u64(logs, "failing"));
    fprintf(f, "%" PRIu64 " application%s uploaded (%s), %" PRIu64 " given up; to %s\n", nm_json_u64(logs, "uploaded"),
            nm_plural(nm_json_num(logs, "uploaded")),
            nm_format_size(nm_json_u64(logs, "bytes"), size, sizeof size), nm_json_u64(logs, "given_up"),
            nm_term_clean(remote));
    json_array_foreach(nm_json_at(logs, "applications"), i, a)
        print_application(f, a);
}
