/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Spark's auxiliary service: spark_shuffle, unless the configuration has another name. It keeps an nm-spark-shuffle
 * process running, and sends the list of applications to each new process (spark/control.h describes the lines).
 */

#include <systemd/sd-event.h>

#include "agent/upstream.h"
#include "rpc/hadoop/bytes.h"
#include "yarn/conf/native-services.h"
#include "yarn/conf/settings.h"
#include "yarn/launch/shuffle-process.h"

#define NM_YARN_SPARK_PORT "spark.shuffle.service.port"

struct nm_yarn_spark;

struct nm_yarn_spark_params {
    sd_event *event;
    struct nm_manager *manager; /* moves the process to its own cgroup; must outlive the service */
    const struct nm_yarn_settings *settings;
    const char *program;   /* nm-spark-shuffle's path */
    const char *state_dir; /* nmd's state directory, which contains the files of the applications */
    void (*report_cb)(int level, const char *sentence);
};

/* Returns whether the configuration lists the service, and it does not run in Java. */
bool nm_yarn_spark_is_wanted(const struct nm_yarn_settings *s);
/* Starts the service. When this function returns 0, nm-spark-shuffle is listening. *ret_message: the reason for a
 * failure, or NULL. */
int nm_yarn_spark_new(const struct nm_yarn_spark_params *params, struct nm_yarn_spark **ret, char **ret_message);
/* Checks the program and the port without starting nm-spark-shuffle. may_be_ours: as in port.h. */
int nm_yarn_spark_check(const struct nm_yarn_settings *s, const char *program, bool may_be_ours, char **ret_message);
struct nm_yarn_spark *nm_yarn_spark_free(struct nm_yarn_spark *s);
NM_DEFINE_CLEANUP(struct nm_yarn_spark *, nm_yarn_spark_free)

/* Returns the service's name: executors send their data, and get metadata, under this name. */
const char *nm_yarn_spark_name(const struct nm_yarn_spark *s);

/* Returns the figures, whose outputs are blocks, as nm_yarn_aux_server_get_figures() does. */
void nm_yarn_spark_get_figures(struct nm_yarn_spark *s, struct nm_yarn_shuffle_figures *ret);

/* Returns the applications that nm_yarn_aux_server_get_top() returns. */
size_t nm_yarn_spark_get_top(const struct nm_yarn_spark *s, const struct nm_yarn_shuffle_usage **ret);

struct nm_yarn_aux_state; /* aux-server.h */
void nm_yarn_spark_get_state(const struct nm_yarn_spark *s, struct nm_yarn_aux_state *ret);
/* Returns the number of applications whose files are served. */
size_t nm_yarn_spark_count(const struct nm_yarn_spark *s);

/* Adds an application. data: the container's data for this service: the application's secret, which is empty without
 * authentication, or JSON with it. The application's files are in the submitter's directory and belong to the user that
 * containers run as. -EBADMSG: the secret is too long; -ENOENT: the user doesn't exist. */
int nm_yarn_spark_add(struct nm_yarn_spark *s, const char *submitter, const char *user, const char *application,
                      struct nm_bytes data);
/* Removes the application, and what the process has stored about it. */
void nm_yarn_spark_end_application(struct nm_yarn_spark *s, const char *application);
