/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * spark-shuffle-site.xml, the file of Spark's auxiliary service. Its properties replace those of the other files for
 * this service alone. As in Spark, it is the first such file in the class path of the service:
 *
 *   yarn.nodemanager.aux-services.NAME.classpath   its directories, which are separated by colons
 *   the directory of the cluster's files
 *
 * Only properties "spark." of the file are read.
 */

#include "yarn/conf/rules.h"

/* Adds the properties of the file to those of the directory's other files, which must have been read. Adds a refusal if
 * the file can't be read. Warns of properties that have no meaning in this file. Returns 0 or -ENOMEM. */
int nm_yarn_spark_site_read(struct nm_yarn_conf *c, const char *dir, nm_yarn_warn_t warn, void *userdata,
                            struct nm_refusals *refusals);
/* Warns of properties of Spark's service, in any file, that have no effect on nm-spark-shuffle. Returns 0 or
 * -ENOMEM. */
int nm_yarn_spark_site_warn(const struct nm_yarn_conf *c, nm_yarn_warn_t warn, void *userdata);
/* Returns why a property of Spark's service has no effect on nm-spark-shuffle: a sentence without its full stop. NULL:
 * it has an effect, or is not a property of this service. */
const char *nm_yarn_spark_site_why_idle(const char *name);
