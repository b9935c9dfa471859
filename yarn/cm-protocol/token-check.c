/* SPDX-License-Identifier: Apache-2.0 */

/* See token-check.h. */

#include "yarn/cm-protocol/token-check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>

#include "rpc/hadoop/token.h"
#include "yarn/id-messages.h"

#define INVALID_TOKEN "Invalid ContainerToken"

static const char *name_attempt(const Hadoop__AttemptId *m, char buf[NM_YARN_ID_SIZE])
{
    struct nm_yarn_attempt_id id = nm_yarn_attempt_of(m);

    return nm_yarn_attempt_id_format(&id, buf);
}

static const char *name_container(const Hadoop__ContainerId *m, char buf[NM_YARN_ID_SIZE])
{
    struct nm_yarn_container_id id = nm_yarn_container_of(m);

    return nm_yarn_container_id_format(&id, buf);
}

static bool is_same_application(const Hadoop__AttemptId *a, const Hadoop__AttemptId *b)
{
    struct nm_yarn_application_id of_a = nm_yarn_application_of(a->application);
    struct nm_yarn_application_id of_b = nm_yarn_application_of(b->application);

    return nm_yarn_same_application(&of_a, &of_b);
}

/* Refuses a token that couldn't be read. If reading failed for lack of memory, the caller is asked to retry, because
 * the token may be valid. */
static int unread(const struct nm_arena *a, struct nm_exception *why, const char *text)
{
    if (nm_arena_error(a) == -ENOMEM) {
        nm_exception_set(why, 0, NM_EXCEPTION_RETRY, "There is no memory for this call at the moment; try again.");
        return NM_YARN_TOKEN_E_REFUSED;
    }
    nm_exception_set(why, 0, NM_EXCEPTION_INVALID_TOKEN, "%s", text);
    return NM_YARN_TOKEN_E_INVALID;
}

/* ---- callers ------------------------------------------------------------------------------ */

static bool is_for_us(const struct nm_yarn_gate *g, const Hadoop__NodeId *node)
{
    return nm_streq(node->host, g->host) && node->port == g->port;
}

int nm_yarn_check_bearer(const struct nm_yarn_gate *g, struct nm_bytes identifier, struct nm_arena *a,
                         const Hadoop__NMTokenIdentifier **ret, const struct nm_yarn_master_key **ret_key,
                         struct nm_exception *why)
{
    const struct nm_yarn_master_key *key;
    const Hadoop__NMTokenIdentifier *token;
    char name[NM_YARN_ID_SIZE];

    if (nm_token_parse_nm(a, identifier, &token) < 0)
        return unread(a, why, "Invalid NMToken");
    (void)name_attempt(token->attempt, name);
    if (nm_yarn_keyring_is_empty(g->keyring)) {
        nm_exception_set(why, 0, NM_EXCEPTION_NOT_YET_READY,
                         "This node has not received the keys of tokens from its ResourceManager yet.");
        return NM_YARN_TOKEN_E_REFUSED;
    }
    if (!is_for_us(g, token->node)) {
        nm_exception_set(why, 0, NM_EXCEPTION_INVALID_TOKEN,
                         "Given NMToken for application : %s is not valid for current node manager.expected : %s:%d "
                         "found : %.100s:%d", name, g->host, g->port, token->node->host, token->node->port);
        return NM_YARN_TOKEN_E_INVALID;
    }
    key = nm_yarn_keyring_for_attempt(g->keyring, token);
    if (!key) {
        nm_exception_set(why, 0, NM_EXCEPTION_INVALID_TOKEN,
                         "Given NMToken for application : %s seems to have been generated illegally.", name);
        return NM_YARN_TOKEN_E_INVALID;
    }
    *ret = token;
    *ret_key = key;
    return 0;
}

/* ---- container tokens --------------------------------------------------------------------- */

static int invalid(struct nm_exception *why, const char *text)
{
    nm_exception_set(why, 0, NM_EXCEPTION_INVALID_TOKEN, "%s", text);
    return NM_YARN_TOKEN_E_INVALID;
}

/* Compares the node's address in the token with this node's address as text. Names are not resolved. */
static int check_node(const struct nm_yarn_gate *g, const Hadoop__ContainerTokenIdentifier *token,
                      struct nm_exception *why)
{
    char own[300], name[NM_YARN_ID_SIZE];

    (void)snprintf(own, sizeof own, "%s:%d", g->host, g->port);
    if (nm_streq(own, token->node_address))
        return 0;
    nm_exception_set(why, 0, NM_EXCEPTION_INVALID_TOKEN,
                     "Given Container %s identifier is not valid for current Node manager. Expected : %s Found : "
                     "%.300s", name_container(token->container, name), own, token->node_address);
    return NM_YARN_TOKEN_E_INVALID;
}

static int check_signature(const struct nm_yarn_gate *g, const Hadoop__Token *message,
                           const Hadoop__ContainerTokenIdentifier *token, struct nm_exception *why)
{
    const struct nm_yarn_master_key *key = nm_yarn_keyring_for_container(g->keyring, token);
    struct nm_token t = nm_token_from_message(message);
    char name[NM_YARN_ID_SIZE], text[400];

    if (!key) {
        (void)snprintf(text, sizeof text, "Given Container %s seems to have an illegally generated token.",
                       name_container(token->container, name));
        return invalid(why, text);
    }
    if (nm_token_verify(&t, NM_TOKEN_KIND_CONTAINER, key->bytes, key->size) < 0) {
        (void)snprintf(text, sizeof text, "Invalid container token used for starting container on : %s:%d", g->host,
                       g->port);
        return invalid(why, text);
    }
    return 0;
}

