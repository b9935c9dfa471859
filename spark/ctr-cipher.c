/* SPDX-License-Identifier: Apache-2.0 */

/* See ctr-cipher.h. */

#include "spark/ctr-cipher.h"

#include <errno.h>
#include <stdlib.h>

#include <nettle/aes.h>
#include <nettle/ctr.h>

/* One direction. ctr_crypt() begins a new block of the key stream in each call, so the rest of the last block is
 * kept. */
struct direction {
    uint8_t counter[AES_BLOCK_SIZE], rest[AES_BLOCK_SIZE];
    size_t n_rest; /* bytes at the end of `rest` that are not used */
};

struct ctr_cipher {
    struct nm_spark_cipher base;
    union {
        struct aes128_ctx aes128;
        struct aes256_ctx aes256;
    } key;
    nettle_cipher_func *encrypt;
    struct direction in, out;
};

/* Encrypts or decrypts in place. */
static void crypt_bytes(const struct ctr_cipher *c, struct direction *d, uint8_t *data, size_t size)
{
    size_t whole;

    for (; size > 0 && d->n_rest > 0; size--, d->n_rest--)
        *data++ ^= d->rest[AES_BLOCK_SIZE - d->n_rest];
    whole = size - size % AES_BLOCK_SIZE;
    ctr_crypt(&c->key, c->encrypt, AES_BLOCK_SIZE, d->counter, whole, data, data);
    if (size == whole)
        return;
    memset(d->rest, 0, sizeof d->rest);
    ctr_crypt(&c->key, c->encrypt, AES_BLOCK_SIZE, d->counter, AES_BLOCK_SIZE, d->rest, d->rest);
    for (size_t i = 0; i < size - whole; i++)
        data[whole + i] ^= d->rest[i];
    d->n_rest = AES_BLOCK_SIZE - (size - whole);
}

static int append(const struct ctr_cipher *c, struct direction *d, struct nm_bytes bytes, struct nm_writer *w)
{
    const size_t from = w->size;

    nm_writer_put(w, bytes);
    if (w->failed)
        return -ENOMEM;
    crypt_bytes(c, d, w->data + from, bytes.size);
    return 0;
}

static int seal(struct nm_spark_cipher *base, struct nm_bytes plain, struct nm_writer *wire)
{
    struct ctr_cipher *c = NM_CONTAINER_OF(base, struct ctr_cipher, base);

    return append(c, &c->out, plain, wire);
}

static int open_bytes(struct nm_spark_cipher *base, struct nm_bytes wire, struct nm_writer *plain)
{
    struct ctr_cipher *c = NM_CONTAINER_OF(base, struct ctr_cipher, base);

    return append(c, &c->in, wire, plain);
}

static void free_cipher(struct nm_spark_cipher *base)
{
    struct ctr_cipher *c = NM_CONTAINER_OF(base, struct ctr_cipher, base);

    explicit_bzero(c, sizeof *c);
    free(c);
}

int nm_spark_ctr_cipher_new(const struct nm_spark_engine_keys *keys, struct nm_spark_cipher **ret)
{
    static const struct nm_spark_cipher_ops ops = {.seal = seal, .open = open_bytes, .free = free_cipher};
    struct ctr_cipher *c = calloc(1, sizeof *c);

    if (!c)
        return -ENOMEM;
    c->base.ops = &ops;
    if (keys->key_size == AES256_KEY_SIZE) {
        aes256_set_encrypt_key(&c->key.aes256, keys->key);
        c->encrypt = (nettle_cipher_func *)aes256_encrypt;
    } else {
        aes128_set_encrypt_key(&c->key.aes128, keys->key);
        c->encrypt = (nettle_cipher_func *)aes128_encrypt;
    }
    (void)memcpy(c->in.counter, keys->in_iv, sizeof c->in.counter);
    (void)memcpy(c->out.counter, keys->out_iv, sizeof c->out.counter);
    *ret = &c->base;
    return 0;
}
