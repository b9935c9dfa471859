/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * An upstream is a system above the node that sends containers to it, such as the ResourceManager of a cluster. This
 * header declares the manager's functions for the folder that communicates with the upstream, and the functions by
 * which that folder shows its data. Details of one kind of upstream are known only to its folder.
 */

#include <jansson.h>

#include "agent/caller.h"
#include "agent/counters.h"
#include "agent/types.h"

/* The data that each kind of upstream has. The upstream's folder fills it in. */
struct nm_upstream {
    const char *kind;    /* name of the kind. nm_manager_get_upstream() writes "none" if nmd has no upstream. Readers
                            must treat NULL like "none". */
    const char *state;   /* name of a state that the upstream defines: "running", ... */
    char address[280];   /* address of the upstream */
    char node[280];      /* the name of this node at the upstream; "" if not known yet */
    char trouble[256];   /* reason for a state that is not normal; "" if there is no problem */
    char unhealthy[200]; /* reason that was reported to the upstream for an unhealthy node; "" if the node is healthy */
    uint64_t last_heartbeat_realtime_usec; /* time of the last answered heartbeat; 0 if no heartbeat was answered yet */
    uint64_t round_trip_usec;              /* time from the newest answered request to its answer; 0 if no request was
                                              answered yet */
    bool sized;            /* the upstream has set the node's size, in the next two members; false: as configured */
    uint64_t memory_bytes;
    uint32_t vcores;
    uint64_t heartbeats, failures;      /* number of answered heartbeats; number of requests without a successful
                                           answer */
    struct nm_histogram heartbeat, rpc; /* time from one answered heartbeat to the next; time from a request to its
                                           answer */
};

/* Fills in the upstream's part of the status. Kind and state are "none" if there is no upstream. */
void nm_manager_get_upstream(struct nm_manager *m, struct nm_upstream *ret);

/* ---- registration of an upstream ---------------------------------------------------------- */

/* One request for a view. */
struct nm_upstream_query {
    const struct nm_caller *who;
    bool with_users;          /* false: the answer contains no user names and no data of users */
    const char *path;         /* the path of the view */
    const char *id;           /* the id in the place of {id}, or NULL */
    const char *state, *user; /* filters of a list, or NULL */
    const char *claimed_user; /* the user that the request names, which isn't verified, or NULL */
    /* Returns the value of a query parameter, or NULL. `request` is its first argument. */
    const char *(*parameter)(const void *request, const char *name);
    const void *request;
    /* The next members are only for pages. */
    const char *owner, *file; /* the segments in the places of {user} and {file}, or NULL */
    const char *raw_query;    /* the query of the request's target, without '?'; "" if the target has no query */
    const char *accept;       /* the header Accept, or NULL */
};

/* A page that the local interface serves for the upstream. `path` is the path of the route, with {id} in the place of
 * an id. get() sets *ret to a new reference and returns 0, or returns a positive outcome with *ret_problem, or -errno.
 * The answer contains only data that the query's `who` may see. */
struct nm_upstream_view {
    const char *path;
    int (*get)(void *userdata, const struct nm_upstream_query *q, json_t **ret, struct nm_problem *ret_problem);
};

/* An answer in the upstream's own format. It is either `json`, or `before`, bytes of an open file, and `after`. */
struct nm_upstream_page {
    unsigned status;          /* the HTTP status */
    const char *content_type; /* of a page without `json`; static */
    json_t *json;             /* NULL: the page is a text */
    char *location;           /* where a client that is redirected finds the page; NULL: not redirected */
    char *before, *after;     /* NULL: empty */
    int fd;                   /* the regular file whose bytes the page shows; negative if the page shows no file */
    uint64_t from, size;      /* the bytes of the file. If the file has become shorter, fewer bytes are sent. */
    bool is_html;             /* the bytes of the file are escaped for HTML */
};
#define NM_UPSTREAM_PAGE_NULL ((struct nm_upstream_page){.fd = -1})
void nm_upstream_page_done(struct nm_upstream_page *p);

enum nm_metric_type { NM_METRIC_GAUGE, NM_METRIC_COUNTER, NM_METRIC_HISTOGRAM };

struct nm_metric_label {
    const char *name, *value; /* the value may be any text */
};

/* Functions by which an upstream writes its metrics after the metrics of the node. The upstream calls family() once for
 * each family, and writes the family's samples before the next call. `to` is the first argument of each function. */
struct nm_metric_writer {
    void (*family)(void *to, const char *name, enum nm_metric_type type, const char *help);
    /* Writes one value of a gauge or a counter. label: NULL for a family of one value. */
    void (*sample)(void *to, const char *name, const struct nm_metric_label *label, double value);
    /* Writes buckets, sum and count of one histogram, in seconds. */
    void (*histogram)(void *to, const char *name, const struct nm_metric_label *label, const struct nm_histogram *h);
    void *to;
};

