/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes the spec that nmd sends to its shim, which parses it as root. Each string of an accepted spec must point into
 * the text of the spec. */

#include "agent/launch/shim.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_strings(char *const *v, const char *text, size_t size)
{
    for (; *v; v++)
        if (*v < text || *v + strlen(*v) >= text + size)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *text = malloc(size + 1);
    struct nm_shim_spec spec;

    if (!text)
        abort();
    if (size > 0)
        memcpy(text, data, size);
    if (nm_shim_spec_parse(text, size, &spec) < 0)
        return 0;
    check_strings(spec.argv, text, size);
    check_strings(spec.env, text, size);
    for (size_t i = 0; i < spec.account.n_groups; i++)
        if (spec.account.groups[i] == (gid_t)-1)
            abort();
    check_strings((char *[]){spec.account.name, spec.account.home, spec.account.shell, NULL}, text, size);
    if (!*spec.argv || !*spec.account.name || !spec.workdir || spec.uid == (uid_t)-1 ||
        spec.gid == (gid_t)-1)
        abort();
    nm_shim_spec_done(&spec);
    return 0;
}
