/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes RTM_NEWLINK messages: their attributes, which libnl parses, and nmd's own checks of the messages. */

#include <linux/netlink.h>

#include "monitor/parse.h"
#include "util/macros.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ void *copy = malloc(size + (size == 0)); /* aligned, as a receive buffer is */
    struct nm_link_message m;

    if (!copy)
        abort();
    if (size > 0)
        memcpy(copy, data, size);
    if (nm_monitor_parse_link(copy, size, &m) < 0)
        return 0;
    if (m.ifindex <= 0 || m.name[0] == '\0' || !memchr(m.name, '\0', sizeof m.name) ||
        strchr(m.name, '/'))
        abort();
    return 0;
}
