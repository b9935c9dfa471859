/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The applications that auxiliary services in Java know, with the data of their containers for the services. For each
 * application, nmd's state directory contains a file until the services have been told about its end. So a new process
 * is told about all applications, also those that ended while no process or no nmd was running.
 */

#include <jansson.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "rpc/hadoop/bytes.h"
#include "util/error.h"

struct nm_yarn_aux_app {
    TAILQ_ENTRY(nm_yarn_aux_app) link;
    char *application, *user; /* user: the submitter */
    json_t *data;             /* an object: names of services, and their data in hexadecimal */
    bool ended;
};

TAILQ_HEAD(nm_yarn_aux_app_list, nm_yarn_aux_app);

struct nm_yarn_aux_apps {
    struct nm_yarn_aux_app_list list;
    int state_fd;
};

/* Restores the applications from the directory, which must exist. */
int nm_yarn_aux_apps_open(const char *dir, struct nm_yarn_aux_apps *ret);
void nm_yarn_aux_apps_done(struct nm_yarn_aux_apps *apps);

/* NULL: the application isn't known. */
struct nm_yarn_aux_app *nm_yarn_aux_apps_find(struct nm_yarn_aux_apps *apps, const char *application);
/* Adds an application, or data for a service. service NULL: no data. Returns 1 if nothing has changed, and 0 otherwise.
 * -EBADMSG: a name is not valid. */
int nm_yarn_aux_apps_add(struct nm_yarn_aux_apps *apps, const char *application, const char *user, const char *service,
                         struct nm_bytes data, struct nm_yarn_aux_app **ret);
void nm_yarn_aux_apps_remove(struct nm_yarn_aux_apps *apps, struct nm_yarn_aux_app *app);

/* Converts bytes to hexadecimal digits and back. The caller frees *ret. NULL: no memory. -EBADMSG: not hexadecimal. */
char *nm_yarn_aux_hex(struct nm_bytes bytes);
int nm_yarn_aux_unhex(const char *digits, uint8_t **ret, size_t *ret_size);
