/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Parses the "key value" files of cgroup v2: cgroup.events and memory.events. Kernels add keys over time
 * (oom_group_kill came with 5.17), so unknown keys are skipped. The lines of unknown keys must still be well-formed; a
 * malformed line shows that this is a different file.
 */

#include "cgroup/cgroup.h"

#include <assert.h>

#include "util/parse.h"

struct key {
    const char *name;
    uint64_t *value;
};

static uint64_t *find_key(const struct key *keys, size_t n, const char *name, size_t len)
{
    for (size_t i = 0; i < n; i++)
        if (strlen(keys[i].name) == len && memcmp(keys[i].name, name, len) == 0)
            return keys[i].value;
    return NULL;
}

/* Reads digits up to the end of the line. Returns the beginning of the next line, or NULL if the text is not a
 * number. */
static const char *take_value(const char *p, uint64_t *ret)
{
    uint64_t v;

    if (nm_parse_digits(&p, &v) < 0 || (*p != '\n' && *p != '\0'))
        return NULL;
    *ret = v;
    return *p ? p + 1 : p;
}

static int parse_flat_keyed(const char *text, const struct key *keys, size_t n)
{
    assert(text && n > 0);
    for (const char *p = text; *p;) {
        size_t len = strcspn(p, " \n");
        uint64_t v, *into;

        if (len == 0 || p[len] != ' ')
            return -EBADMSG;
        into = find_key(keys, n, p, len);
        p = take_value(p + len + 1, &v);
        if (!p)
            return -EBADMSG;
        if (into)
            *into = v;
    }
    return 0;
}

int nm_cgroup_parse_events(const char *text, struct nm_cgroup_events *ret)
{
    uint64_t populated = 0, frozen = 0;
    const struct key keys[] = {{"populated", &populated}, {"frozen", &frozen}};
    int r = parse_flat_keyed(text, keys, NM_ARRAY_SIZE(keys));

    if (r < 0)
        return r;
    if (populated > 1 || frozen > 1)
        return -EBADMSG;
    *ret = (struct nm_cgroup_events){.populated = populated, .frozen = frozen};
    return 0;
}

int nm_cgroup_parse_memory_events(const char *text, struct nm_cgroup_memory_events *ret)
{
    struct nm_cgroup_memory_events e = {0};
    const struct key keys[] = {{"high", &e.high},
                               {"max", &e.max},
                               {"oom", &e.oom},
                               {"oom_kill", &e.oom_kill},
                               {"oom_group_kill", &e.oom_group_kill}};
    int r = parse_flat_keyed(text, keys, NM_ARRAY_SIZE(keys));

    if (r < 0)
        return r;
    *ret = e;
    return 0;
}
