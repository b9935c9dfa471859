/* SPDX-License-Identifier: Apache-2.0 */

/* See masters.h. */

#include "nmctl/masters.h"

#include <inttypes.h>

#include "nmctl/json.h"
#include "util/clock.h"
#include "util/parse.h"

#define INDENT NM_MASTERS_INDENT

/* Prints the label, the first of two columns. */
static void print_label(FILE *f, const struct nm_term *term, const char *label)
{
    fprintf(f, "%s%-*s%s", nm_term_on(term, NM_STYLE_BOLD), INDENT, label, nm_term_off(term, NM_STYLE_BOLD));
}

/* ---- masters -------------------------------------------------------------------------------- */

static void print_placed(FILE *f, const json_t *placed)
{
    fprintf(f, "placed %" PRIu64 " on requested hosts, %" PRIu64 " in requested racks, %" PRIu64 " anywhere",
            nm_json_u64(placed, "node_local"), nm_json_u64(placed, "rack_local"), nm_json_u64(placed, "anywhere"));
}

static void print_pipeline(FILE *f, const json_t *p)
{
    uint64_t now = nm_realtime_usec(), asked = nm_json_u64(p, "last_allocate_usec");
    uint64_t waiting = nm_json_u64(p, "outstanding");
    char attempt[128], user[128], ago[32];

    (void)snprintf(attempt, sizeof attempt, "%s", nm_json_str(p, "attempt_id"));
    (void)snprintf(user, sizeof user, "%s", nm_json_str(p, "user"));
    fprintf(f, "%*s%s", INDENT, "", nm_term_clean(attempt));
    fprintf(f, " of %s, %s: ", *user ? nm_term_clean(user) : "an unknown user", nm_json_str(p, "state"));
    fprintf(f, "%" PRIu64 " wait%s, %" PRIu64 " node%s; ", waiting, waiting == 1 ? "s" : "", nm_json_u64(p, "nodes"),
            nm_plural(nm_json_num(p, "nodes")));
    print_placed(f, nm_json_at(p, "placed"));
    if (asked > 0)
        fprintf(f, "; last allocate call %s ago", nm_format_duration(nm_sub_u64(now, asked), ago, sizeof ago));
    (void)fputc('\n', f);
}

/* Prints the application masters whose calls pass through this node, and the containers that it places for them. */
static void print_calls(FILE *f, const struct nm_term *term, const json_t *masters)
{
    const json_t *p;
    size_t i;

    print_label(f, term, "masters");
    fprintf(f, "%" PRIu64 " through %s; %" PRIu64 " opportunistic container%s for a node; ",
            nm_json_u64(masters, "attempts"), nm_json_str(masters, "address"), nm_json_u64(masters, "outstanding"),
            nm_json_u64(masters, "outstanding") == 1 ? " waits" : "s wait");
    print_placed(f, nm_json_at(masters, "placed"));
    (void)fputc('\n', f);
    json_array_foreach(nm_json_at(masters, "pipelines"), i, p)
        print_pipeline(f, p);
}

/* ---- lending -------------------------------------------------------------------------------- */

/* Prints what nmd lends for one ask of a master or, with nmd.lending = observe, what nmd would lend for it. */
static void print_lending_key(FILE *f, const json_t *k)
{
    uint64_t now = nm_realtime_usec(), since = nm_json_u64(k, "since_usec");
    uint64_t wanted = nm_json_u64(k, "wanted"), asked = nm_json_u64(k, "asked"), observed = nm_json_u64(k, "observed");
    char why[256], waited[32];

    fprintf(f, "%*s  priority %.0f: %" PRIu64 " wanted", INDENT, "", nm_json_num(k, "priority"), wanted);
    if (wanted > 0 && since > 0)
        fprintf(f, " for %s", nm_format_duration(nm_sub_u64(now, since), waited, sizeof waited));
    fprintf(f, ", %" PRIu64 " asked for as opportunistic, %" PRIu64 " lent", asked, nm_json_u64(k, "lent"));
    if (observed > 0)
        fprintf(f, "; %" PRIu64 " would be lent", observed);
    if (wanted > asked + observed) {
        (void)snprintf(why, sizeof why, "%s", nm_json_str(k, "reason_text"));
        fprintf(f, "; %" PRIu64 " left: it %s", wanted - asked - observed, nm_term_clean(why));
    }
    (void)fputc('\n', f);
}

static void print_lending_counts(FILE *f, const json_t *l)
{
    char size[32];

    fprintf(f, "%" PRIu64 " lent with %s", nm_json_u64(l, "lent"),
            nm_format_size(nm_json_u64(l, "lent_memory_bytes"), size, sizeof size));
    if (nm_json_u64(l, "queued") > 0)
        fprintf(f, " (%" PRIu64 " in the queue of a node)", nm_json_u64(l, "queued"));
    fprintf(f, ", %" PRIu64 " wanted", nm_json_u64(l, "wanted"));
    if (nm_json_has(l, "asked"))
        fprintf(f, " of which %" PRIu64 " are asked for as opportunistic", nm_json_u64(l, "asked"));
    fprintf(f, ", %" PRIu64 " promoted, %" PRIu64 " preempted\n", nm_json_u64(l, "promoted"),
            nm_json_u64(l, "preempted"));
}

