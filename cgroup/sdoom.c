/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Keeps memory.oom.group of scopes. systemd couples this file with its own reaction to an OOM kill in the scope.
 * OOMPolicy=kill sets the file, but systemd then also kills the other processes, including the shim, whose record would
 * be lost. OOMPolicy=continue resets the file to 0 whenever systemd writes the scope's files. nmd needs only the
 * kernel's group kill. So it writes the file directly, remembers the value here, and writes it again after each reload
 * of the manager. The drift check repairs a reset that happens while nmd is not running.
 */

#include "cgroup/attr.h"

#include <assert.h>

#include "cgroup/systemd.h"
#include "util/log.h"

struct nm_sdoom {
    struct nm_sdoom *next;
    char unit[NM_BACKEND_NAME_MAX];
};

static struct nm_sdoom **find(struct nm_systemd *s, const char *unit)
{
    struct nm_sdoom **link = &s->oom_groups;

    while (*link && !nm_streq((*link)->unit, unit))
        link = &(*link)->next;
    return link;
}

static void drop(struct nm_sdoom **link)
{
    struct nm_sdoom *entry = *link;

    if (!entry)
        return;
    *link = entry->next;
    free(entry);
}

void nm_sdoom_release(struct nm_systemd *s, const char *unit)
{
    drop(find(s, unit));
}

void nm_sdoom_free_all(struct nm_systemd *s)
{
    while (s->oom_groups)
        drop(&s->oom_groups);
}

static void add_unit(struct nm_systemd *s, const char *unit)
{
    struct nm_sdoom *entry;

    assert(unit && *unit);
    if (*find(s, unit))
        return;
    entry = calloc(1, sizeof *entry);
    if (!entry)
        return; /* the drift check will repair the file */
    (void)snprintf(entry->unit, sizeof entry->unit, "%s", unit);
    entry->next = s->oom_groups;
    s->oom_groups = entry;
}

void nm_sdoom_set(struct nm_systemd *s, const struct nm_cgroup *cg, bool on)
{
    int r = nm_cgroup_set_oom_group(cg, on);

    if (r < 0 && r != -ENOENT && r != -EOPNOTSUPP)
        nm_debug("cgroup: can't write memory.oom.group of %s: %s", cg->name, strerror(-r));
    if (r < 0)
        return;
    if (on)
        add_unit(s, cg->name);
    else
        nm_sdoom_release(s, cg->name);
}

void nm_sdoom_adopt(struct nm_systemd *s, const struct nm_cgroup *cg)
{
    char text[8];

    if (nm_attr_read(cg->dir_fd, "memory.oom.group", text, sizeof text) >= 0 && text[0] == '1')
        add_unit(s, cg->name);
}

/* Returns false if the scope no longer exists. */
static bool restore_one(const struct nm_systemd *s, const char *unit)
{
    _cleanup_close_ int fd = openat(s->base.slice_fd, unit, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return fd >= 0 && nm_attr_write(fd, "memory.oom.group", "1") != -ENOENT;
}

void nm_sdoom_restore(struct nm_systemd *s)
{
    struct nm_sdoom **link = &s->oom_groups;

    while (*link) {
        if (restore_one(s, (*link)->unit))
            link = &(*link)->next;
        else
            drop(link);
    }
}