int nm_yarn_check_container(const struct nm_yarn_gate *g, const Hadoop__Token *message, struct nm_arena *a,
                            const Hadoop__ContainerTokenIdentifier **ret, struct nm_exception *why)
{
    const Hadoop__ContainerTokenIdentifier *token;
    int r;

    if (!message)
        return invalid(why, INVALID_TOKEN);
    if (nm_token_parse_container(a, nm_token_from_message(message).identifier, &token) < 0)
        return unread(a, why, INVALID_TOKEN);
    r = check_node(g, token, why);
    if (r == 0)
        r = check_signature(g, message, token, why);
    if (r == 0)
        *ret = token;
    return r;
}

/* ---- permissions -------------------------------------------------------------------------- */

nm_printf(2, 3) static int refuse(struct nm_exception *why, const char *format, ...)
{
    char text[900];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    nm_exception_set(why, 0, NM_EXCEPTION_YARN, "%s", text);
    return NM_YARN_TOKEN_E_REFUSED;
}

static int check_attempt(const Hadoop__NMTokenIdentifier *caller, const Hadoop__ContainerTokenIdentifier *token,
                         bool starts, struct nm_exception *why)
{
    char own[NM_YARN_ID_SIZE], its[NM_YARN_ID_SIZE];

    if (is_same_application(caller->attempt, token->container->attempt))
        return 0;
    return refuse(why, "Unauthorized request to %s NMToken for application attempt : %s was used for %s container "
                  "with container token issued for application attempt : %s",
                  starts ? "start container." : "increase container resource.", name_attempt(caller->attempt, own),
                  starts ? "starting" : "increasing resource of", name_attempt(token->container->attempt, its));
}

static int check_used(const struct nm_yarn_gate *g, const Hadoop__ContainerTokenIdentifier *token,
                      struct nm_exception *why)
{
    struct nm_yarn_container_id id = nm_yarn_container_of(token->container);
    char name[NM_YARN_ID_SIZE];

    if (!nm_yarn_used_has(g->used, &id))
        return 0;
    return refuse(why, "Unauthorized request to start container. Attempt to relaunch the same container with id %s.",
                  nm_yarn_container_id_format(&id, name));
}

static int check_time(const Hadoop__ContainerTokenIdentifier *token, int64_t now_msec, bool starts,
                      struct nm_exception *why)
{
    if (token->expires_msec >= now_msec)
        return 0;
    return refuse(why, "Unauthorized request to %s This token is expired. current time is %" PRId64 " found %" PRId64
                  ". Note: System times on machines may be out of sync. Check system time and time zones.",
                  starts ? "start container." : "increase container resource.", now_msec, token->expires_msec);
}

/* Refuses tokens that an earlier run of the ResourceManager has issued. They are invalid after the ResourceManager's
 * restart. */
static int check_rm(const struct nm_yarn_gate *g, const Hadoop__ContainerTokenIdentifier *token,
                    struct nm_exception *why)
{
    char name[NM_YARN_ID_SIZE];

    if (g->rm_identifier != 0 && token->rm_identifier == g->rm_identifier)
        return 0;
    nm_exception_set(why, 0, NM_EXCEPTION_INVALID_CONTAINER,
                     "Container %s rejected as it is allocated by a previous RM",
                     name_container(token->container, name));
    return NM_YARN_TOKEN_E_REFUSED;
}

int nm_yarn_check_start(const struct nm_yarn_gate *g, const Hadoop__NMTokenIdentifier *caller,
                        const Hadoop__ContainerTokenIdentifier *token, int64_t now_msec, struct nm_exception *why)
{
    int r = check_attempt(caller, token, true, why);

    if (r == 0)
        r = check_used(g, token, why);
    if (r == 0)
        r = check_time(token, now_msec, true, why);
    return r == 0 ? check_rm(g, token, why) : r;
}

int nm_yarn_check_update(const struct nm_yarn_gate *g, const Hadoop__NMTokenIdentifier *caller,
                         const Hadoop__ContainerTokenIdentifier *token, int64_t now_msec, struct nm_exception *why)
{
    int r = check_attempt(caller, token, false, why);

    if (r == 0)
        r = check_time(token, now_msec, false, why);
    return r == 0 ? check_rm(g, token, why) : r;
}

int nm_yarn_check_owner(const Hadoop__NMTokenIdentifier *caller, const Hadoop__ContainerId *id, const char *operation,
                        struct nm_exception *why)
{
    char own[NM_YARN_ID_SIZE], name[NM_YARN_ID_SIZE];

    if (!nm_yarn_is_container(id))
        return refuse(why, "Invalid container id: a part is missing.");
    if (is_same_application(caller->attempt, id->attempt))
        return 0;
    return refuse(why, "%s attempted to %s non-application container : %s", name_attempt(caller->attempt, own),
                  operation, name_container(id, name));
}