/* Prints what would have been lent, and the risk by the record of this node. */
static void print_observed(FILE *f, const json_t *l)
{
    const json_t *r = nm_json_at(l, "record");
    const uint64_t n = nm_json_u64(l, "observed");
    const double bytes = nm_json_num(l, "observed_memory_bytes");
    char size[32], waited[32], within[32];

    if (n == 0 && !nm_json_bool(l, "observes"))
        return;
    fprintf(f, "%*swould have lent %" PRIu64 " container%s", INDENT, "", n, nm_plural((double)n));
    if (n > 0 && bytes > 0)
        fprintf(f, " with %s, which then waited %s more on average", nm_format_size((uint64_t)bytes, size, sizeof size),
                nm_format_duration((uint64_t)(nm_json_num(l, "observed_memory_byte_seconds") / bytes * 1e6), waited,
                                   sizeof waited));
    (void)fputc('\n', f);
    if (nm_json_u64(r, "starts") == 0)
        return;
    fprintf(f, "%*srisk by this node's last day: at least %.1f %% of containers with %s would have been killed within "
               "%s (%" PRIu64 " of %" PRIu64 " starts)\n", INDENT, "",
            nm_json_num(r, "exceeded") / nm_json_num(r, "starts") * 100,
            nm_format_size(nm_json_u64(r, "memory_bytes"), size, sizeof size),
            nm_format_duration(nm_json_u64(r, "within_usec"), within, sizeof within), nm_json_u64(r, "exceeded"),
            nm_json_u64(r, "starts"));
}

/* Prints how many containers aren't lent for each reason, by the reasons' names. */
static void print_held(FILE *f, const json_t *l)
{
    const char *name;
    json_t *n;
    bool any = false;

    json_object_foreach(nm_json_at(l, "held"), name, n) {
        char reason[64];

        if (json_integer_value(n) <= 0)
            continue;
        (void)snprintf(reason, sizeof reason, "%s", nm_streq(name, "lent") ? "beyond the mode's share" : name);
        fprintf(f, "%*s%s%" PRIu64 " %s", any ? 0 : INDENT, "", any ? ", " : "not lent: ",
                (uint64_t)json_integer_value(n), nm_term_clean(reason));
        any = true;
    }
    if (any)
        (void)fputc('\n', f);
}

/* Prints what the origin of the rule leaves open. */
static void print_origin(FILE *f, const json_t *l)
{
    const char *source = nm_json_str(l, "source");
    char type[128];

    (void)snprintf(type, sizeof type, "%s", nm_json_str(l, "application_type"));
    fprintf(f, " (from: %s", source);
    if (nm_streq(source, "types"))
        fprintf(f, ", nmd.lending.types doesn't list %s", nm_term_clean(type));
    if (nm_streq(source, "no-type"))
        (void)fputs(", the application's type isn't known yet", f);
    if (nm_json_bool(l, "wish_invalid"))
        (void)fputs(", NMD_LEND is invalid", f);
    if (nm_json_bool(l, "registered_before"))
        (void)fputs(", not applied: the master registered before lending was enabled", f);
    if (nm_json_bool(l, "unsaved"))
        (void)fputs(", not applied: nmd can't save what it has lent", f);
    (void)fputs("): ", f);
}

static void print_lending_application(FILE *f, const json_t *pipeline)
{
    const json_t *l = nm_json_at(pipeline, "lending"), *k;
    char attempt[128], rule[64];
    uint64_t more = nm_json_u64(l, "keys_total");
    size_t i;

    if (!json_is_object(l))
        return;
    (void)snprintf(attempt, sizeof attempt, "%s", nm_json_str(pipeline, "attempt_id"));
    (void)snprintf(rule, sizeof rule, "%s", nm_json_str(l, "rule"));
    fprintf(f, "%*s%s", INDENT, "", nm_term_clean(attempt));
    fprintf(f, ", rule %s", nm_term_clean(rule));
    print_origin(f, l);
    print_lending_counts(f, l);
    more -= NM_MIN(more, (uint64_t)json_array_size(nm_json_at(l, "keys")));
    json_array_foreach(nm_json_at(l, "keys"), i, k)
        print_lending_key(f, k);
    if (more > 0)
        fprintf(f, "%*s  and %" PRIu64 " more %s (nmctl explain %s)\n", INDENT, "", more,
                more == 1 ? "priority" : "priorities", nm_json_str(pipeline, "master_id"));
}

/* Prints what the node lends to the applications of its masters: together, by queue and by application. */
static void print_lending(FILE *f, const struct nm_term *term, const json_t *masters)
{
    const json_t *l = nm_json_at(masters, "lending"), *p;
    char text[256], oldest[32];
    size_t i;

    if (!json_is_object(l))
        return;
    print_label(f, term, "lending");
    if (nm_json_bool(l, "observes"))
        fprintf(f, "observes only, %" PRIu64 " wanted\n", nm_json_u64(l, "wanted"));
    else
        print_lending_counts(f, l);
    if (nm_json_u64(l, "oldest_usec") > 0)
        fprintf(f, "%*soldest lent for %s\n", INDENT, "",
                nm_format_duration(nm_json_u64(l, "oldest_usec"), oldest, sizeof oldest));
    print_observed(f, l);
    print_held(f, l);
    json_array_foreach(nm_json_at(l, "queues"), i, p) {
        (void)snprintf(text, sizeof text, "%s", nm_json_str(p, "queue"));
        fprintf(f, "%*squeue %s, ", INDENT, "", nm_term_clean(text));
        fprintf(f, "%" PRIu64 " application%s: ", nm_json_u64(p, "applications"),
                nm_plural(nm_json_num(p, "applications")));
        print_lending_counts(f, p);
    }
    json_array_foreach(nm_json_at(masters, "pipelines"), i, p)
        print_lending_application(f, p);
}

void nm_masters_print(FILE *f, const struct nm_term *term, const json_t *masters)
{
    if (!json_is_object(masters))
        return;
    print_calls(f, term, masters);
    print_lending(f, term, masters);
}
