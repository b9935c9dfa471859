/* SPDX-License-Identifier: Apache-2.0 */

/* Prints what the table of keys says, for `make update-config-docs`: "conf" the packaged nmd.conf,
 * "man" the keys of nmd.conf(5). Not installed. */

#include "agent/config/config-keys.h"

int main(int argc, char **argv)
{
    if (argc == 2 && nm_streq(argv[1], "conf"))
        return nm_config_print_template(stdout) < 0;
    if (argc == 2 && nm_streq(argv[1], "man"))
        return nm_config_print_man(stdout) < 0;
    (void)fputs("usage: print-config-docs conf|man\n", stderr);
    return 2;
}
