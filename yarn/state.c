/* SPDX-License-Identifier: Apache-2.0 */

/* See state.h. */

#include "yarn/state.h"

#include <stdio.h>

#include "util/error.h"

#define FIRST_RETRY_USEC NM_USEC_PER_SEC
/* Delay before another ResourceManager is tried. It only keeps the nodes from connecting at the same time. */
#define FAILOVER_USEC (100 * NM_USEC_PER_MSEC)
#define INTERVAL_DEFAULT_USEC NM_USEC_PER_SEC
/* Limits of the heartbeat interval. No cluster needs an interval shorter than the minimum. With the maximum, a node
 * with a mistaken interval gets the corrected interval within ten minutes. */
#define INTERVAL_MIN_USEC (10 * NM_USEC_PER_MSEC)
#define INTERVAL_MAX_USEC (600 * NM_USEC_PER_SEC)

void nm_yarn_state_init(struct nm_yarn_state *s, uint64_t retry_max_usec)
{
    *s = (struct nm_yarn_state){.phase = NM_YARN_REGISTERING, .retry_max_usec = retry_max_usec,
                                .interval_usec = INTERVAL_DEFAULT_USEC, .queue_max_length = -1,
                                .queue_max_wait_msec = -1};
}

/* ---- steps -------------------------------------------------------------------------------- */

/* Limits the delay, and subtracts up to a quarter at random. */
static uint64_t vary(const struct nm_yarn_state *s, uint64_t usec, uint32_t random)
{
    usec = NM_MIN(usec, s->retry_max_usec);
    return usec - usec / 4 * (random % 1024) / 1024;
}

/* Doubles the delay with each failure. */
static uint64_t backoff(const struct nm_yarn_state *s, unsigned failures, uint32_t random)
{
    uint64_t usec = FIRST_RETRY_USEC;

    for (unsigned i = 1; i < failures && usec < s->retry_max_usec; i++)
        usec *= 2;
    return vary(s, usec, random);
}

/* If there are several ResourceManagers, all of them are tried before the first delay. Otherwise most nodes would wait
 * for a ResourceManager on standby while another one is active. */
static uint64_t retry_usec(const struct nm_yarn_state *s, uint32_t random)
{
    const unsigned n = NM_MAX(s->n_rms, 1u);

    return s->failures % n == 0 ? backoff(s, s->failures / n, random) : vary(s, FAILOVER_USEC, random);
}

/* Stores a message of the ResourceManager for display. Control characters are removed. */
static void note(struct nm_yarn_state *s, const char *what, const char *words)
{
    struct nm_exception clean;

    nm_exception_receive(&clean, 0, NULL, words);
    (void)snprintf(s->trouble, sizeof s->trouble, "%s%s%.200s", what, *clean.message ? ": " : "", clean.message);
}

static struct nm_yarn_step retry(struct nm_yarn_state *s, bool reconnect, uint32_t random)
{
    s->failures++;
    s->retries++;
    return (struct nm_yarn_step){s->phase == NM_YARN_RUNNING ? NM_YARN_HEARTBEAT : NM_YARN_REGISTER,
                                 retry_usec(s, random), reconnect};
}

static struct nm_yarn_step retry_after_invalid(struct nm_yarn_state *s, const char *what, uint32_t random)
{
    note(s, "the ResourceManager sent an invalid answer", what);
    return retry(s, true, random);
}

static struct nm_yarn_step stop(struct nm_yarn_state *s, const char *words)
{
    s->phase = NM_YARN_STOPPED;
    s->rm_identifier = 0;
    note(s, "the ResourceManager told this node to leave the cluster", words);
    return (struct nm_yarn_step){.task = NM_YARN_REST};
}

/* Registers again. A resync is the ResourceManager's request to register again. After the first resync there is no
 * delay. Repeated resyncs cause a delay, because the ResourceManager may reject every registration. */
static struct nm_yarn_step register_again(struct nm_yarn_state *s, const char *words, uint32_t random)
{
    s->phase = NM_YARN_REGISTERING;
    s->rm_identifier = 0;
    s->retries = 0;
    note(s, "the ResourceManager requires the node to register again", words);
    if (s->resyncs++ == 0)
        return (struct nm_yarn_step){.task = NM_YARN_REGISTER};
    s->failures = NM_MAX(s->failures, s->resyncs - 1);
    return (struct nm_yarn_step){NM_YARN_REGISTER, backoff(s, s->failures, random), false};
}

/* ---- answers ------------------------------------------------------------------------------ */

/* Stores a new key. The ResourceManager repeats the next key in each answer until this key becomes the current key. */
static void take_key(struct nm_yarn_keys *keys, const Yarn__MasterKey *m)
{
    struct nm_yarn_master_key key;

    if (!nm_yarn_key_from_message(m, &key) ||
        (keys->current.id == key.id && keys->current.size == key.size &&
         memcmp(keys->current.bytes, key.bytes, key.size) == 0))
        return;
    keys->previous = keys->current;
    keys->current = key;
}

