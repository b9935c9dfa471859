/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What `nmctl top` shows of a list of containers: which ones, in which order, from which row on; and what keys make of
 * that. Draws nothing and asks nobody. */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NM_TOP_FILTER_SIZE 64

struct nm_top {
    const char *sort;                  /* one of nm_sort_keys */
    bool reverse;
    char filter[NM_TOP_FILTER_SIZE];   /* words, all of which must be found in a container: nm_top_matches(); "": all */
    char before[NM_TOP_FILTER_SIZE];   /* while it is typed: what Escape goes back to */
    bool editing, help;
    uint64_t period_usec;              /* between two pictures */
    size_t first, page;                /* the first row that is shown, and how many there is room for (0: all) */
    size_t n_all;                      /* containers before the filter */
    size_t n;                          /* and after it */
    const json_t **containers;         /* those: borrowed from the list, in order */
};

/* Each word of the filter is in the number (all of it), id, name, application, user, type, state or command of the
 * container, in letters of any case; with '!' before it, it is in none of them. */
bool nm_top_matches(const json_t *container, const char *filter);

/* Takes the containers of the list, which must outlive that, filtered and sorted. nm_top_done() gives them up; how many
 * there were stays, since keys move among them. */
void nm_top_take(struct nm_top *t, const json_t *list);
void nm_top_done(struct nm_top *t);
/* How many rows there is room for; moves `first` so that no place stays empty that could be filled. */
void nm_top_fit(struct nm_top *t, size_t page);

/* A key (screen.h). False: it means nothing here. */
bool nm_top_key(struct nm_top *t, int key);
