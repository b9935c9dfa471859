/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The view that `nmctl top` has of a list of containers: filter, order and scroll position, and the effect of keys on
 * them. This code neither draws nor calls nmd. */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NM_TOP_FILTER_SIZE 64

struct nm_top {
    const char *sort;                  /* sort key, an element of nm_sort_keys */
    bool reverse;
    char filter[NM_TOP_FILTER_SIZE];   /* words that must all match, see nm_top_matches(); "": all containers */
    char before[NM_TOP_FILTER_SIZE];   /* while the filter is edited: the previous filter, which Escape restores */
    bool editing, help;
    uint64_t period_usec;              /* time between two pictures */
    size_t first, page;                /* first row shown, and number of rows that fit (0: all) */
    size_t n_all;                      /* number of containers in the list */
    size_t n;                          /* number of containers that match the filter */
    const json_t **containers;         /* the n matching containers, in order; borrowed from the list */
};

/* Returns whether each word of the filter equals the container's number or is part of its id, name, application, user,
 * type, state or command, ignoring case. A word after '!' must not match any of these texts. */
bool nm_top_matches(const json_t *container, const char *filter);

/* Filters and sorts the containers of the list, which must outlive the view. nm_top_done() releases the array but keeps
 * the number of containers, which keys for scrolling use. */
void nm_top_take(struct nm_top *t, const json_t *list);
void nm_top_done(struct nm_top *t);
/* Sets how many rows fit on the screen. Decreases `first` if rows would stay empty although more containers exist. */
void nm_top_fit(struct nm_top *t, size_t page);

/* Handles a key (screen.h). Returns false if the key has no meaning. */
bool nm_top_key(struct nm_top *t, int key);
