/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The view of `nmctl top` on a list of containers: filter, order and scroll position, and how keys change them. This
 * neither draws nor talks to nmd. */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NM_TOP_FILTER_SIZE 64

struct nm_top {
    const char *sort;                  /* one of nm_sort_keys */
    bool reverse;
    char filter[NM_TOP_FILTER_SIZE];   /* words, all of which must match: nm_top_matches(); "": all containers */
    char before[NM_TOP_FILTER_SIZE];   /* while the filter is edited: the former one, to which Escape returns */
    bool editing, help;
    uint64_t period_usec;              /* between two pictures */
    size_t first, page;                /* the first row that is shown, and how many rows fit (0: all) */
    size_t n_all;                      /* containers in the list */
    size_t n;                          /* those that match the filter */
    const json_t **containers;         /* these n, in order; borrowed from the list */
};

/* Returns whether each word of the filter is the container's number or a part of its id, name, application, user, type,
 * state or command, in letters of any case. A word with '!' before it must match none of them. */
bool nm_top_matches(const json_t *container, const char *filter);

/* Filters and sorts the containers of the list, which must outlive the view. nm_top_done() drops them, but keeps their
 * number, since keys that scroll need it. */
void nm_top_take(struct nm_top *t, const json_t *list);
void nm_top_done(struct nm_top *t);
/* Sets how many rows fit, and moves `first` so that no room stays empty that a container could fill. */
void nm_top_fit(struct nm_top *t, size_t page);

/* Handles a key (screen.h). Returns false if it has no meaning here. */
bool nm_top_key(struct nm_top *t, int key);
