/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The real nm-shuffle, started as nmd starts it. Its answers show which jobs it knows. Include it after cmocka.h. */

#include "tests/unit/aux-service-fixture.h"
#include "yarn/launch/shuffle-service.h"

#define KEY "12345678"

/* nm-shuffle answers 500 for a missing output of a known job, and 401 for an unknown job. */
#define KNOWN 500
#define UNKNOWN 401

int shuffle_service_set_up(void **state);

int shuffle_service_tear_down(void **state);

int try_program(struct fixture *w, const char *program, char **ret_message);

int try_service(struct fixture *w, char **ret_message);

void start_service(struct fixture *w);

/* Reads settings with this port of the shuffle. */
struct nm_yarn_settings *read_settings(const struct fixture *w, unsigned port);

uint16_t port_of(const struct fixture *w);

/* Sends a request that is signed with the job's key. Returns the status of the answer, or 0 if the connection is
 * refused. */
int request_status(const struct fixture *w, const char *key);

/* Adds a job as the start of one of its containers does. */
int add_job_of(struct fixture *w, const char *application, const char *user, const char *key);

int add_job(struct fixture *w, const char *user, const char *key);
