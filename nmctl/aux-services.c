/* SPDX-License-Identifier: Apache-2.0 */

/* See aux-services.h. */

#include "nmctl/aux-services.h"

#include <inttypes.h>

#include "nmctl/json.h"
#include "nmctl/masters.h"
#include "util/clock.h"
#include "util/parse.h"

#define INDENT NM_MASTERS_INDENT
#define APPLICATIONS_MAX 3u /* of a service */

/* Prints a number with its noun. */
static void print_number(FILE *f, const json_t *s, const char *key, const char *noun)
{
    fprintf(f, "%" PRIu64 " %s%s", nm_json_u64(s, key), noun, nm_plural(nm_json_num(s, key)));
}

static void print_state(FILE *f, const struct nm_term *term, const json_t *s)
{
    const bool is_up = nm_json_bool(s, "up");
    const enum nm_style style = is_up ? NM_STYLE_GOOD : NM_STYLE_BAD;
    const uint64_t passed_usec = nm_sub_u64(nm_realtime_usec(), nm_json_u64(s, "since_usec"));
    char name[160], since[32];

    (void)snprintf(name, sizeof name, "%s", nm_json_str(s, "name"));
    fprintf(f, "%s %s%s%s for %s, port %" PRIu64, nm_term_clean(name), nm_term_on(term, style), is_up ? "up" : "away",
            nm_term_off(term, style), nm_format_duration(passed_usec, since, sizeof since), nm_json_u64(s, "port"));
    if (nm_json_u64(s, "restarts") > 0)
        fprintf(f, ", restarted %" PRIu64 " time%s", nm_json_u64(s, "restarts"),
                nm_plural(nm_json_num(s, "restarts")));
}

static void print_figures(FILE *f, const json_t *s)
{
    char size[32];

    fputs(": ", f);
    print_number(f, s, "applications", "application");
    if (nm_json_has(s, "executors")) {
        fputs(", ", f);
        print_number(f, s, "executors", "executor");
    }
    fputs(", ", f);
    print_number(f, s, "connections", "connection");
    if (nm_json_has(s, "streams")) {
        fputs(", ", f);
        print_number(f, s, "streams", "open stream");
    }
    fputs("; ", f);
    print_number(f, s, "blocks_sent", "block");
    fprintf(f, " sent (%s), %" PRIu64 " failed", nm_format_size(nm_json_u64(s, "sent_bytes"), size, sizeof size),
            nm_json_u64(s, "blocks_failed"));
    if (nm_json_u64(s, "refused_connections") > 0) {
        fputs(", ", f);
        print_number(f, s, "refused_connections", "connection");
        fputs(" refused", f);
    }
    if (nm_json_u64(s, "stalled_readers") > 0) {
        fputs(", ", f);
        print_number(f, s, "stalled_readers", "client");
        fputs(" not reading", f);
    }
    if (nm_json_u64(s, "slow_readers") > 0) {
        fputs(", ", f);
        print_number(f, s, "slow_readers", "slow reader");
        fputs(" disconnected", f);
    }
    (void)fputc('\n', f);
}

/* Prints the first applications: those with clients that don't read, and those that were sent most. */
static void print_applications(FILE *f, const json_t *all)
{
    char name[100], size[32];
    const json_t *a;
    size_t i;

    json_array_foreach(all, i, a) {
        if (i == APPLICATIONS_MAX)
            break;
        (void)snprintf(name, sizeof name, "%s", nm_json_str(a, "application"));
        fprintf(f, "%*s%s: ", INDENT, "", nm_term_clean(name));
        print_number(f, a, "streams", "open stream");
        fprintf(f, ", %s sent, ", nm_format_size(nm_json_u64(a, "sent_bytes"), size, sizeof size));
        print_number(f, a, "stalled_readers", "client");
        fputs(" not reading, ", f);
        print_number(f, a, "slow_readers", "slow reader");
        fputs(" disconnected\n", f);
    }
    if (i < json_array_size(all))
        fprintf(f, "%*s%zu more with --json\n", INDENT, "", json_array_size(all) - i);
}

void nm_aux_services_print(FILE *f, const struct nm_term *term, const json_t *services)
{
    const json_t *s;
    char trouble[500];
    size_t i;

    json_array_foreach(services, i, s) {
        fprintf(f, "%s%-*s%s", nm_term_on(term, NM_STYLE_BOLD), INDENT, i == 0 ? "services" : "",
                nm_term_off(term, NM_STYLE_BOLD));
        print_state(f, term, s);
        print_figures(f, s);
        (void)snprintf(trouble, sizeof trouble, "%s", nm_json_str(s, "trouble"));
        if (*trouble)
            fprintf(f, "%*s%s; it is started again\n", INDENT, "", nm_term_clean(trouble));
        print_applications(f, json_object_get(s, "by_application"));
    }
}
