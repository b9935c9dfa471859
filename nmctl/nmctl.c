/* SPDX-License-Identifier: Apache-2.0 */

/*
 * nmctl, the client of nmd. The code of nmctl is a library whose entry point is in cli.c, so that unit tests can call
 * it.
 */

#include "nmctl/cli.h"
#include "util/inherited.h"

int main(int argc, char **argv)
{
    nm_inherited_keep_children();
    return nm_cli_run(argc, argv);
}
