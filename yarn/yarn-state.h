/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the files of yarn*.c share. state.c says what is due and when; here it is done: names are resolved, a connection
 * is made where there is none, the request is sent, and its answer goes back to state.c. There is one request under way
 * at a time, and one timer, which is off meanwhile. A heartbeat is sent before its time when there is something that
 * others wait for. They are layers, each using only those above it:
 *
 *   yarn-rest      what the web services of Hadoop's nodes answer
 *   yarn-show      what there is to see
 *   yarn-size      the size that the ResourceManager wants the node to have, and what a draining node offers
 *   yarn-steps     when the next step is due
 *   yarn-requests  registration and heartbeat
 *   yarn-connect   names and connections: a step that is due begins here
 *   yarn           coming and going
 */

#include "rpc/hadoop/client.h"
#include "yarn/node-services.h"
#include "yarn/report.h"
#include "yarn/resolve.h"
#include "yarn/state.h"
#include "yarn/yarn.h"

/* Heartbeats with nothing of the cluster's here, answered one after the other, before a draining node says that it is
 * unhealthy: what the ResourceManager hasn't taken in by then of how the last ones ended is lost to it. */
#define NM_YARN_EMPTY_BEATS 2u

struct nm_yarn_size {
    bool sized; /* as nm_yarn_state has it, all three */
    int64_t memory_mib;
    int32_t vcores;
};

struct nm_yarn {
    sd_event *event;
    struct nm_manager *manager;
    const char *state_dir; /* nmd's */
    const struct nm_yarn_settings *settings;
    nm_yarn_tell_t tell;
    struct nm_subscription *subscription;
    sd_event_source *timer;
    struct nm_resolve *resolve; /* under way, or NULL */
    struct nm_hadoop_client *client;
    struct nm_yarn_services *hosting;

    struct nm_yarn_state state;
    struct nm_yarn_step step; /* what the timer is set for, or under way */
    uint64_t due_usec;        /* when the timer comes; 0: it is under way */
    bool news;                /* since the last heartbeat began */
    bool repeats;             /* the heartbeat under way was sent before */
    struct nm_report_memory memory;
    struct nm_report report;
    int64_t own_memory_mib; /* the node's size as nmd has it, told at the last registration */
    int32_t own_vcores;
    struct nm_yarn_size size_passed_on; /* to the manager */
    int64_t limit_mib;           /* what a draining node offers; 0: what it has */
    int64_t limit_told_mib;      /* likewise, in the last registration */
    unsigned empty_beats;        /* answered since the node was empty of the cluster's containers */
    char disks_trouble[200];
    Hadoop__NodeId id;
    char host[256];  /* "": not known yet */
    int32_t web_port;
    int web_fd; /* listens there, for whoever takes it; -EBADF: nothing does, or it has been taken */
    uint8_t client_id[16];
    unsigned attempts; /* of connections, for one address after the other */
    unsigned tracker;  /* counts the ResourceManagers that were given up, for one after the other */
    bool well, troubled; /* as the log has it; neither: it has heard nothing yet */
    uint64_t sent_usec, beat_usec;
    struct nm_upstream shown;

    void (*left)(void *userdata);
    void *left_userdata;
};

/* Hadoop's, whose protocols these are: a ResourceManager may insist on a minimum. */
#define NM_YARN_VERSION "3.4.2"

/* ---- yarn-rest.c ---- */
/* nm_upstream_ops.ask; userdata: the node. */
int nm_yarn_rest_ask(void *userdata, const struct nm_upstream_question *q, json_t **ret,
                     struct nm_problem *ret_problem);

/* ---- yarn-show.c ---- */
extern const struct nm_upstream_ops nm_yarn_upstream_ops;
/* The ResourceManager that is asked now. */
const struct nm_yarn_address *nm_yarn_tracker(const struct nm_yarn *y);
/* The log hears of changes, not of each of a thousand attempts. */
void nm_yarn_show_change(struct nm_yarn *y);

/* ---- yarn-size.c ---- */
/* After each answer. */
void nm_yarn_size_follow(struct nm_yarn *y);
/* Called before a registration. Drops a size of 0 from the ResourceManager, so that the configured size is offered. */
void nm_yarn_size_offer(struct nm_yarn *y);
/* A draining node has no room but for what it has. */
void nm_yarn_size_limit(struct nm_yarn *y, bool is_draining);
/* What an earlier nmd was told, before the first registration. */
void nm_yarn_size_load(struct nm_yarn *y);
/* The node has signed off, and comes back as it is configured. */
void nm_yarn_size_forget(struct nm_yarn *y);

/* ---- yarn-steps.c ---- */
/* For waiting times that shouldn't be the same on all nodes. */
uint32_t nm_yarn_jitter(void);
void nm_yarn_step_take(struct nm_yarn *y, struct nm_yarn_step step);
/* why: the ResourceManager's words, or NULL. */
void nm_yarn_step_failed(struct nm_yarn *y, int error, const struct nm_exception *why);
/* userdata: the node. There is something that the ResourceManager should hear soon. */
void nm_yarn_step_on_news(void *userdata);

/* ---- yarn-requests.c ---- */
/* Sends what is due; there is a connection. */
void nm_yarn_request_due(struct nm_yarn *y);

/* ---- yarn-connect.c ---- */
int nm_yarn_connect_on_due(sd_event_source *source, uint64_t usec, void *userdata);
/* The node's own name is known now: others need it. */
void nm_yarn_connect_tell_name(struct nm_yarn *y);
