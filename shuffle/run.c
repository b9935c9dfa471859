/* SPDX-License-Identifier: Apache-2.0 */

/* See run.h. */

#include "shuffle/run.h"

#include "shuffle/control.h"
#include "shuffle/capabilities.h"
#include "shuffle/server.h"
#include "util/error.h"

static void service_done(struct nm_shuffle_service *s)
{
    nm_shuffle_jobs_free(s->jobs);
    nm_shuffle_connections_free(s->connections);
    nm_shuffle_checked_free(s->dirs.checked);
}

static int serve(const struct nm_shuffle_options *o, FILE *in, FILE *out, char **ret_message)
{
    _cleanup_(service_done) struct nm_shuffle_service s = {.request_usec = NM_SHUFFLE_REQUEST_USEC};
    _cleanup_(nm_shuffle_server_freep) struct nm_shuffle_server *server = NULL;
    int r;

    for (char **name = o->dirs; *name; name++)
        s.dirs.names[s.dirs.n++] = *name;
    if ((o->user && (r = nm_shuffle_drop_capabilities(o->user, ret_message)) < 0) ||
        (r = nm_shuffle_jobs_new(&s.jobs)) < 0 ||
        (r = nm_shuffle_checked_new(&s.dirs.checked)) < 0 ||
        (r = nm_shuffle_connections_new(o->max_connections, &s.connections)) < 0 ||
        (r = nm_shuffle_server_new(&s, o->listen, &server, ret_message)) < 0)
        return r;
    if (fprintf(out, "{\"listening\": %u}\n", s.port) < 0 || fflush(out) != 0)
        return nm_fail(ret_message, -errno, "Can't write to standard output: %m");
    return nm_shuffle_control_run(&s, in, out);
}

int nm_shuffle_run(const struct nm_shuffle_options *o, FILE *in, FILE *out)
{
    _cleanup_free_ char *message = NULL;
    int r = serve(o, in, out, &message);

    if (r < 0)
        nm_diag("%s", message ? message : strerror(-r));
    return r;
}
