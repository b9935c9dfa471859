/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Values that nmd accepts, but that an administrator usually has to change or to decide about. The table is the only
 * source of these sentences for `nmd --yarn-setup`, --check-config and --migrate-check. It depends only on the
 * cluster's files, not on the host.
 */

#include "yarn/conf/properties.h"

struct nm_yarn_suggestion {
    const char *name;  /* the property */
    const char *state; /* the rest of a clause that begins with the name: "is true"; may contain {} */
    const char *why;   /* sentences; may contain {} */
    const char *value; /* the value to set; "": no value can be named */
    bool is_needed;    /* most jobs fail otherwise */
    /* Returns NULL if the suggestion doesn't apply. Otherwise returns the text for {}. */
    const char *(*applies)(const struct nm_yarn_settings *s);
};

extern const struct nm_yarn_suggestion nm_yarn_suggestions[];
extern const size_t nm_yarn_n_suggestions;

/* Returns the sentences of `why`, or, with `named`, "NAME STATE: WHY". The caller frees the text. NULL: no memory. The
 * suggestion must apply. */
char *nm_yarn_suggestion_text(const struct nm_yarn_suggestion *g, const struct nm_yarn_settings *s, bool named);
