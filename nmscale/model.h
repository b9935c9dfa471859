/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The answers of the ResourceManager's REST API, as plain structs. The model owns the strings; missing strings are "".
 * The answers are untrusted, so parse.c limits each number and each length.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/macros.h"

#define NM_SCALE_NODES_MAX 20000
#define NM_SCALE_APPS_MAX 50000
#define NM_SCALE_LABELS_MAX 1000 /* partitions */
#define NM_SCALE_WORD_MAX 255 /* length limit of a host, an id, a label */

struct nm_scale_node {
    char *id;    /* host:port */
    char *host;
    char *http;  /* host:port of the NodeManager's web pages, "" if the NodeManager is no longer running */
    char *label; /* the node's partition; "": the default partition */
    char *state; /* the node's state as YARN spells it: RUNNING, DECOMMISSIONING, ... */
    uint64_t containers, opportunistic, queued;
    uint64_t used_mb, used_vcores, free_mb, free_vcores;
};

/* An application that is running or is waiting for its first container. */
struct nm_scale_app {
    char *id;
    bool accepted; /* the application is waiting for a master: its first master, or another one after a failure */
    /* the application waits for its first master, so the application can't have data on any node yet */
    bool fresh;
    bool seen;     /* `nodes` is known; false: the ResourceManager has given no answer about the application */
    char **nodes;  /* ids of the nodes where the application has containers now */
    size_t n_nodes;
};

/* The waiting requests from the cluster's metrics, which cover only the default partition. */
struct nm_scale_demand {
    uint64_t containers, mb, vcores;
};

/* The waiting requests in a partition with a name, of which only the sums are known. */
struct nm_scale_waiting {
    char *label;
    uint64_t mb, vcores;
};

/* Whether a NodeManager has answered the question for its applications. */
enum nm_scale_reported {
    NM_SCALE_NOT_ASKED,
    NM_SCALE_SILENT, /* the NodeManager was asked, and gave no valid answer */
    NM_SCALE_REPORTED,
};

struct nm_scale_answer {
    enum nm_scale_reported reported;
    char **apps;
    size_t n_apps;
};

struct nm_scale_model {
    struct nm_scale_node *nodes;
    size_t n_nodes;
    struct nm_scale_app *apps;
    size_t n_apps;
    struct nm_scale_demand demand;
    struct nm_scale_waiting *waiting; /* one entry per partition */
    size_t n_waiting;
    struct nm_scale_answer *answers; /* one answer per node; NULL: no NodeManager was asked */
};

void nm_scale_model_done(struct nm_scale_model *m);
void nm_scale_words_free(char **words, size_t n);
void nm_scale_waiting_free(struct nm_scale_waiting *waiting, size_t n);

bool nm_scale_is_running(const struct nm_scale_node *n);

/* Returns whether the node is Low: it is running and empty. */
bool nm_scale_is_low(const struct nm_scale_node *n);

/* Finds a node by its id; NULL: not found. */
const struct nm_scale_node *nm_scale_find_node(const struct nm_scale_model *m, const char *id);

bool nm_scale_has_labels(const struct nm_scale_model *m);

/* Returns whether the waiting requests of a partition with a name need more than `mb` and `vcores` in total. Treats the
 * requests as if they could be split, so false doesn't guarantee that all of them fit. */
bool nm_scale_is_short(const struct nm_scale_model *m, const char *label, uint64_t mb, uint64_t vcores);

/* Returns how many of the waiting requests, at their mean size, fit on one node with `mb` and `vcores` free. Returns at
 * most demand->containers. */
uint64_t nm_scale_fits(const struct nm_scale_demand *d, uint64_t mb, uint64_t vcores);
