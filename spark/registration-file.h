/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The file with an application's registrations (spark/applications.h has its format). It does not interpret them. */

#include "rpc/hadoop/bytes.h"

/* Appends a registration with one write(), so that an interrupted process leaves at most one incomplete registration,
 * at the end. Returns -EFBIG if the file would be larger than max_bytes, else -errno. */
int nm_spark_registration_append(int dir, const char *name, struct nm_bytes message, uint64_t max_bytes);

/* Calls a function for each registration, in the order of their arrival. The file may be missing. Cuts off what follows
 * the last complete registration. */
int nm_spark_registration_read(int dir, const char *name, uint64_t max_bytes,
                               void (*found)(struct nm_bytes message, void *userdata), void *userdata);

/* Removes the file. */
void nm_spark_registration_remove(int dir, const char *name);
