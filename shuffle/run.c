/* SPDX-License-Identifier: Apache-2.0 */

/* See run.h. */

#include "shuffle/run.h"

#include <fcntl.h>

#include "shuffle/control.h"
#include "shuffle/powers.h"
#include "shuffle/server.h"
#include "util/error.h"
#include "util/tell.h"

static void service_done(struct nm_shuffle_service *s)
{
    for (unsigned i = 0; i < s->dirs.n; i++)
        nm_close(s->dirs.fds[i]);
    nm_shuffle_jobs_free(s->jobs);
    nm_shuffle_places_free(s->places);
}

static int open_dirs(char **names, struct nm_shuffle_dirs *dirs, char **ret_message)
{
    for (; *names; names++) {
        int fd = open(*names, O_PATH | O_DIRECTORY | O_CLOEXEC);

        if (fd < 0)
            return nm_fail(ret_message, -errno, "Can't open the directory '%s': %m", *names);
        dirs->fds[dirs->n++] = fd;
    }
    return 0;
}

static int serve(const struct nm_shuffle_options *o, FILE *in, FILE *out, char **ret_message)
{
    _cleanup_(service_done) struct nm_shuffle_service s = {.request_usec = NM_SHUFFLE_REQUEST_USEC};
    _cleanup_(nm_shuffle_server_freep) struct nm_shuffle_server *server = NULL;
    int r;

    /* Directories are opened with all powers: what stands above them is nobody's business later. */
    if ((r = open_dirs(o->dirs, &s.dirs, ret_message)) < 0 ||
        (o->user && (r = nm_shuffle_drop_powers(o->user, ret_message)) < 0) || (r = nm_shuffle_jobs_new(&s.jobs)) < 0 ||
        (r = nm_shuffle_places_new(o->max_connections, &s.places)) < 0 ||
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
        nm_tell("%s", message ? message : strerror(-r));
    return r;
}