/* Functions and views by which an upstream shows its data. Each function may be NULL. */
struct nm_upstream_ops {
    void (*status)(void *userdata, struct nm_upstream *ret);
    /* Returns an object with the upstream's own members. The members
     * are appended to the upstream's object in the status. The caller gets a new reference. NULL: out of memory. */
    json_t *(*details)(void *userdata, const struct nm_caller *who, bool with_users);
    void (*metrics)(void *userdata, const struct nm_metric_writer *w);
    /* Returns the upstream's settings for `nmctl config`: a new reference to an array. NULL: out of memory. */
    json_t *(*config)(void *userdata);
    const struct nm_upstream_view *views;
    size_t n_views;
    /* Fills in the page for the query's path, or returns a positive outcome with *ret_problem, or -errno. It must not
     * wait: the file is read later, in pieces. */
    int (*page)(void *userdata, const struct nm_upstream_query *q, struct nm_upstream_page *ret,
                struct nm_problem *ret_problem);
};
/* Registers the upstream, and replaces an earlier registration. ops NULL: there is no upstream. */
void nm_manager_set_upstream(struct nm_manager *m, const struct nm_upstream_ops *ops, void *userdata);

/* ---- data for the local interface --------------------------------------------------------- */

/* Returns the upstream's details() for `who`: a new reference to an object. Without an upstream the object is empty.
 * NULL: out of memory. */
json_t *nm_manager_upstream_details(struct nm_manager *m, const struct nm_caller *who, bool with_users);
/* Writes the upstream's own metrics with its function `metrics`. */
void nm_manager_write_upstream_metrics(struct nm_manager *m, const struct nm_metric_writer *w);
/* Calls get() of the view with the query's path. NM_AGENT_E_NOT_FOUND: there is no such view. */
int nm_manager_query_upstream(struct nm_manager *m, const struct nm_upstream_query *q, json_t **ret,
                              struct nm_problem *ret_problem);
/* Calls page(). The caller clears *ret with nm_upstream_page_done(). NM_AGENT_E_NOT_FOUND: the upstream has no
 * pages. */
int nm_manager_query_upstream_page(struct nm_manager *m, const struct nm_upstream_query *q,
                                   struct nm_upstream_page *ret, struct nm_problem *ret_problem);

/* ---- the node's room ---------------------------------------------------------------------- */

/* What further containers the node would take, according to the newest round of the policy. */
struct nm_room {
    struct nm_resources offered;      /* the node's size */
    uint64_t guaranteed_memory_bytes; /* part of the size that guaranteed containers have been allocated; containers
                                         that are ending count */
    bool admits;                  /* opportunistic containers that fit are admitted at present */
    uint64_t unused_memory_bytes; /* opportunistic containers that together request less memory would be admitted now,
                                     by measured use. Containers that already wait for their start come first. */
    uint32_t queue_length, queue_max; /* opportunistic containers that wait, and their maximum number */
};
void nm_manager_get_room(const struct nm_manager *m, struct nm_room *ret);

/* ---- requests of an upstream to the manager ----------------------------------------------- */

/* Records an event of the node that an upstream has noticed, and logs it at `level`. */
void nm_manager_report_event(struct nm_manager *m, int level, const char *text);

/* Limits the queued opportunistic containers of this owner (UINT32_MAX: any number). The newest containers beyond the
 * limit are discarded now, with NM_REASON_SHED. Containers that are queued later are not discarded before the next
 * call: if such a container were discarded before the upstream knows of it, the upstream would send it again. Call this
 * function when the upstream knows of the queued containers. Containers of other owners are not affected. A container
 * that has waited longer than [queue] give-back is also discarded, with NM_REASON_WAITED_TOO_LONG. Only one upstream
 * may set a limit. A restarted nmd has no limit until the next call. */
void nm_manager_set_queue_limit(struct nm_manager *m, const char *owner, uint32_t limit);

/* Sets the size of the node to the upstream's values until the next call. A value of 0 means the configured value. The
 * size is never larger than the host allows. A reduction stops no container, but fewer containers start from the queue.
 * The size is kept across a reload, but not across a restart. Only one upstream may set the size. */
void nm_manager_set_size(struct nm_manager *m, uint64_t memory_bytes, uint32_t vcores);

/*
 * Moves a running process of nmd's own, which serves other hosts, into a cgroup beside the slice. The cgroup's CPU
 * weight is half of the weight that a guaranteed container of one vcore would have at the level of the slice. There are
 * at most three helpers, with different names of less than 32 characters. The helper's cgroup is removed when the
 * helper or nmd ends. done() gets 0, or -errno with a reason. done() is called once, perhaps before this function
 * returns, and never after the manager has been freed.
 * -EOPNOTSUPP: this host has no CPU weights.
 */
typedef void (*nm_manager_placed_cb_t)(int result, const char *message, void *userdata);
int nm_manager_attach_helper(struct nm_manager *m, const char *name, pid_t pid, nm_manager_placed_cb_t done,
                             void *userdata);
/* Attaches a helper as above, with a limit of the cgroup's memory. */
int nm_manager_attach_limited_helper(struct nm_manager *m, const char *name, pid_t pid, uint64_t memory_max_bytes,
                                     nm_manager_placed_cb_t done, void *userdata);
bool nm_manager_can_attach_helper(const struct nm_manager *m);
