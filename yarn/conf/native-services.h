/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The auxiliary services that nmd has itself. As in Hadoop, the operator chooses the name of a service, and its class
 * decides what it does. nmd has programs for two of these classes: nm-shuffle and nm-spark-shuffle.
 *
 *   yarn.nodemanager.aux-services                  the names
 *   yarn.nodemanager.aux-services.NAME.class       mapreduce_shuffle and spark_shuffle have a default
 *   yarn.nodemanager.aux-services.NAME.classpath   spark-site.h
 */

#include "yarn/conf/properties.h"
#include "yarn/conf/rules.h"

/* The names under which jobs look for the services, if the configuration of the jobs sets no other. */
#define NM_YARN_SHUFFLE "mapreduce_shuffle"
#define NM_YARN_SPARK "spark_shuffle"
#define NM_YARN_AUX_SERVICES "yarn.nodemanager.aux-services"

/* Calls found_cb for each service that nmd can't run. Returns 0, -ENOMEM or the error of found_cb. */
int nm_yarn_native_services_find(const struct nm_yarn_conf *c, nm_yarn_violation_t found_cb, void *userdata);
/* Fills in s->has_shuffle and s->spark.name. Services that nmd can't run are left out. */
int nm_yarn_native_services_read(const struct nm_yarn_conf *c, struct nm_yarn_settings *s);
/* Returns the name of Spark's service, which the caller frees, in *ret_name; NULL: there is none. */
int nm_yarn_native_services_find_spark(const struct nm_yarn_conf *c, char **ret_name);
