/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The facts that `nmd --yarn-setup` determines on this host. plan.h makes a plan from them. All texts are in an arena.
 * Paths are relative to the root directory, which is that of this host unless --root names another directory.
 */

#include <stdbool.h>
#include <sys/types.h>

#include "rpc/hadoop/arena.h"
#include "yarn/conf/settings.h"
#include "yarn/setup/manifest.h"

enum nm_setup_kind {
    NM_SETUP_NOTHING,
    NM_SETUP_FILE,
    NM_SETUP_DIR,
    NM_SETUP_LINK,  /* a component of the path is a symbolic link; the setup doesn't write through links */
    NM_SETUP_OTHER, /* a device or a pipe; or the examination failed, see `error` */
};

/* The file or directory at a path. */
struct nm_setup_path {
    const char *path;
    enum nm_setup_kind kind;
    uid_t uid; /* owner of the file or directory; gid and mode: its group and mode */
    gid_t gid;
    mode_t mode;
    const char *sha256;   /* checksum of a file, in hexadecimal; NULL: too large for a file of the setup */
    const char **missing; /* if the path doesn't exist: the missing directories above it, the outermost first */
    size_t n_missing;
    const char **weak; /* the directories above the path that users other than root can change, the outermost first */
    size_t n_weak;
    bool is_private; /* a directory in which only root can make files and directories */
    bool is_usable;  /* only root can change the directory and those above it; links are followed */
    int error;       /* reason why the examination failed: negative errno */
};

enum nm_setup_role {
    NM_SETUP_RESOURCE_MANAGER,
    NM_SETUP_SCHEDULER, /* the ResourceManager's port for application masters, to which the proxy connects */
    NM_SETUP_NAME_NODE,
};

/* A host that the cluster's files name. */
struct nm_setup_host {
    enum nm_setup_role role;
    const char *name;
    unsigned port;
    const char **addresses; /* numeric addresses of the host */
    size_t n_addresses;
    int unresolved;       /* result of getaddrinfo(): 0, or EAI_... */
    int error;            /* result of connecting to the port: 0, or a negative errno */
    const char *answered; /* the address that accepted the connection; NULL if no address did */
};

struct nm_setup_facts {
    uid_t uid; /* the owner that directories must have: root, or with --root the user who runs nmd */
    gid_t gid;
    struct nm_setup_host *hosts; /* ResourceManagers first, then the other hosts in the order of the files */
    size_t n_hosts;
    const char **name_servers; /* addresses of the name servers */
    size_t n_name_servers;
    const char *network, *interface; /* the network shared with a ResourceManager, its interface; NULL: none */
    const char *java_home, *java_version, *java_from; /* NULL: not found; java_from: source of the path */
    const char *hadoop_home, *hadoop_from;
    const char *java_warning, *hadoop_warning; /* why the scripts may mean another directory; NULL: no doubt */
    const char *node_name; /* the name with which the node registers */
    bool has_local_user;
    struct nm_setup_path config, unit, state; /* the two drop-ins, and nmd's state directory */
    struct nm_setup_path *dirs;               /* the local directories, then the log directories of the settings */
    size_t n_dirs;
    struct nm_setup_manifest manifest; /* empty if there was no earlier setup */
};

/* The arguments of the setup. */
struct nm_setup_request {
    const char *root;     /* without a trailing slash; "": the root directory of this host */
    const char *conf_dir; /* the directory of the cluster's files, as nmd.conf must name it */
    const char *config_path, *unit_path, *state_dir, *manifest_path;
    const char *options; /* the options of this command whose values aren't the defaults, each after a blank; or "" */
    const char *check_options; /* the options for a later nmd --check-config, in the same form as `options` */
    const char *run_options;   /* the options for running nmd on its host, in the same form as `options` */
    const char *java_home;     /* NULL: search for Java */
    const char *const *allow; /* additional addresses for the unit, NULL-terminated */
    pid_t (*holder)(const char *state_dir); /* same as nm_yarn_setup_params.holder */
    void (*progress)(const char *text); /* called during operations that take seconds; may be NULL */
};

/* Examines paths, resolves names and connects to hosts. This may take some seconds. -EINVAL and *ret_message: the setup
 * can't be done with these arguments. */
int nm_setup_facts_gather(const struct nm_setup_request *w, const struct nm_yarn_settings *s, struct nm_arena *a,
                          struct nm_setup_facts *ret, char **ret_message);

/* Returns the path without empty or "." components and without a trailing slash. NULL: no memory. */
const char *nm_setup_path_normalize(struct nm_arena *a, const char *path);
/* Returns whether the path needs no quotes in a unit file and in nmd.conf, and has no ".." component. */
bool nm_setup_is_plain(const char *path);
/* Examines one path. If the examination fails, *ret contains the reason. */
int nm_setup_path_examine(struct nm_arena *a, const char *root, const char *path, struct nm_setup_path *ret);
/* Returns the SHA-256 of a text in hexadecimal, in the same form as in nm_setup_path. */
const char *nm_setup_sha256(struct nm_arena *a, const void *data, size_t size);

/* ---- the cluster's hosts: reach.c --------------------------------------------------------- */

/* Returns the role for messages, such as "name node". */
const char *nm_setup_role(enum nm_setup_role role);
/* Writes the reason why a host couldn't be reached, and what to check, to buf. Returns buf, or NULL if the host was
 * reached. */
const char *nm_setup_why_unreached(const struct nm_setup_facts *f, const struct nm_setup_host *h, char *buf,
                                   size_t size);

/* ---- the service nmd: facts.c ------------------------------------------------------------- */

/* How nmd is started and stopped on the host. The output of the setup contains the commands for this. */

struct nm_setup_service {
    bool by_systemd;
    pid_t pid; /* pid of the nmd that uses the state directory; 0: no nmd uses it; negative errno: unknown */
};

/* Examines the host to which the root directory belongs. If a property can't be determined, *ret says so; the function
 * never fails. */
struct nm_setup_service nm_setup_service_examine(const struct nm_setup_request *w);
