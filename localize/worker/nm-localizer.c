/* SPDX-License-Identifier: Apache-2.0 */

/* nm-localizer: fetches a container's files, as the container's user. nmd starts it; see worker.h. */

#include <stdio.h>
#include <unistd.h>

#include "localize/worker/worker.h"

int main(int argc, char **argv)
{
    if (argc > 1) {
        (void)fprintf(stderr,
                      "%s takes no arguments: nmd tells it its work on standard input; see nm-localizer(8)\n", argv[0]);
        return NM_WORKER_NO_WORK;
    }
    return (int)nm_worker_run(STDIN_FILENO, STDOUT_FILENO);
}
