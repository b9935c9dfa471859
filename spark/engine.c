/* SPDX-License-Identifier: Apache-2.0 */

/* See engine.h. */

#include "spark/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include <nettle/curve25519.h>
#include <nettle/gcm.h>
#include <nettle/hkdf.h>
#include <nettle/hmac.h>
#include <nettle/memops.h>

#include "spark/primitive.h"
#include "util/macros.h"

#define CODE 0xfb
#define SALT_BYTES 16u
#define KEY_BYTES 16u
#define SEALED_BYTES (GCM_IV_SIZE + CURVE25519_SIZE + GCM_DIGEST_SIZE)

void nm_spark_hkdf(struct nm_bytes key, struct nm_bytes salt, struct nm_bytes info, uint8_t *ret, size_t size)
{
    struct hmac_sha256_ctx hmac;
    uint8_t extracted[SHA256_DIGEST_SIZE];

    hmac_sha256_set_key(&hmac, salt.size, salt.data);
    hkdf_extract(&hmac, (nettle_hash_update_func *)hmac_sha256_update,
                 (nettle_hash_digest_func *)hmac_sha256_digest, SHA256_DIGEST_SIZE, key.size, key.data, extracted);
    hmac_sha256_set_key(&hmac, sizeof extracted, extracted);
    hkdf_expand(&hmac, (nettle_hash_update_func *)hmac_sha256_update, (nettle_hash_digest_func *)hmac_sha256_digest,
                SHA256_DIGEST_SIZE, info.size, info.data, size, ret);
    explicit_bzero(&hmac, sizeof hmac);
    explicit_bzero(extracted, sizeof extracted);
}

/* The parts of a message. */
struct parts {
    struct nm_bytes app, salt, sealed;
};

static int parse(struct nm_bytes message, struct parts *ret)
{
    uint8_t code;

    if (nm_spark_take_u8(&message, &code) < 0 || code != CODE || nm_spark_take_text(&message, &ret->app) < 0 ||
        nm_spark_take_text(&message, &ret->salt) < 0 || nm_spark_take_text(&message, &ret->sealed) < 0 ||
        message.size > 0 || ret->salt.size != SALT_BYTES || ret->sealed.size != SEALED_BYTES)
        return -EACCES;
    return 0;
}

/* Writes the additional data that a message authenticates. */
static void put_aad(struct nm_writer *w, const struct parts *p, struct nm_bytes transcript)
{
    nm_writer_put(w, p->app);
    nm_writer_put(w, p->salt);
    nm_writer_put(w, transcript);
}

static void set_gcm(struct gcm_aes128_ctx *gcm, struct nm_bytes secret, const struct parts *p, struct nm_bytes aad,
                    const uint8_t iv[static GCM_IV_SIZE])
{
    uint8_t key[KEY_BYTES];

    nm_spark_hkdf(secret, p->salt, aad, key, sizeof key);
    gcm_aes128_set_key(gcm, key);
    explicit_bzero(key, sizeof key);
    gcm_aes128_set_iv(gcm, GCM_IV_SIZE, iv);
    gcm_aes128_update(gcm, aad.size, aad.data);
}

/* Decrypts the client's key. */
static int unseal(const struct parts *p, struct nm_bytes secret, uint8_t ret[static CURVE25519_SIZE])
{
    const uint8_t *iv = p->sealed.data, *encrypted = iv + GCM_IV_SIZE, *tag = encrypted + CURVE25519_SIZE;
    struct nm_writer aad = {};
    struct gcm_aes128_ctx gcm;
    uint8_t expected[GCM_DIGEST_SIZE];
    int r = -ENOMEM;

    put_aad(&aad, p, (struct nm_bytes){});
    if (!aad.failed) {
        set_gcm(&gcm, secret, p, (struct nm_bytes){aad.data, aad.size}, iv);
        gcm_aes128_decrypt(&gcm, CURVE25519_SIZE, ret, encrypted);
        gcm_aes128_digest(&gcm, sizeof expected, expected);
        r = memeql_sec(expected, tag, sizeof expected) ? 0 : -EACCES;
        explicit_bzero(&gcm, sizeof gcm);
    }
    nm_writer_done(&aad);
    return r;
}

