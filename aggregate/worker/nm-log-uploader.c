/* SPDX-License-Identifier: Apache-2.0 */

/* nm-log-uploader: uploads the logs of an application, as the application's user. nmd starts it; see uploader.h. */

#include <stdio.h>
#include <unistd.h>

#include "aggregate/worker/uploader.h"

int main(int argc, char **argv)
{
    if (argc > 1) {
        (void)fprintf(stderr,
                      "%s takes no arguments: nmd passes its work on standard input; see nm-log-uploader(8)\n",
                      argv[0]);
        return NM_UPLOADER_NO_WORK;
    }
    return (int)nm_uploader_run(STDIN_FILENO, STDOUT_FILENO);
}
