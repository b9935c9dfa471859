/* SPDX-License-Identifier: Apache-2.0 */

/* nm-localizer: fetches a container's files, as the container's user. nmd starts it; see worker.h. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "localize/worker/worker.h"
#include "util/macros.h"

/* Prints on standard output why the file can't be used. The exit status shows whether the check was possible. */
static int check_ca(const char *file)
{
    _cleanup_free_ char *message = NULL;
    int r = nm_ca_check(file, &message);

    if (r == 0)
        return NM_WORKER_DONE;
    (void)printf("%s\n", message ? message : "out of memory while loading");
    return fflush(stdout) == 0 && r != -ENOTCONN ? NM_WORKER_SOME_FAILED : NM_WORKER_NO_WORK;
}

int main(int argc, char **argv)
{
    if (argc == 3 && nm_streq(argv[1], "--check-ca"))
        return check_ca(argv[2]);
    if (argc > 1) {
        (void)fprintf(stderr,
                      "%s takes no arguments: nmd passes its work on standard input; see nm-localizer(8)\n", argv[0]);
        return NM_WORKER_NO_WORK;
    }
    return (int)nm_worker_run(STDIN_FILENO, STDOUT_FILENO);
}
