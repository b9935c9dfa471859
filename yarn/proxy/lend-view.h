/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What an operator sees of lending: JSON for the status and for `nmctl explain`, metrics, and sentences. The data is
 * that of the books (lend.h), one for each attempt. Times in JSON are times of day. The code is pure, except that it
 * reads the clock to convert the books' times.
 */

#include <jansson.h>

#include "agent/upstream.h"
#include "yarn/conf/lending.h"
#include "yarn/ids.h"
#include "yarn/lend/lend.h"

/* The data of one attempt. The stage that lends fills it in. The strings and the books belong to the stage. */
struct nm_yarn_lend_view {
    const struct nm_lend *books;
    struct nm_yarn_lending_choice choice; /* the rule that applies at present, and its source */
    const char *queue, *type;             /* NULL: not known yet */
    const char *user;                     /* NULL: not known */
    struct nm_yarn_container_id master;   /* the master's own container */
    uint64_t now_usec;                    /* the present time, by the books' clock */
    bool unsaved;                         /* the state can't be saved, so nothing more is lent */
    const struct nm_lend *former;         /* the books of the attempt before this one, for histories; may be NULL */
};

/* Figures of all attempts together. Counts are those since nmd's start, also of attempts that have ended. */
struct nm_yarn_lend_totals {
    bool exists;   /* lending is enabled, or was when masters began that still run */
    bool observes;
    /* Without oldest_since_usec. granted + adopted + lent_again + what was lent at nmd's start = lent + promoted +
     * preempted + ended + attempt_ended. So each lent container is in granted once, on all nodes together. */
    struct nm_lend_figures figures;
    uint64_t attempt_ended; /* containers that were still lent when their attempt ended: they ended with it, or a later
                               attempt has adopted them, perhaps on another node */
    uint64_t oldest_usec;           /* age of the container that has been lent for the longest time; 0: none */
    uint64_t held[NM_LEND_N_REASONS]; /* containers that masters wait for and that aren't lent, by reason */
};

/* Counts of attempts before and after nmd's start, by which the totals are those since nmd's start. A struct
 * initialized with {} has counted nothing. */
struct nm_yarn_lend_base {
    struct nm_lend_figures ended, restored;
    uint64_t attempt_ended;
};
/* nm_yarn_lend_view_restored() notes the figures of an attempt that an earlier nmd has saved, nm_yarn_lend_view_ended()
 * those of an attempt that ends. */
void nm_yarn_lend_view_restored(struct nm_yarn_lend_base *b, const struct nm_yarn_lend_view *v);
void nm_yarn_lend_view_ended(struct nm_yarn_lend_base *b, const struct nm_yarn_lend_view *v);
/* nm_yarn_lend_view_sum() adds one attempt, nm_yarn_lend_view_fill() adds the base. The order doesn't matter. */
void nm_yarn_lend_view_sum(const struct nm_yarn_lend_view *v, struct nm_yarn_lend_totals *ret);
void nm_yarn_lend_view_fill(const struct nm_yarn_lend_base *b, struct nm_yarn_lend_totals *ret);

/* Returns the object of one attempt, with at most max_keys of its asks that wait. with_names: the object contains the
 * name of the queue. NULL: no memory. */
json_t *nm_yarn_lend_view_to_json(const struct nm_yarn_lend_view *v, bool with_names, size_t max_keys);
/* Returns the totals as an object, with one entry for each queue of `pipelines`: an array of objects whose member
 * "lending" is made by nm_yarn_lend_view_to_json(). NULL: no memory. */
json_t *nm_yarn_lend_view_totals_to_json(const struct nm_yarn_lend_totals *t, const json_t *pipelines);
void nm_yarn_lend_view_write_metrics(const struct nm_yarn_lend_totals *t, const struct nm_metric_writer *w);

/* Return the answer of /v1/lending/{id}, with a text that explains it: for the container of an application's master,
 * and for a container that is or was lent. attempt: the id of the master's attempt. with_names: the text has the names
 * of the user and the queue. The books of *v are not needed for a container. NULL: no memory. */
json_t *nm_yarn_lend_view_explain_master(const struct nm_yarn_lend_view *v, const char *container, const char *attempt,
                                         bool with_names);
json_t *nm_yarn_lend_view_explain_container(const struct nm_yarn_lend_view *v, const struct nm_lend_history *h,
                                            const char *container, const char *attempt, bool with_names);

/* Returns the name of a source of the rule as in JSON, such as "user". */
const char *nm_yarn_lend_source_name(enum nm_yarn_lending_source source);
