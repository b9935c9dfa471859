/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What `nmd --yarn-setup` finds on this host, for plan.h to decide by. All texts are an arena's. Paths are as they are
 * inside of the root directory that is worked on, which is the host's own unless somebody names another one.
 */

#include <stdbool.h>
#include <sys/types.h>

#include "rpc/hadoop/arena.h"
#include "rpc/yarn/conf/settings.h"
#include "rpc/yarn/setup/manifest.h"

enum nm_setup_kind {
    NM_SETUP_NOTHING,
    NM_SETUP_FILE,
    NM_SETUP_DIR,
    NM_SETUP_LINK,  /* it, or a part of the way to it, is a symbolic link, which nothing is written through */
    NM_SETUP_OTHER, /* a device, a pipe; or it can't be looked at: error */
};

/* What stands at a path. */
struct nm_setup_spot {
    const char *path;
    enum nm_setup_kind kind;
    uid_t uid; /* of a file or directory, as the next two */
    gid_t gid;
    mode_t mode;
    const char *sha256;   /* of a file, in hexadecimal; NULL: it is too large to be ours */
    const char **missing; /* where there is nothing: what isn't there either, above it, the outermost first */
    size_t n_missing;
    const char *weak; /* the first directory above it in which others than root can put something else there; or NULL */
    bool is_usable;   /* as a directory of nmd's: it is root's alone, and so is the way to it, links or not */
    int error;        /* negative errno */
};

enum nm_setup_role {
    NM_SETUP_RESOURCE_MANAGER,
    NM_SETUP_SCHEDULER, /* also a ResourceManager's: where the proxy of application masters goes on to */
    NM_SETUP_NAME_NODE,
};

/* A host of the cluster's files. */
struct nm_setup_host {
    enum nm_setup_role role;
    const char *name;
    unsigned port;
    const char **addresses; /* numeric */
    size_t n_addresses;
    int unresolved;       /* of getaddrinfo(): 0, or EAI_... */
    int error;            /* of a connection to the port: 0, or a negative errno */
    const char *answered; /* the address that took it, where one did */
};

struct nm_setup_facts {
    uid_t uid; /* whose directories are to be: root, or who runs it below a root directory of its own */
    gid_t gid;
    struct nm_setup_host *hosts; /* ResourceManagers first, in the files' order */
    size_t n_hosts;
    const char **name_servers; /* their addresses */
    size_t n_name_servers;
    const char *network, *interface; /* of this host's networks, the one that a ResourceManager is in; or NULL */
    const char *java_home, *java_version, *java_from; /* NULL: none was found; from where it is known */
    const char *hadoop_home, *hadoop_from;
    const char *node_name; /* by which the cluster will know the node */
    bool has_local_user;
    struct nm_setup_spot config, unit, state; /* the two drop-ins, and nmd's state directory */
    struct nm_setup_spot *dirs;               /* the settings' local directories, then those for logs */
    size_t n_dirs;
    struct nm_setup_manifest manifest; /* empty: nothing was ever set up */
};

/* What is asked for. */
struct nm_setup_wish {
    const char *root;     /* without a slash at its end; "": the host's own */
    const char *conf_dir; /* of the cluster's files, as nmd.conf is to have it */
    const char *config_path, *unit_path, *state_dir, *manifest_path;
    const char *java_home;    /* NULL: one is looked for */
    const char *const *allow; /* more addresses for the unit, NULL-terminated */
};

/* Looks, names and connects; a name service or a host may keep it waiting for some seconds. -EINVAL and *ret_message: a
 * sentence why it makes no sense. */
int nm_setup_facts_gather(const struct nm_setup_wish *w, const struct nm_yarn_settings *s, struct nm_arena *a,
                          struct nm_setup_facts *ret, char **ret_message);

/* One path. What can't be looked at is in *ret. */
int nm_setup_spot_look(struct nm_arena *a, const char *root, const char *path, struct nm_setup_spot *ret);
/* The sum of a text, as a spot has it. */
const char *nm_setup_sum(struct nm_arena *a, const void *data, size_t size);
