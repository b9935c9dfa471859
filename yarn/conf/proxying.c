/* SPDX-License-Identifier: Apache-2.0 */

/* See settings-parts.h. */

#include "yarn/conf/settings-parts.h"

#include <errno.h>
#include <inttypes.h>

#include "util/error.h"
#include "util/macros.h"

#define ROLL "yarn.resourcemanager.am-rm-tokens.master-key-rolling-interval-secs"
#define EXPIRY "yarn.am.liveness-monitor.expiry-interval-ms"
#define SCHEDULER "yarn.resourcemanager.scheduler.address"
#define PROXY "yarn.nodemanager.amrmproxy.address"

/* Checks the interval at which the proxy makes new keys. A new key becomes current after 1.5 times the expiry time of a
 * master. Like Java, nmd requires an interval of at least twice that delay. */
static int check_times(const struct nm_yarn_settings *s, char **ret_message)
{
    const uint64_t expiry_msec = s->am_expiry_usec / NM_USEC_PER_MSEC;

    if ((uint64_t)s->amrm_roll_sec * 1000 > 3 * expiry_msec)
        return 0;
    return nm_fail(ret_message, -EINVAL,
                   ROLL " = %" PRIi64 ": must be more than three times " EXPIRY ", which is %" PRIu64 " ms, because "
                   "masters need time to fetch a token of each new key",
                   s->amrm_roll_sec, expiry_msec);
}

static bool is_here(const char *host, const struct nm_yarn_settings *s)
{
    return nm_streq(host, s->proxy_address.host) || nm_streq(host, s->node.host) || nm_streq(host, "localhost") ||
           nm_streq(host, "0.0.0.0") || strncmp(host, "127.", 4) == 0;
}

/* Checks the address to which the proxy forwards calls. In the configuration of masters, the same property contains the
 * proxy's address. If the node's own files contained the proxy's address, the proxy would call itself. */
static int check_scheduler(const struct nm_yarn_settings *s, const struct nm_yarn_address *rm_address,
                           char **ret_message)
{
    if (rm_address->port != s->proxy_address.port || !is_here(rm_address->host, s))
        return 0;
    return nm_fail(ret_message, -EINVAL,
                   SCHEDULER " = %s:%u: this is " PROXY ", the proxy's own address. The node's files must contain the "
                   "ResourceManager's address; only the configuration of applications contains the proxy's",
                   rm_address->host, (unsigned)rm_address->port);
}

static int read_schedulers(const struct nm_yarn_conf *c, struct nm_yarn_settings *s, struct nm_refusals *refusals)
{
    char *message = NULL;
    int r;

    if (!s->ha) {
        r = check_scheduler(s, &s->scheduler, &message);
        return nm_refusals_add(refusals, r, message);
    }
    r = nm_yarn_trackers_read(c, s->rm_ids, NM_YARN_RM_SCHEDULER, &s->schedulers, &s->n_schedulers, &message);
    r = nm_refusals_add(refusals, r, STEAL_PTR(message));
    for (size_t i = 0; r == 0 && i < s->n_schedulers; i++) {
        r = check_scheduler(s, &s->schedulers[i], &message);
        r = nm_refusals_add(refusals, r, STEAL_PTR(message));
    }
    return r;
}

/* Reads the addresses for clients, for questions about applications. */
static int read_clients(const struct nm_yarn_conf *c, struct nm_yarn_settings *s, struct nm_refusals *refusals)
{
    char *message = NULL;
    int r = s->ha ? nm_yarn_trackers_read(c, s->rm_ids, NM_YARN_RM_CLIENT, &s->rm_clients, &s->n_rm_clients, &message)
                  : 0;

    return nm_refusals_add(refusals, r, message);
}

static int read_all(const struct nm_yarn_conf *c, struct nm_yarn_settings *s, char **ret_message)
{
    _cleanup_(nm_refusals_done) struct nm_refusals refusals = {};
    char *message = NULL;
    int r = check_times(s, &message);

    r = nm_refusals_add(&refusals, r, message);
    if (r == 0)
        r = read_schedulers(c, s, &refusals);
    if (r == 0)
        r = read_clients(c, s, &refusals);
    return r < 0 ? r : nm_refusals_take(&refusals, ret_message);
}

int nm_yarn_proxying_read(const struct nm_yarn_conf *c, struct nm_yarn_settings *s, char **ret_message)
{
    _cleanup_free_ char *ignored = NULL;
    int r;

    s->proxy |= s->distributed || s->lending.enabled;
    if (s->proxy)
        return read_all(c, s, ret_message);
    r = read_all(c, s, &ignored);
    s->proxy_possible = r == 0;
    return r == -ENOMEM ? r : 0;
}
