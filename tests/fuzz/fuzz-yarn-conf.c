/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes Hadoop configuration files. The message of a refused file is one printable line. In an accepted file, each
 * property has a value or is refused. Each setting that nmd derives from the file also has a value or is refused. */

#include "text.h"
#include "yarn/conf/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_(nm_yarn_settings_freep) struct nm_yarn_settings *s = NULL;
    _cleanup_(nm_yarn_conf_freep) struct nm_yarn_conf *c = NULL;
    _cleanup_free_ char *message = NULL;
    int r;

    if (nm_yarn_settings_new_conf(&c) < 0)
        abort();
    r = nm_yarn_conf_read_text(c, -EBADF, "FILE", (const char *)data, size, &message);
    if (r > 0 || (r == 0) != !message)
        abort();
    if (r < 0)
        fuzz_check_message(message);
    for (size_t i = 0; i < nm_yarn_conf_count(c); i++) {
        char *value = NULL;

        if (nm_yarn_conf_expand(c, nm_yarn_conf_at(c, i)->name, &value) < 0 && value)
            abort();
        free(value);
    }
    if (r == 0) {
        r = nm_yarn_settings_read(c, NULL, NULL, &s, &message);
        if ((r == 0) != (s != NULL) || (r < 0 && !message))
            abort();
        if (s)
            json_decref(nm_yarn_settings_to_json(s));
    }
    return 0;
}
