/* SPDX-License-Identifier: Apache-2.0 */

/* See browser.h. */

#include "rpc/local/browser.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

/* Returns whether the origin is nmd's own page. "null", the origin of a sandboxed page, isn't nmd's. */
static bool is_own(const char *origin, const char *host)
{
    static const char *const schemes[] = {"http://", "https://"};

    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        size_t n = strlen(schemes[i]);

        if (strncasecmp(origin, schemes[i], n) == 0)
            return host && strcasecmp(origin + n, host) == 0;
    }
    return false;
}

/* Returns whether DNS rebinding can't produce this host. With an address the page itself came from this host, and a
 * name without a dot can't be registered in DNS. */
static bool is_safe(struct nm_names *names, const char *host)
{
    struct in6_addr address;
    char name[256];

    if (!*host)
        return true;
    if (!nm_names_split(host, strlen(host), name, sizeof name))
        return false;
    return !strchr(name, '.') || inet_pton(AF_INET, name, &address) == 1 || nm_names_have(names, name);
}

int nm_browser_judge(struct nm_names *names, const char *origin, const char *host)
{
    if (origin && !is_own(origin, host))
        return NM_BROWSER_E_ORIGIN;
    return host && !is_safe(names, host) ? NM_BROWSER_E_HOST : 0;
}