/* Encrypts the server's key. p: the parts of the server's message, of which `sealed` is not set. */
static int seal(const struct parts *p, struct nm_bytes secret, struct nm_bytes transcript,
                const uint8_t key[static CURVE25519_SIZE], uint8_t ret[static SEALED_BYTES])
{
    struct nm_writer aad = {};
    struct gcm_aes128_ctx gcm;

    if (getrandom(ret, GCM_IV_SIZE, 0) != GCM_IV_SIZE)
        return -EIO;
    put_aad(&aad, p, transcript);
    if (aad.failed) {
        nm_writer_done(&aad);
        return -ENOMEM;
    }
    set_gcm(&gcm, secret, p, (struct nm_bytes){aad.data, aad.size}, ret);
    gcm_aes128_encrypt(&gcm, CURVE25519_SIZE, ret + GCM_IV_SIZE, key);
    gcm_aes128_digest(&gcm, GCM_DIGEST_SIZE, ret + GCM_IV_SIZE + CURVE25519_SIZE);
    explicit_bzero(&gcm, sizeof gcm);
    nm_writer_done(&aad);
    return 0;
}

/* Computes the shared secret. A client's key of a low order would make it zero, whatever the server's key is. */
static int agree(const uint8_t *own_key, const uint8_t *client_key, uint8_t ret[static CURVE25519_SIZE])
{
    static const uint8_t zero[CURVE25519_SIZE];

    curve25519_mul(ret, own_key, client_key);
    return memeql_sec(ret, zero, sizeof zero) ? -EACCES : 0;
}

static void derive(struct nm_bytes shared, struct nm_bytes transcript, unsigned version,
                   struct nm_spark_engine_keys *ret)
{
    ret->key_size = version == 1 ? shared.size : KEY_BYTES;
    if (version == 1)
        (void)memcpy(ret->key, shared.data, shared.size);
    else
        nm_spark_hkdf(shared, transcript, nm_bytes_of("derivedKey"), ret->key, KEY_BYTES);
    nm_spark_hkdf(shared, transcript, nm_bytes_of("inputIv"), ret->out_iv, sizeof ret->out_iv);
    nm_spark_hkdf(shared, transcript, nm_bytes_of("outputIv"), ret->in_iv, sizeof ret->in_iv);
}

/* Makes the server's message with its public key. */
static int put_message(struct nm_bytes app, struct nm_bytes secret, struct nm_bytes client_message,
                       const uint8_t public[static CURVE25519_SIZE], struct nm_writer *w)
{
    uint8_t salt[SALT_BYTES], sealed[SEALED_BYTES];
    const struct parts p = {.app = app, .salt = {salt, sizeof salt}};
    int r;

    if (getrandom(salt, sizeof salt, 0) != sizeof salt)
        return -EIO;
    if ((r = seal(&p, secret, client_message, public, sealed)) < 0)
        return r;
    nm_spark_put_u8(w, CODE);
    nm_spark_put_text(w, app);
    nm_spark_put_text(w, p.salt);
    nm_spark_put_text(w, (struct nm_bytes){sealed, sizeof sealed});
    return w->failed ? -ENOMEM : 0;
}

/* Makes the server's message, and the keys from both messages. */
static int answer(struct nm_bytes message, const struct parts *client, struct nm_bytes secret, unsigned version,
                  struct nm_writer *w, struct nm_spark_engine_keys *ret)
{
    uint8_t client_key[CURVE25519_SIZE], own[CURVE25519_SIZE], public[CURVE25519_SIZE], shared[CURVE25519_SIZE];
    struct nm_writer both = {};
    int r = unseal(client, secret, client_key);

    if (r == 0 && getrandom(own, sizeof own, 0) != sizeof own)
        r = -EIO;
    if (r == 0 && (r = agree(own, client_key, shared)) == 0) {
        curve25519_mul_g(public, own);
        r = put_message(client->app, secret, message, public, w);
    }
    if (r == 0) {
        nm_writer_put(&both, message);
        nm_writer_put(&both, (struct nm_bytes){w->data, w->size});
        r = both.failed ? -ENOMEM : 0;
    }
    if (r == 0)
        derive((struct nm_bytes){shared, sizeof shared}, (struct nm_bytes){both.data, both.size}, version, ret);
    nm_writer_done(&both);
    explicit_bzero(own, sizeof own);
    explicit_bzero(shared, sizeof shared);
    return r;
}

int nm_spark_engine_answer(struct nm_bytes message, struct nm_bytes secret, unsigned version, struct nm_writer *reply,
                           struct nm_spark_engine_keys *ret)
{
    struct nm_writer w = {};
    struct parts client = {};
    int r = secret.size > 0 ? parse(message, &client) : -EACCES;

    if (r == 0)
        r = answer(message, &client, secret, version, &w, ret);
    if (r == 0)
        nm_writer_put(reply, (struct nm_bytes){w.data, w.size});
    nm_writer_done(&w);
    return r;
}
