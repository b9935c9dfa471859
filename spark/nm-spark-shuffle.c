/* SPDX-License-Identifier: Apache-2.0 */

/* nm-spark-shuffle: serves the shuffle files of Spark's executors. It is a separate process because it blocks on disks
 * and accepts connections from the whole network, which nmd must not do. */

#include <signal.h>

#include "spark/cli.h"

int main(int argc, char **argv)
{
    struct nm_spark_options o;
    int r = nm_spark_parse_argv(argc, argv, &o);

    if (r != 0)
        return r < 0 ? 2 : 0;
    signal(SIGPIPE, SIG_IGN); /* sendfile(2) has no flag to suppress SIGPIPE */
    return nm_spark_run(&o, stdin, stdout) < 0 ? 1 : 0;
}
