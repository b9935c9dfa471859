/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes RTM_NEWROUTE messages, which have a nested array of next hops. */

#include <linux/netlink.h>

#include "monitor/parse.h"
#include "util/macros.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ void *copy = malloc(size + (size == 0));
    struct nm_route_message m;

    if (!copy)
        abort();
    if (size > 0)
        memcpy(copy, data, size);
    if (nm_monitor_parse_route(copy, size, &m) < 0)
        return 0;
    if (m.n > NM_ROUTE_LINKS_MAX)
        abort();
    for (unsigned i = 0; i < m.n; i++)
        if (m.ifindex[i] <= 0)
            abort();
    return 0;
}
