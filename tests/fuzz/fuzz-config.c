/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Fuzzes nmd.conf. The message of a refused value is one printable line. If an accepted value is printed and parsed,
 * the result is the same value.
 */

#include "agent/config/config-keys.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Checks that a refusal has a message of one line. */
static void check_message(const char *message)
{
    if (!message)
        abort();
    for (const char *line = message; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (strncmp(line, "FILE", 4) != 0)
            abort();
    for (; *message; message++)
        if (*message != '\n' && (*message < ' ' || *message > '~'))
            abort();
}

static void check_values(struct nm_config *c)
{
    for (size_t i = 0; i < nm_config_n_keys; i++) {
        char first[NM_CONFIG_VALUE_SIZE], second[NM_CONFIG_VALUE_SIZE];

        nm_config_get(c, &nm_config_keys[i], first, sizeof first);
        nm_config_clear_list(c, &nm_config_keys[i]);
        if (nm_config_set(c, &nm_config_keys[i], first) < 0)
            abort();
        if (!nm_streq(first, nm_config_get(c, &nm_config_keys[i], second, sizeof second)))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_(nm_config_freep) struct nm_config *c = NULL;
    _cleanup_free_ char *message = NULL;
    int r;

    if (nm_config_new_defaults(&c) < 0)
        abort();
    r = nm_config_read_text(c, "FILE", (const char *)data, size, NULL, &message);
    if (r == 0)
        r = nm_config_check(c, NULL, &message);
    else
        check_message(message);
    if (r == 0)
        check_values(c);
    return 0;
}
