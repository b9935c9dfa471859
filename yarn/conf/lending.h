/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The settings of lending, and the choice of the rule for an application. The properties, in the cluster's files:
 *
 *   nmd.lending                  off (default), observe, allowed, overflow:SECONDS, percent:N or all: the cluster's rule
 *   nmd.lending.user.NAME        the same values without observe, for a user, a queue (its full path, or its last part)
 *   nmd.lending.queue.NAME       and an application type. The first of user, queue and type that is set replaces the
 *   nmd.lending.type.TYPE        cluster's rule
 *   nmd.lending.types            the types to which anything is lent: MAPREDUCE, SPARK, TEZ
 *   nmd.lending.application-max-mb, queue-max-mb, node-max-mb
 *                                limits of the memory that is lent; -1: no limit
 *   nmd.lending.central          false: lending needs distributed scheduling, because the ResourceManager's own allocator
 *                                also chooses Java NodeManagers, where lent containers only wait. true: all nodes run nmd
 *
 * The variable NMD_LEND of an application master's launch environment has the same values as the rules, or "on", which
 * means overflow:30. It lowers the rule. With the rule "allowed" it sets the rule. Modes are ordered: off, overflow (a
 * longer time is lower), percent (a smaller number is lower), all.
 */

#include "yarn/conf/conf.h"
#include "yarn/lend/lend.h"

enum nm_yarn_lending_source {
    NM_YARN_LENDING_CLUSTER,
    NM_YARN_LENDING_USER,
    NM_YARN_LENDING_QUEUE,
    NM_YARN_LENDING_TYPE,
    NM_YARN_LENDING_TYPES,       /* nmd.lending.types doesn't list the application's type */
    NM_YARN_LENDING_NO_TYPE,     /* the application's type is not known (yet), so nothing is lent */
    NM_YARN_LENDING_APPLICATION, /* NMD_LEND of the application */
};

struct nm_yarn_lending_rule {
    struct nm_lend_rule rule;
    bool applications_choose; /* "allowed" */
};

struct nm_yarn_lending_override {
    enum nm_yarn_lending_source source; /* NM_YARN_LENDING_USER, _QUEUE or _TYPE */
    char *name;
    struct nm_yarn_lending_rule is;
};

struct nm_yarn_lending {
    bool enabled;  /* something may be lent or observed: the chain of stages contains `lend` */
    bool observes; /* nmd.lending = observe: the rule overflow:30, but nothing is lent */
    bool central;
    struct nm_yarn_lending_rule cluster;
    struct nm_yarn_lending_override *overrides;
    size_t n_overrides;
    char **types;
    int64_t application_max_mib, queue_max_mib, node_max_mib;
};

/* Parses "overflow:30". -EINVAL: the text is no rule. nm_yarn_lending_allowed: the allowed values for a message. */
extern const char nm_yarn_lending_allowed[];
int nm_yarn_lending_parse(const char *text, struct nm_yarn_lending_rule *ret);
/* Writes a rule as nm_yarn_lending_parse() reads it. */
void nm_yarn_lending_format(const struct nm_lend_rule *rule, char *buf, size_t size);

/* Reads the properties. -EINVAL and *ret_message: a value is invalid; the message names the property, the value and what
 * is allowed. */
int nm_yarn_lending_read(const struct nm_yarn_conf *c, struct nm_yarn_lending *ret, char **ret_message);
void nm_yarn_lending_done(struct nm_yarn_lending *l);

/* What is known of an application. */
struct nm_yarn_lending_application {
    const char *user;
    const char *queue; /* NULL: not registered yet */
    const char *type;  /* NULL: not known yet */
    const char *wish;  /* value of NMD_LEND; NULL: not set */
};

/* Chooses the rule for an application, and says what it comes from. Pure. A wish that isn't a rule counts as "off":
 * nothing is lent by a mistake; *ret_wish_invalid then is true. */
struct nm_yarn_lending_choice {
    struct nm_lend_rule rule;
    enum nm_yarn_lending_source source;
    bool wish_invalid;
};
void nm_yarn_lending_choose(const struct nm_yarn_lending *l, const struct nm_yarn_lending_application *a,
                            struct nm_yarn_lending_choice *ret);
