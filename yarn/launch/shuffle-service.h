/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * mapreduce_shuffle, in nmd: keeps a nm-shuffle running (its manual has what is said to it), and tells it which jobs
 * there are, also when it has had to be started anew.
 */

#include <systemd/sd-event.h>

#include "agent/upstream.h"
#include "rpc/hadoop/bytes.h"
#include "yarn/conf/settings.h"

#define NM_YARN_SHUFFLE "mapreduce_shuffle"
#define NM_YARN_SHUFFLE_PORT "mapreduce.shuffle.port"

struct nm_yarn_shuffle;

struct nm_yarn_shuffle_params {
    sd_event *event;
    struct nm_manager *manager; /* places nm-shuffle in a cgroup; it must outlive this */
    const struct nm_yarn_settings *settings;
    const char *program;   /* nm-shuffle's path */
    const char *state_dir; /* nmd's: the jobs outlive it */
    void (*tell)(int level, const char *sentence);
};

/* Whether the configuration has it among the auxiliary services. */
bool nm_yarn_shuffle_is_wanted(const struct nm_yarn_settings *s);
/* It listens already when this comes back. *ret_message: why not, or NULL. */
int nm_yarn_shuffle_new(const struct nm_yarn_shuffle_params *params, struct nm_yarn_shuffle **ret, char **ret_message);
/* Would its program or its port be refused? It isn't started. may_be_ours: as in port.h. */
int nm_yarn_shuffle_check(const struct nm_yarn_settings *s, const char *program, bool may_be_ours, char **ret_message);
struct nm_yarn_shuffle *nm_yarn_shuffle_free(struct nm_yarn_shuffle *s);
NM_DEFINE_CLEANUP(struct nm_yarn_shuffle *, nm_yarn_shuffle_free)

/* What reducers have to know: its port, four bytes. */
struct nm_bytes nm_yarn_shuffle_metadata(const struct nm_yarn_shuffle *s);

/* service_data of a container: a token, whose password is the key of the application's job; which job that is goes by
 * the application alone, as in Hadoop. Its outputs lie in the submitter's directory and are the user's, as whom
 * containers run. -EBADMSG: it is no token; -ENOENT: there is no such user. */
int nm_yarn_shuffle_add(struct nm_yarn_shuffle *s, const char *submitter, const char *user, const char *application,
                        struct nm_bytes data);
/* All of its jobs. */
void nm_yarn_shuffle_end_application(struct nm_yarn_shuffle *s, const char *application);
