/* SPDX-License-Identifier: Apache-2.0 */

/* See auth.h. */

#include "spark/auth.h"

#include <errno.h>

#include "spark/ctr-cipher.h"
#include "spark/engine.h"
#include "spark/primitive.h"
#include "spark/sasl-cipher.h"

enum { CODE_SASL = 0xea, CODE_ENGINE = 0xfb };

/* A client that tries both ways, and has the wrong settings, sends a few such messages. */
#define REFUSED_MAX 4u

void nm_spark_auth_init(struct nm_spark_auth *auth, const struct nm_spark_auth_settings *settings)
{
    *auth = (struct nm_spark_auth){.settings = settings};
}

/* Refuses a message that is not of a permitted way. Clients then try SASL, over the same connection. */
static int refuse_way(struct nm_spark_auth *auth, const char **ret_why)
{
    *ret_why = "Expected SaslMessage, received something else (maybe your client does not have SASL enabled?)";
    if (++auth->n_refused == REFUSED_MAX)
        auth->state = NM_SPARK_AUTH_FAILED;
    return -EACCES;
}

static int fail(struct nm_spark_auth *auth, const char *why, const char **ret_why)
{
    *ret_why = why;
    auth->state = NM_SPARK_AUTH_FAILED;
    return -EACCES;
}

/* Looks up the secret. An unknown application has an empty one, which is never accepted, so that clients cannot find
 * out which applications exist. */
static struct nm_bytes find_secret(struct nm_spark_applications *applications, const char *app,
                                   uint8_t buffer[static NM_SPARK_SECRET_MAX])
{
    size_t size = 0;

    (void)nm_spark_applications_secret(applications, app, buffer, &size);
    return (struct nm_bytes){buffer, size};
}

/* ---- SASL --------------------------------------------------------------------------------- */

static int challenge(struct nm_spark_auth *auth, struct nm_writer *reply)
{
    char text[NM_SPARK_CHALLENGE_SIZE];
    int r = nm_spark_sasl_begin(&auth->sasl, auth->settings->must_encrypt, text);

    if (r < 0)
        return r;
    nm_writer_put(reply, nm_bytes_of(text));
    auth->state = NM_SPARK_AUTH_SASL;
    return 0;
}

static int verify(struct nm_spark_auth *auth, struct nm_spark_applications *applications, struct nm_bytes token,
                  struct nm_writer *reply, struct nm_spark_cipher **ret_cipher)
{
    uint8_t buffer[NM_SPARK_SECRET_MAX];
    const struct nm_bytes secret = find_secret(applications, auth->app, buffer);
    struct nm_spark_sasl_result result = {};
    char rspauth[NM_SPARK_RSPAUTH_SIZE];
    int r = nm_spark_sasl_verify(&auth->sasl, token, secret, &result, rspauth);

    explicit_bzero(buffer, sizeof buffer);
    if (r == 0 && result.cipher != NM_SPARK_SASL_NONE)
        r = nm_spark_sasl_cipher_new(&result, ret_cipher);
    explicit_bzero(&result, sizeof result);
    if (r == 0)
        nm_writer_put(reply, nm_bytes_of(rspauth));
    return r;
}

static int answer_sasl(struct nm_spark_auth *auth, struct nm_spark_applications *applications, struct nm_bytes message,
                       struct nm_writer *reply, struct nm_spark_cipher **ret_cipher, const char **ret_why)
{
    char app[NM_SPARK_ID_SIZE];
    struct nm_bytes text;
    int32_t ignored;
    int r;

    if (nm_spark_take_text(&message, &text) < 0 || nm_spark_take_i32(&message, &ignored) < 0 ||
        !nm_spark_copy_id(text, app))
        return fail(auth, "The SASL message is not valid", ret_why);
    if (auth->state == NM_SPARK_AUTH_NEW) {
        (void)memcpy(auth->app, app, sizeof app);
        return challenge(auth, reply);
    }
    r = nm_streq(app, auth->app) ? verify(auth, applications, message, reply, ret_cipher) : -EACCES;
    if (r == -EACCES)
        return fail(auth, "DIGEST-MD5: digest response format violation. Mismatched response.", ret_why);
    if (r == 0)
        auth->state = NM_SPARK_AUTH_DONE;
    return r;
}

/* ---- Spark's handshake -------------------------------------------------------------------- */

static int shake_hands(struct nm_spark_auth *auth, struct nm_spark_applications *applications, struct nm_bytes message,
                       struct nm_writer *reply, struct nm_spark_cipher **ret_cipher)
{
    uint8_t buffer[NM_SPARK_SECRET_MAX];
    const struct nm_bytes secret = find_secret(applications, auth->app, buffer);
    struct nm_spark_engine_keys keys = {};
    int r = nm_spark_engine_answer(message, secret, auth->settings->engine_version, reply, &keys);

    explicit_bzero(buffer, sizeof buffer);
    if (r == 0)
        r = nm_spark_ctr_cipher_new(&keys, ret_cipher);
    explicit_bzero(&keys, sizeof keys);
    return r;
}

/* message: with its code. */
static int answer_engine(struct nm_spark_auth *auth, struct nm_spark_applications *applications,
                         struct nm_bytes message, struct nm_writer *reply, struct nm_spark_cipher **ret_cipher,
                         const char **ret_why)
{
    struct nm_bytes rest = message, text;
    int r;

    (void)nm_bytes_take(&rest, 1);
    if (nm_spark_take_text(&rest, &text) < 0 || !nm_spark_copy_id(text, auth->app))
        return fail(auth, "Authentication failed.", ret_why);
    r = shake_hands(auth, applications, message, reply, ret_cipher);
    if (r == -EACCES)
        return fail(auth, "Authentication failed.", ret_why);
    if (r == 0)
        auth->state = NM_SPARK_AUTH_DONE;
    return r;
}

/* ---- messages ----------------------------------------------------------------------------- */

bool nm_spark_auth_is_handshake(const struct nm_spark_auth *auth, struct nm_bytes message)
{
    return auth->settings->has_engine && message.size > 0 && message.data[0] == CODE_ENGINE;
}

int nm_spark_auth_answer(struct nm_spark_auth *auth, struct nm_spark_applications *applications,
                         struct nm_bytes message, struct nm_writer *reply, struct nm_spark_cipher **ret_cipher,
                         const char **ret_why)
{
    const struct nm_spark_auth_settings *settings = auth->settings;
    struct nm_bytes rest = message;
    uint8_t code;

    *ret_cipher = NULL;
    if (nm_spark_take_u8(&rest, &code) < 0)
        return refuse_way(auth, ret_why);
    if (code == CODE_SASL && (settings->allows_sasl || !settings->has_engine))
        return answer_sasl(auth, applications, rest, reply, ret_cipher, ret_why);
    if (code == CODE_ENGINE && settings->has_engine && auth->state == NM_SPARK_AUTH_NEW)
        return answer_engine(auth, applications, message, reply, ret_cipher, ret_why);
    return refuse_way(auth, ret_why);
}
