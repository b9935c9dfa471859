/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * For tests of the proxy of application masters, over loopback ports. The proxy stands between a master, which
 * knows only its launch context, and a ResourceManager that sends the answers that a test sets.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "message-copy.h"
#include "rpc/hadoop/client.h"
#include "yarn/proxy/proxy.h"

#define NOT_REGISTERED "org.apache.hadoop.yarn.exceptions.ApplicationMasterNotRegisteredException"
#define FORWARD "org.apache.hadoop.yarn.server.nodemanager.amrmproxy.DefaultRequestInterceptor"

struct fixture {
    char dir[64];
    sd_event *event;
    struct nm_yarn_settings settings;
    struct nm_yarn_cluster_keys keys;
    struct nm_yarn_proxy *proxy;
    struct nm_token *ours; /* the master's token */
    struct nm_hadoop_client *client;
    /* the last answer to the master */
    bool done;
    int error;
    struct nm_exception why;
    ProtobufCMessage *answer;
    /* the ResourceManager, and its last request */
    struct nm_hadoop_server *rm;
    const char *refuses; /* class of the exception with which the ResourceManager refuses calls; NULL: it answers
                            calls */
    const char *listed_host; /* of the node that the ResourceManager lists; NULL: TOKENS_HOST */
    bool holds, rolls, gives_token; /* gives_token: an NMToken for the node */
    struct nm_hadoop_call *held;
    unsigned calls;
    size_t asks, unknown, placed;
    int64_t numbers[16];
    char bearer[32], context[32]; /* first bytes of the token's identifier and of the caller context */
    int64_t id_start;
    const char *wish; /* NMD_LEND of the next master; NULL: not set */
    /* Read the request, and add to the ResourceManager's answer. May be NULL. */
    void (*on_register)(struct fixture *w, Masters__RegisterMasterAnswer *answer);
    void (*on_allocate)(struct fixture *w, const Masters__AllocateRequest *request, Masters__AllocateAnswer *answer);
    void *userdata;
    /* Called before (`over` is false) and after (`over` is true) nm_yarn_proxy_begin(). May be NULL. */
    void (*on_begin)(bool over);
};

/* The proxy's last message for the log. */
extern char proxy_log_message[400];

/* Each function asserts that it succeeds. After a function that begins a call, run the loop: proxy_run_until(). */
void proxy_start_rm(struct fixture *w);
void proxy_stop_rm(struct fixture *w);
void proxy_set_up(struct fixture *w, bool distributed);
void proxy_tear_down(struct fixture *w);
void proxy_connect_master(struct fixture *w);
void proxy_launch(struct fixture *w, int32_t attempt);
int proxy_try_launch(struct fixture *w, int32_t attempt); /* returns as nm_yarn_proxy_begin() */
void proxy_begin_call(struct fixture *w, const char *method, const ProtobufCMessage *request,
                      const ProtobufCMessageDescriptor *answer);
bool proxy_is_done(const struct fixture *w);
bool proxy_has_held(const struct fixture *w);
void proxy_run_until(struct fixture *w, bool (*condition)(const struct fixture *w));
void proxy_register_master(struct fixture *w);
void proxy_begin_allocate(struct fixture *w, int32_t response_id, int32_t opportunistic);
const Masters__AllocateAnswer *proxy_allocate(struct fixture *w, int32_t response_id, int32_t opportunistic);
void proxy_start(struct fixture *w);
