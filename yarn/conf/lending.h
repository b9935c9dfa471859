/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The settings of lending, and the choice of the rule for an application. The properties, in the cluster's files:
 *
 *   nmd.lending                  off (default), observe, allowed, overflow:SECONDS, percent:N or all: the cluster's
 *                                rule
 *   nmd.lending.user.NAME        the same values without observe, for a user, a queue (its full path, or its last part)
 *   nmd.lending.queue.NAME       and an application type. The first of user, queue and type that is set replaces the
 *   nmd.lending.type.TYPE        cluster's rule. With nmd.lending = observe these rules are observed too
 *   nmd.lending.types            the types to which anything is lent: MAPREDUCE, SPARK, TEZ
 *   nmd.lending.application-max-mb, queue-max-mb, node-max-mb
 *                                limits of the memory that is lent; -1: no limit
 *   nmd.lending.central          false: lending needs distributed scheduling, because the ResourceManager's own
 *                                allocator also chooses Java NodeManagers, where lent containers only wait. true: all
 *                                nodes run nmd
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
    char *value, *file; /* for display: the text of the rule, and the file that set it */
};

struct nm_yarn_lending {
    /* The properties with fixed names, which the table of properties.h fills. */
    char *text; /* value of nmd.lending */
    bool central;
    char **types;
    int64_t application_max_mib, queue_max_mib, node_max_mib;
    /* The rest, which nm_yarn_lending_read() fills. */
    bool enabled;  /* something may be lent or observed: the chain of stages contains `lend` */
    bool observes; /* nmd.lending = observe: the rule overflow:30, but nothing is lent */
    struct nm_yarn_lending_rule cluster;
    struct nm_yarn_lending_override *overrides;
    size_t n_overrides;
};

/* The allowed values for a message: of the rules, and of nmd.lending. */
extern const char nm_yarn_lending_allowed[], nm_yarn_lending_values[];
/* Returns the beginning of the names of a family of properties, such as "nmd.lending.user.". */
const char *nm_yarn_lending_prefix(enum nm_yarn_lending_source source);
/* Parses "overflow:30". -EINVAL: the text is no rule. */
int nm_yarn_lending_parse(const char *text, struct nm_yarn_lending_rule *ret);
/* Returns whether the text is a value of nmd.lending: a rule or "observe". */
bool nm_yarn_lending_is_value(const char *text);
/* Writes a rule as nm_yarn_lending_parse() reads it. */
void nm_yarn_lending_format(const struct nm_lend_rule *rule, char *buf, size_t size);

/* Returns 1 if the set enables lending, so that the proxy is needed. 0, or -ENOMEM. */
int nm_yarn_lending_is_enabled(const struct nm_yarn_conf *c);
/* Reads the properties whose names contain other names, and combines them with the table's. distributed: distributed
 * scheduling is enabled. -EINVAL and *ret_message: some values are invalid; the message has a line for each, which
 * names the property, the value and what is allowed. The other values are in *l then. */
int nm_yarn_lending_read(const struct nm_yarn_conf *c, bool distributed, struct nm_yarn_lending *l,
                         char **ret_message);
/* Frees what nm_yarn_lending_read() has allocated. */
void nm_yarn_lending_done(struct nm_yarn_lending *l);

/* What is known of an application. */
struct nm_yarn_lending_application {
    const char *user;
    const char *queue; /* NULL: not registered yet */
    const char *type;  /* NULL: not known yet */
    const char *wish;  /* value of NMD_LEND; NULL: not set */
};

/* Chooses the rule for an application, and says what it comes from. Pure. A wish that isn't a rule counts as "off":
 * nothing is lent by a mistake; wish_invalid then is true. For the same reason the rule is off as long as an override
 * could apply, but the queue or the type is not known yet.
 *
 * The ResourceManager may name a queue by its path or by the last part. So an override with a path also applies to a
 * queue that is named by the last part alone. If several overrides apply to a queue, the one with exactly this name
 * counts, otherwise the lowest. Types are compared without regard to case, as in the ResourceManager. */
struct nm_yarn_lending_choice {
    struct nm_lend_rule rule;
    enum nm_yarn_lending_source source;
    bool wish_invalid;
    bool lacks_wish; /* the application may choose the rule, and has not done so; the rule is "off" */
};
/* Writes the rule, or "allowed" if the application has not chosen one. */
void nm_yarn_lending_format_choice(const struct nm_yarn_lending_choice *c, char *buf, size_t size);
void nm_yarn_lending_choose(const struct nm_yarn_lending *l, const struct nm_yarn_lending_application *a,
                            struct nm_yarn_lending_choice *ret);
