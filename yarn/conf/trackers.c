/* SPDX-License-Identifier: Apache-2.0 */

/* See settings-parts.h. */

#include "yarn/conf/settings-parts.h"

#include <errno.h>

#include "util/error.h"

#define PREFIX "yarn.resourcemanager."
#define TRACKERS_MAX 32u

static const struct {
    const char *name; /* the property's name without the prefix */
    int port;
    bool optional;
} services[] = {
    [NM_YARN_RM_TRACKER] = {"resource-tracker.address", 8031, false},
    [NM_YARN_RM_SCHEDULER] = {"scheduler.address", 8030, false},
    [NM_YARN_RM_CLIENT] = {"address", 8032, true},
};

void nm_yarn_trackers_free(struct nm_yarn_address *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(list[i].host);
    free(list);
}

/* Reads a property. If the property isn't set, *ret is NULL. */
static int get(const struct nm_yarn_conf *c, const char *name, const char *id, char **ret, char **ret_message)
{
    char whole[300];
    int r;

    *ret = NULL;
    if ((size_t)snprintf(whole, sizeof whole, PREFIX "%s.%s", name, id) >= sizeof whole)
        return nm_fail(ret_message, -EINVAL, PREFIX "ha.rm-ids: '%.40s...' is too long", id);
    if (!nm_yarn_conf_find(c, whole))
        return 0;
    r = nm_yarn_conf_expand(c, whole, ret);
    return r < 0 ? nm_fail(ret_message, r, "%s: the variables in the value refer to each other in a circle, or the "
                                           "expanded value is too long", whole) : 0;
}

static int parse(const char *text, const char *name, const char *id, struct nm_yarn_address *ret, char **ret_message)
{
    const struct nm_yarn_key key = {.type = NM_YARN_ADDRESS, .offset = offsetof(struct nm_yarn_settings, tracker),
                                    .min = 1, .max = 65535};
    struct nm_yarn_settings into = {};
    char shown[120];
    int r = nm_yarn_value_parse(&key, text, &into);

    if (r == -EINVAL || r == -ERANGE)
        return nm_fail(ret_message, r, PREFIX "%s.%s = '%s': must be HOST:PORT", name, id,
                       nm_yarn_conf_printable(text, shown, sizeof shown));
    if (r == 0)
        *ret = into.tracker;
    return r;
}

/* Returns 1 if the ResourceManager has no such address and may be left out. */
static int read_one(const struct nm_yarn_conf *c, const char *id, enum nm_yarn_rm_service service,
                    struct nm_yarn_address *ret, char **ret_message)
{
    _cleanup_free_ char *address = NULL, *host = NULL;
    const char *name = services[service].name;
    int r = get(c, name, id, &address, ret_message);

    if (r < 0)
        return r;
    if (!address) {
        r = get(c, "hostname", id, &host, ret_message);
        if (r < 0)
            return r;
        if (!host && services[service].optional)
            return 1;
        if (!host)
            return nm_fail(ret_message, -EINVAL,
                           PREFIX "ha.rm-ids has '%s', but neither " PREFIX "%s.%s nor " PREFIX "hostname.%s is set",
                           id, name, id, id);
        if (asprintf(&address, "%s:%d", host, services[service].port) < 0)
            return -ENOMEM;
    }
    return parse(address, name, id, ret, ret_message);
}

int nm_yarn_trackers_read(const struct nm_yarn_conf *c, char *const *ids, enum nm_yarn_rm_service service,
                          struct nm_yarn_address **ret, size_t *ret_n, char **ret_message)
{
    _cleanup_(nm_refusals_done) struct nm_refusals refusals = {};
    struct nm_yarn_address *list = calloc(TRACKERS_MAX, sizeof *list);
    size_t n = 0;
    int r = list ? 0 : -ENOMEM;

    for (size_t i = 0; r == 0 && ids && ids[i]; i++) {
        char *message = NULL;

        r = i < TRACKERS_MAX ? read_one(c, ids[i], service, &list[n], &message)
                             : nm_fail(&message, -EINVAL, PREFIX "ha.rm-ids: more than %u ids", TRACKERS_MAX);
        n += r == 0;
        r = nm_refusals_add(&refusals, NM_MIN(r, 0), message);
    }
    if (r == 0)
        r = nm_refusals_take(&refusals, ret_message);
    if (r == 0 && n == 0 && !services[service].optional)
        r = nm_fail(ret_message, -EINVAL, PREFIX "ha.enabled is true, but " PREFIX "ha.rm-ids has no id");
    if (r < 0) {
        nm_yarn_trackers_free(list, n);
        return r;
    }
    *ret = list;
    *ret_n = n;
    return 0;
}
