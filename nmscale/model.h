/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the ResourceManager's REST says, as plain structs. Strings are the model's own; those that are not there are "".
 * Nothing in here is believed to be well-behaved: parse.c bounds each number and each length.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/macros.h"

#define NM_SCALE_NODES_MAX 20000
#define NM_SCALE_APPS_MAX 50000
#define NM_SCALE_LABELS_MAX 1000 /* partitions */
#define NM_SCALE_WORD_MAX 255 /* of a host, an id, a label */

struct nm_scale_node {
    char *id;    /* host:port */
    char *host;
    char *http;  /* of the NodeManager's own pages: host:port, "" where it is gone */
    char *label; /* its partition, "" is the default one */
    char *state; /* as YARN spells it: RUNNING, DECOMMISSIONING, ... */
    uint64_t containers, opportunistic, queued;
    uint64_t used_mb, used_vcores, free_mb, free_vcores;
};

/* An application that runs, or waits for its first container. */
struct nm_scale_app {
    char *id;
    bool accepted; /* it waits for a master: for its first, or for one after that has failed */
    bool fresh;    /* for its first: nothing of it can lie anywhere yet */
    bool seen;     /* `nodes` is what the ResourceManager said, else it could not be asked */
    char **nodes;  /* ids of nodes where it has containers now */
    size_t n_nodes;
};

/* What waits for room. By the metrics of the cluster, which are those of the default partition. */
struct nm_scale_demand {
    uint64_t containers, mb, vcores;
};

/* What waits for room in a partition that has a name: only its sums are known. */
struct nm_scale_waiting {
    char *label;
    uint64_t mb, vcores;
};

/* What a NodeManager itself says of its applications. */
enum nm_scale_told {
    NM_SCALE_NOT_ASKED,
    NM_SCALE_SILENT, /* it was asked, and gave no answer that makes sense */
    NM_SCALE_TOLD,
};

struct nm_scale_answer {
    enum nm_scale_told told;
    char **apps;
    size_t n_apps;
};

struct nm_scale_model {
    struct nm_scale_node *nodes;
    size_t n_nodes;
    struct nm_scale_app *apps;
    size_t n_apps;
    struct nm_scale_demand demand;
    struct nm_scale_waiting *waiting; /* each partition once */
    size_t n_waiting;
    struct nm_scale_answer *answers; /* one per node, or NULL: nobody was asked */
};

void nm_scale_model_done(struct nm_scale_model *m);
void nm_scale_words_free(char **words, size_t n);
void nm_scale_waiting_free(struct nm_scale_waiting *waiting, size_t n);

bool nm_scale_is_running(const struct nm_scale_node *n);

/* Low: it runs, and holds nothing at all. */
bool nm_scale_is_low(const struct nm_scale_node *n);

/* By its id, or NULL. */
const struct nm_scale_node *nm_scale_find_node(const struct nm_scale_model *m, const char *id);

bool nm_scale_has_labels(const struct nm_scale_model *m);

/* Has a partition that has a name less room, `mb` and `vcores` in all, than what waits there needs? As if that could be
 * cut to any size, which is to say: false doesn't promise room for all of it. */
bool nm_scale_is_short(const struct nm_scale_model *m, const char *label, uint64_t mb, uint64_t vcores);

/* How many of the waiting requests, at their mean size, these nodes have room for; `mb` and `vcores` are what is free
 * on one. At most demand->containers. */
uint64_t nm_scale_fits(const struct nm_scale_demand *d, uint64_t mb, uint64_t vcores);
