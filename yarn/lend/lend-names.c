/* SPDX-License-Identifier: Apache-2.0 */

/* The names of modes and reasons. */

#include "yarn/lend/lend.h"

static const struct {
    const char *name, *text;
} reasons[NM_LEND_N_REASONS] = {
    [NM_LEND_LENT] = {"lent", "is lent as far as the mode allows"},
    [NM_LEND_IS_OFF] = {"off", "belongs to an application to which nothing is lent"},
    [NM_LEND_REGISTERED_BEFORE] = {"registered_before",
                                   "belongs to an application whose master registered before lending was enabled"},
    [NM_LEND_LABEL] = {"label", "asks for a node label"},
    [NM_LEND_STRICT] = {"strict", "asks for certain nodes or racks only"},
    [NM_LEND_PLACEMENT] = {"placement", "asks for nodes by placement constraints"},
    [NM_LEND_OTHER_RESOURCES] = {"other_resources", "asks for other resources than memory and vcores"},
    [NM_LEND_OWN_OPPORTUNISTIC] = {"own_opportunistic", "has opportunistic asks of its own"},
    [NM_LEND_TOO_MANY_KEYS] = {"too_many_keys", "belongs to an application with too many priorities and request ids"},
    [NM_LEND_WAITS] = {"waits", "has not waited long enough yet"},
    [NM_LEND_BACKS_OFF] = {"backs_off", "waits because a lent container was preempted, none was granted, or the "
                                         "ResourceManager has refused a call"},
    [NM_LEND_QUEUED] = {"queued", "waits because a lent container still waits in a node's queue"},
    [NM_LEND_APPLICATION_LIMIT] = {"application_limit", "has reached the application's limit"},
    [NM_LEND_QUEUE_LIMIT] = {"queue_limit", "has reached the queue's limit"},
    [NM_LEND_NODE_LIMIT] = {"node_limit", "has reached the limit on each node"},
    [NM_LEND_NO_ROOM] = {"no_room", "waits because no node can start an opportunistic container of this size now"},
    [NM_LEND_REFUSED] = {"refused", "is left alone because the ResourceManager grants guaranteed containers only"},
};

static const char *const modes[NM_LEND_N_MODES] = {
    [NM_LEND_OFF] = "off",
    [NM_LEND_OVERFLOW] = "overflow",
    [NM_LEND_PERCENT] = "percent",
    [NM_LEND_ALL] = "all",
};

const char *nm_lend_reason_name(enum nm_lend_reason r)
{
    return reasons[r].name;
}

const char *nm_lend_reason_text(enum nm_lend_reason r)
{
    return reasons[r].text;
}

const char *nm_lend_mode_name(enum nm_lend_mode m)
{
    return modes[m];
}
