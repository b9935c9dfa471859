/* SPDX-License-Identifier: Apache-2.0 */

/* See reader-report.h. */

#include "yarn/launch/reader-report.h"

#include <inttypes.h>
#include <stdio.h>

#include "util/clock.h"
#include "util/parse.h"

#define NAMED_MAX 3u /* applications that a sentence names */

/* Names the applications with such clients. slow: those that were disconnected, which nm-spark-shuffle has counted
 * since the application was added. */
static void add_names(char *to, const struct nm_yarn_shuffle_usage *top, size_t n, bool slow)
{
    size_t used = strlen(to);
    unsigned n_named = 0;

    for (size_t i = 0; i < n && n_named < NAMED_MAX; i++) {
        const uint64_t clients = slow ? top[i].slow : top[i].stalled;

        if (clients == 0)
            continue;
        used += (size_t)snprintf(to + used, NM_YARN_READER_REPORT_SIZE - used, "%s%s has %" PRIu64,
                                 n_named++ == 0 ? " (" : ", ", top[i].application, clients);
    }
    if (n_named > 0)
        (void)snprintf(to + used, NM_YARN_READER_REPORT_SIZE - used, ")");
}

static enum nm_yarn_reader_event report_slow(struct nm_yarn_reader_report *r, const char *program, uint64_t n,
                                             char *ret)
{
    r->is_slow = true;
    (void)snprintf(ret, NM_YARN_READER_REPORT_SIZE, "%" PRIu64 " client%s of %s %s read nothing for 10 s", n,
                   nm_plural((double)n), program, n == 1 ? "has" : "have");
    return NM_YARN_READER_SLOW;
}

static enum nm_yarn_reader_event report_end(struct nm_yarn_reader_report *r, const char *program, uint64_t n_more,
                                            char *ret)
{
    r->is_slow = false;
    (void)snprintf(ret, NM_YARN_READER_REPORT_SIZE, "%s has no slow clients any more; it has disconnected %" PRIu64
                   " since then", program, n_more);
    return NM_YARN_READER_OK;
}

enum nm_yarn_reader_event nm_yarn_reader_report(struct nm_yarn_reader_report *r, const char *program,
                                                const struct nm_yarn_shuffle_figures *figures,
                                                const struct nm_yarn_shuffle_usage *top, size_t n, uint64_t now_usec,
                                                char ret[static NM_YARN_READER_REPORT_SIZE])
{
    const bool may = r->told_usec == 0 || now_usec >= r->told_usec + NM_YARN_READER_REPORT_USEC;
    const uint64_t n_more = nm_sub_u64(figures->slow, r->told_slow);
    enum nm_yarn_reader_event event = NM_YARN_READER_NO_EVENT;

    if (r->is_slow && figures->stalled == 0) {
        event = report_end(r, program, n_more, ret);
    } else if (!r->is_slow && figures->stalled > 0 && may) {
        event = report_slow(r, program, figures->stalled, ret);
        add_names(ret, top, n, false);
    } else if (!r->is_slow && n_more > 0 && may) {
        event = NM_YARN_READER_DISCONNECTED;
        (void)snprintf(ret, NM_YARN_READER_REPORT_SIZE, "%s has disconnected %" PRIu64 " client%s, which read too "
                       "slowly", program, n_more, nm_plural((double)n_more));
        add_names(ret, top, n, true);
    }
    if (event == NM_YARN_READER_NO_EVENT)
        return event;
    r->told_slow = figures->slow;
    if (event != NM_YARN_READER_OK)
        r->told_usec = now_usec;
    return event;
}

bool nm_yarn_reader_total(const char *program, const struct nm_yarn_shuffle_usage *last,
                          char ret[static NM_YARN_READER_REPORT_SIZE])
{
    char size[32];

    if (last->outputs_ok == 0 && last->outputs_failed == 0 && last->slow == 0)
        return false;
    (void)snprintf(ret, NM_YARN_READER_REPORT_SIZE, "%s has ended: %s has sent %" PRIu64 " block%s of it (%s), %" PRIu64
                   " failed, and %" PRIu64 " slow reader%s disconnected", last->application, program, last->outputs_ok,
                   nm_plural((double)last->outputs_ok), nm_format_size(last->sent_bytes, size, sizeof size),
                   last->outputs_failed, last->slow, last->slow == 1 ? " was" : "s were");
    return true;
}
