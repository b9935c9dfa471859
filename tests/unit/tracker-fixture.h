/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A complete node of a YARN cluster with a separate manager (manager-fixture.h). Its ResourceManager listens on a
 * port of the loopback interface and gives the answers that a test sets. Include this header after cmocka.h.
 */

#include "tests/unit/loopback.h"
#include "tests/unit/manager-fixture.h"
#include "tests/unit/yarn-tokens.h"
#include "yarn/exceptions.h"
#include "yarn/tracker.pb-c.h"
#include "yarn/yarn.h"

struct tracker_fixture {
    struct manager_fixture *node;
    struct nm_yarn_settings *settings;
    struct nm_yarn *yarn;
    char localizer[64], shuffle[64]; /* paths of the programs nm-localizer and nm-shuffle */
    uint16_t port;                   /* the port of the ResourceManager, also while it is not running */
    struct nm_hadoop_server *rm;
    /* the answers of the ResourceManager */
    const char *refuses;  /* class of the exception with which it refuses requests; NULL: it doesn't refuse */
    Yarn__Action action;  /* the action in the answer to the next heartbeat */
    bool no_keys, no_action, old_number, holds;
    int64_t heartbeat_msec; /* time between two heartbeats */
    int32_t queue_limit;  /* limit of the node's queue; -1: no limit */
    int32_t memory_mib;   /* size that the answer sets for the node; 0: the size that the node reports */
    void (*add_actions)(Yarn__HeartbeatResponse *m); /* modifies the next answer to a heartbeat, once; may be NULL */
    bool refuses_labels;        /* refuses labels and attributes, with this reason: */
    const char *why;            /* NULL: no reason */
    struct nm_hadoop_call *held;
    /* numbers of requests that the node has made, and the contents of its last requests */
    unsigned registrations, beats, unregistrations;
    int32_t offered_mib, http_port, node_port, queue_capacity;
    int32_t wait_queue_length; /* queue length in the last heartbeat */
    size_t n_containers, n_applications;
    char node_host[64], health[200];
    char labels[200], attributes[400]; /* the newest reported sets, as "NAME " or "PREFIX/NAME=VALUE "; "" if empty */
    char resources[200]; /* further resources in the last registration, as "NAME=VALUEUNITS " */
    unsigned n_labels, n_attributes;   /* numbers of requests that contained them */
    bool healthy;
    int32_t container_state, exit_status; /* state of the first container in the last heartbeat */
};

/* The sentences that the node has logged. */
extern struct tracker_logged {
    unsigned n;
    int level;
    char sentence[700], all[4000];
} tracker_logged;

int tracker_set_up(void **state);
int tracker_tear_down(void **state);
/* A property for tracker_configure(). This function makes the settings; its argument `more` is XML. */
#define TRACKER_PROPERTY(name, value) "<property><name>" name "</name><value>" value "</value></property>"
/* Properties that enable the proxy. This is a format for snprintf() with the proxy's port as the argument. */
#define TRACKER_PROXIED \
    TRACKER_PROPERTY("yarn.nodemanager.amrmproxy.enabled", "true") \
    TRACKER_PROPERTY("yarn.resourcemanager.scheduler.address", "127.0.0.1:1") \
    TRACKER_PROPERTY("yarn.nodemanager.amrmproxy.address", "127.0.0.1:%u")
void tracker_configure(struct tracker_fixture *w, const char *more);
void tracker_start_rm(struct tracker_fixture *w);
void tracker_stop_rm(struct tracker_fixture *w);
struct nm_yarn_params tracker_params(struct tracker_fixture *w);
/* Returns the helper process that was moved to a cgroup beside the slice last, or 0 if no process was moved. */
pid_t tracker_helper(const struct tracker_fixture *w);
void tracker_join(struct tracker_fixture *w); /* fails the test if the start fails */
/* Runs the event loop until is(w) is true. */
void tracker_run_until(struct tracker_fixture *w, bool (*is)(const struct tracker_fixture *w));
/* Runs the event loop until n more heartbeats of the node have been answered. */
void tracker_run_beats(struct tracker_fixture *w, unsigned n);
/* Returns the upstream as `nmctl status` shows it. */
struct nm_upstream tracker_shown(const struct tracker_fixture *w);
/* Returns the details of the application masters that `who` may see. The caller releases the reference. */
json_t *tracker_masters(const struct tracker_fixture *w, const struct nm_caller *who);
bool tracker_is_running(const struct tracker_fixture *w);
/* Sets a node size of 0 in the answer. For the member `add_actions`. */
void tracker_set_size_zero(Yarn__HeartbeatResponse *m);
