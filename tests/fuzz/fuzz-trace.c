/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Fuzzes traces. The message of a refused trace is one printable line. The curves of an accepted trace are in order of
 * time. An accepted trace that is short is also replayed, and the replay must not violate a rule of the policy.
 */

#include "sim/replay.h"
#include "text.h"

#define REPLAY_MAX_USEC (60 * NM_USEC_PER_SEC)

static void check_curve(const struct nm_curve *c)
{
    if (c->n == 0 || c->points[0].at_usec != 0)
        abort();
    for (size_t i = 1; i < c->n; i++)
        if (c->points[i].at_usec <= c->points[i - 1].at_usec)
            abort();
}

static void replay(const struct nm_workload *w)
{
    struct nm_sim_result *r = calloc(1, sizeof *r);
    char *message = NULL;

    if (!r)
        abort();
    if (nm_sim_run(w, w->config, "case", NULL, NULL, r, &message) == 0 && r->n_violations > 0)
        abort();
    free(message);
    free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_(nm_workload_freep) struct nm_workload *w = NULL;
    _cleanup_free_ char *message = NULL;
    _cleanup_fclose_ FILE *f = size > 0 ? fmemopen((void *)data, size, "r") : NULL;
    int r;

    if (!f)
        return 0;
    r = nm_workload_read(f, "FILE", &w, &message);
    if (r < 0) {
        fuzz_check_message(message);
        return 0;
    }
    check_curve(&w->system);
    for (size_t i = 0; i < w->n_jobs; i++)
        check_curve(&w->jobs[i].curve);
    if (w->duration_usec <= REPLAY_MAX_USEC)
        replay(w);
    return 0;
}