static void take_resource(struct nm_yarn_state *s, const Hadoop__Resource *r)
{
    if (!r || !r->has_memory || !r->has_vcores || r->memory < 0 || r->vcores < 0)
        return;
    s->sized = true;
    s->memory_mib = NM_MIN(r->memory, (int64_t)NM_YARN_MEMORY_MIB_MAX);
    s->vcores = NM_MIN(r->vcores, NM_YARN_VCORES_MAX);
}

struct nm_yarn_step nm_yarn_state_registered(struct nm_yarn_state *s, const Yarn__RegisterResponse *r,
                                             uint32_t random)
{
    if (r->has_action && r->action == YARN__ACTION__SHUTDOWN)
        return stop(s, r->diagnostics);
    if (!r->has_action || r->action != YARN__ACTION__NORMAL || !r->has_rm_identifier ||
        !nm_yarn_is_key(r->container_token_key) || !nm_yarn_is_key(r->nm_token_key))
        return retry_after_invalid(s, "the request was a registration", random);
    s->phase = NM_YARN_RUNNING;
    s->response_id = 0;
    s->retries = 0;
    s->token_sequence = 0;
    s->queue_max_length = s->queue_max_wait_msec = -1;
    s->rm_identifier = r->rm_identifier;
    take_key(&s->keys.container, r->container_token_key);
    take_key(&s->keys.nm, r->nm_token_key);
    take_resource(s, r->resource);
    (void)snprintf(s->rm_version, sizeof s->rm_version, "%s", r->rm_version ?: "");
    return (struct nm_yarn_step){.task = NM_YARN_HEARTBEAT};
}

/* Handles a valid answer to a heartbeat: resets the failure counters, and stores the answer's values. */
static void take_heartbeat(struct nm_yarn_state *s, const Yarn__HeartbeatResponse *r)
{
    s->response_id = r->response_id;
    s->retries = s->failures = s->resyncs = 0;
    s->trouble[0] = '\0';
    take_key(&s->keys.container, r->container_token_key);
    take_key(&s->keys.nm, r->nm_token_key);
    take_resource(s, r->resource);
    if (r->has_token_sequence)
        s->token_sequence = r->token_sequence;
    if (r->queuing_limit) {
        s->queue_max_length = r->queuing_limit->has_max_length ? r->queuing_limit->max_length : -1;
        s->queue_max_wait_msec = r->queuing_limit->has_max_wait_msec ? r->queuing_limit->max_wait_msec : -1;
    }
    if (r->has_next_msec && r->next_msec > 0 && r->next_msec < INT32_MAX)
        s->interval_usec = NM_MIN(NM_MAX((uint64_t)r->next_msec * NM_USEC_PER_MSEC, INTERVAL_MIN_USEC),
                                  INTERVAL_MAX_USEC);
}

struct nm_yarn_step nm_yarn_state_answered(struct nm_yarn_state *s, const Yarn__HeartbeatResponse *r,
                                           uint32_t random)
{
    if (r->has_action && r->action == YARN__ACTION__SHUTDOWN)
        return stop(s, r->diagnostics);
    if (r->has_action && r->action == YARN__ACTION__RESYNC)
        return register_again(s, r->diagnostics, random);
    if (!r->has_action || r->action != YARN__ACTION__NORMAL || !r->has_response_id)
        return retry_after_invalid(s, "the request was a heartbeat", random);
    if (r->response_id != (int32_t)(((uint32_t)s->response_id + 1) & INT32_MAX))
        return register_again(s, "its answer has an unexpected response id", random);
    take_heartbeat(s, r);
    return (struct nm_yarn_step){NM_YARN_HEARTBEAT, s->interval_usec, false};
}

struct nm_yarn_step nm_yarn_state_restart(struct nm_yarn_state *s)
{
    s->phase = NM_YARN_REGISTERING;
    s->rm_identifier = 0;
    s->retries = 0;
    return (struct nm_yarn_step){.task = NM_YARN_REGISTER};
}

struct nm_yarn_step nm_yarn_state_resized(struct nm_yarn_state *s)
{
    s->sized = false;
    s->memory_mib = 0;
    s->vcores = 0;
    return nm_yarn_state_restart(s);
}

struct nm_yarn_step nm_yarn_state_failed(struct nm_yarn_state *s, int error, const struct nm_exception *why,
                                         uint32_t random)
{
    if (why)
        note(s, why->class_name, why->message);
    else
        note(s, strerror(-error), NULL);
    /* after a refusal of this one call, the connection is still usable */
    return retry(s, error != -EREMOTEIO, random);
}
