/* SPDX-License-Identifier: Apache-2.0 */

/*
 * nmctl, the client of nmd: everything is in cli.c and the files that it leads to, which are a
 * library, so that unit tests can call them.
 */

#include "nmctl/cli.h"
#include "util/inherited.h"

int main(int argc, char **argv)
{
    nm_inherited_keep_children();
    return nm_cli_run(argc, argv);
}
