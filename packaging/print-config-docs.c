/* SPDX-License-Identifier: Apache-2.0 */

/* Prints documentation from tables, for `make update-config-docs`: "conf" prints the packaged nmd.conf, "man" the
 * keys of nmd.conf(5), and "inherited" the inherited attributes in nmd(8). Not installed. */

#include "agent/config/config-keys.h"
#include "util/inherited.h"

int main(int argc, char **argv)
{
    if (argc == 2 && nm_streq(argv[1], "conf"))
        return nm_config_print_template(stdout) < 0;
    if (argc == 2 && nm_streq(argv[1], "man"))
        return nm_config_print_man(stdout) < 0;
    if (argc == 2 && nm_streq(argv[1], "inherited"))
        return nm_inherited_print_man(stdout) < 0;
    (void)fputs("usage: print-config-docs conf|man|inherited\n", stderr);
    return 2;
}
