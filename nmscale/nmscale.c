/* SPDX-License-Identifier: Apache-2.0 */

/* nmscale: lists the nodes of a YARN cluster that can be given back, and gives them back. options.h describes a run. */

#include "nmscale/options.h"
#include "util/inherited.h"

int main(int argc, char **argv)
{
    struct nm_scale_options o;
    int r = nm_scale_parse_argv(argc, argv, &o);

    nm_inherited_keep_children();
    if (r != 0)
        return r < 0 ? NM_SCALE_USAGE : NM_SCALE_OK;
    return (int)nm_scale_run(&o);
}
