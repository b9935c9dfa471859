/* SPDX-License-Identifier: Apache-2.0 */

/* See persistent-cgroups.h. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/persistent-cgroups.h"

static char root[96]; /* "": cgroups are removed with their manager */

int __real_nm_cgroup_backend_new(const struct nm_cgroup_backend_params *params, struct nm_cgroup_backend **ret,
                                 char **ret_message);
int __wrap_nm_cgroup_backend_new(const struct nm_cgroup_backend_params *params, struct nm_cgroup_backend **ret,
                                 char **ret_message);

int __wrap_nm_cgroup_backend_new(const struct nm_cgroup_backend_params *params, struct nm_cgroup_backend **ret,
                                 char **ret_message)
{
    struct nm_cgroup_backend_params here = *params;

    here.cgroup_root = root[0] ? root : NULL;
    return __real_nm_cgroup_backend_new(&here, ret, ret_message);
}

void persistent_cgroups(struct manager_fixture *w)
{
    root[0] = '\0';
    if (!w)
        return;
    fake_tree_write(&w->tree, "cgroup/.keep", "");
    (void)snprintf(root, sizeof root, "%s/cgroup", w->tree.path);
}

static const char *name_of(const char *id, const char *file)
{
    static char name[160];

    (void)snprintf(name, sizeof name, "cgroup/nmtest.slice/nmtest-%s.scope/%s", id, file);
    return name;
}

void persistent_cgroups_set(struct manager_fixture *w, const char *id, bool populated, bool frozen)
{
    char text[64];

    (void)snprintf(text, sizeof text, "populated %d\nfrozen %d\n", populated, frozen);
    fake_tree_write(&w->tree, name_of(id, "cgroup.events"), text);
}

void persistent_cgroups_add(struct manager_fixture *w, const char *id, bool populated, bool frozen)
{
    persistent_cgroups_set(w, id, populated, frozen);
    fake_tree_write(&w->tree, name_of(id, "cgroup.freeze"), frozen ? "1\n" : "0\n");
    fake_tree_write(&w->tree, name_of(id, "cgroup.procs"), "");
}

bool persistent_cgroups_has(struct manager_fixture *w, const char *id)
{
    return fake_tree_has(&w->tree, name_of(id, ""));
}
