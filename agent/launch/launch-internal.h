/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The structures and functions shared by launch.c (watches shims), launch-spawn.c (starts shims) and output-drain.c
 * (saves the last output). Functions return 0 or -errno.
 */

#include "agent/launch/launch.h"
#include "agent/launch/output.h"
#include "agent/launch/shim.h"

/*
 * ---- output-drain.c --------------------------------------------------------------------------
 *
 * Saves the last output of a container that is killed. The shim is in the same cgroup and is killed together with the
 * command, perhaps before it has copied the newest output from the pipes to the log. A pipe exists as long as one of
 * its ends is open. So nmd opens the pipes before the kill, and writes their remaining content to the log after the
 * shim has exited. nmd keeps the pipes open only for this time: it uses two descriptors for each container that is
 * being killed, and no descriptors for running containers.
 */

struct nm_output_drain {
    char *log_dir; /* owned; NULL: no pipes are open */
    int fd[NM_OUTPUT_N_STREAMS];
};

#define NM_OUTPUT_DRAIN_NONE ((struct nm_output_drain){.fd = {-EBADF, -EBADF}})

/* Opens the output pipes of the shim `pid`. The caller then checks that the pid still belongs to this shim, and
 * otherwise calls nm_output_drain_close(). A second call has no effect. */
void nm_output_drain_open(struct nm_output_drain *w, pid_t pid, const char *log_dir);
/* Writes the remaining content of the pipes to the log, and closes the pipes. Is called after the shim has exited.
 * max_bytes: the log's limit for each stream. */
void nm_output_drain_write(struct nm_output_drain *w, uint64_t max_bytes);
void nm_output_drain_close(struct nm_output_drain *w);

/* ---- accounts.c ------------------------------------------------------------------------------ */

#define NM_ACCOUNTS_MAX 64         /* number of users whose accounts are kept */
#define NM_ACCOUNTS_GROUPS_MAX 256 /* an account with more groups is not kept */
#define NM_ACCOUNTS_N_FILES 3

/* One of the files of the local accounts, as far as a change shows; all zero if the file is missing. */
struct nm_accounts_file {
    uint64_t inode;
    int64_t size, seconds, nanoseconds;
};

/* The time at which a look-up began, and the files at that time. */
struct nm_accounts_stamp {
    uint64_t begun_usec;
    struct nm_accounts_file file[NM_ACCOUNTS_N_FILES];
};

struct nm_accounts_entry {
    char *user; /* as in the command; NULL: the entry is free */
    uid_t uid;
    gid_t gid;
    struct nm_shim_account account;
    struct nm_accounts_stamp stamp;
};

struct nm_accounts {
    struct nm_accounts_entry entries[NM_ACCOUNTS_MAX];
};

struct nm_accounts_stamp nm_accounts_stamp(void);
/* Returns the account of the command's user, valid until the next nm_accounts_put(), or NULL if the account has to be
 * looked up. */
const struct nm_shim_account *nm_accounts_find(const struct nm_accounts *a, const struct nm_command *c,
                                               const struct nm_accounts_stamp *now);
/* Keeps a copy of the account in a shim's spec. user: the command's user. stamp: made before the look-up. */
void nm_accounts_put(struct nm_accounts *a, const char *user, const struct nm_shim_spec *spec,
                     const struct nm_accounts_stamp *stamp);
void nm_accounts_done(struct nm_accounts *a);

/* ---- spawner.c ------------------------------------------------------------------------------- */

struct nm_spawner {
    struct nm_accounts accounts;
    int socket;          /* negative: there is no process */
    pid_t pid;           /* 0: there is no process */
    unsigned n_failures; /* since the last success */
};

enum {
    NM_SPAWNER_E_NO_SHIM = 1, /* there is no shim: the caller forks it */
};

/* Creates a shim as a child of this process. fds: n_fds descriptors in the order of shim.h. Returns 0 and the pid, or
 * NM_SPAWNER_E_NO_SHIM. */
int nm_spawner_spawn(struct nm_spawner *s, int shim_fd, const struct nm_spawn_request *q, const int *fds, size_t n_fds,
                     pid_t *ret);

/* ---- launch.c and launch-spawn.c ------------------------------------------------------------- */

/* A spec can't be changed any more when the shim's program reads it. nmd takes accounts from such specs only. */
#define NM_LAUNCH_SPEC_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

/* A look-up of an account by the child that becomes the shim. */
struct nm_launch_lookup {
    struct nm_spawner *spawner; /* keeps the account */
    char *user;                 /* owned */
    int spec_fd;                /* owned: the shim's spec, which has the account; negative: there is no look-up */
    struct nm_accounts_stamp stamp;
};

/* The progress of a shim, as far as nmd knows it. A shim only goes forward, and may skip values. */
enum nm_shim_progress {
    NM_SHIM_NONE,           /* there is no shim yet */
    NM_SHIM_AT_GATE,        /* the shim waits at its gate, and this nmd can open the gate */
    NM_SHIM_NO_GATE,        /* this nmd has opened the gate, or an earlier nmd has started the shim */
    NM_SHIM_REPORTED_START, /* the callback was called for STARTED */
    NM_SHIM_GONE,           /* the shim has exited */
};

struct nm_launch {
    sd_event *event;
    nm_launch_cb_t cb;
    void *userdata;
    char *dir;
    pid_t pid;
    uint64_t start_ticks;
    int pidfd;
    int socket;         /* -EBADF for an adopted shim */
    bool is_child;      /* the shim is a child of nmd, so nmd must reap it */
    bool is_session;    /* the launch is a session, which has neither directory nor record */
    bool started_in_cgroup;
    enum nm_shim_progress progress;
    struct nm_launch_record record; /* newest known record of the shim */
    struct nm_output_drain output_drain;
    struct nm_launch_lookup lookup;
    sd_event_source *pid_source, *socket_source, *inotify_source, *defer_source;
};

int nm_launch_alloc(const char *container_dir, sd_event *event, nm_launch_cb_t cb, void *userdata,
                    struct nm_launch **ret);
/* Asserts that the shim goes forward. */
void nm_launch_advance(struct nm_launch *l, enum nm_shim_progress to);
int nm_launch_watch(struct nm_launch *l);
int nm_launch_drop_at(int dir_fd);
/* Reads field 22 of /proc/PID/stat. Returns -ESRCH if there is no such process. */
int nm_launch_read_start_ticks(pid_t pid, uint64_t *ret);
struct nm_launch_record nm_launch_never_ran(int error);
