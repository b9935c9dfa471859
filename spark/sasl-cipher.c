/* SPDX-License-Identifier: Apache-2.0 */

/* See sasl-cipher.h. */

#include "spark/sasl-cipher.h"

#include <errno.h>
#include <stdlib.h>

#include <nettle/arcfour.h>
#include <nettle/cbc.h>
#include <nettle/des.h>
#include <nettle/hmac.h>
#include <nettle/md5.h>
#include <nettle/memops.h>

#include "spark/primitive.h"

#define MAC_BYTES 10u
#define TAIL_BYTES 6u /* version and number of a block */
#define VERSION 1u
/* Plain bytes of a block. Clients accept blocks of 64 KiB, with what encryption adds. */
#define BLOCK_PLAIN_MAX 65000u
#define BLOCK_MAX (128u << 10)

/* One direction. */
struct direction {
    enum nm_spark_sasl_cipher cipher;
    uint8_t sign_key[NM_SPARK_MD5_SIZE];
    uint32_t n_blocks;
    struct arcfour_ctx rc4;
    struct CBC_CTX(struct des3_ctx, DES_BLOCK_SIZE) des;
};

struct sasl_cipher {
    struct nm_spark_cipher base;
    struct direction in, out;
    struct nm_writer received; /* a block that is not complete */
};

/* ---- keys --------------------------------------------------------------------------------- */

static void derive(const struct nm_spark_sasl_result *result, const char *constant,
                   uint8_t ret[static NM_SPARK_MD5_SIZE])
{
    struct md5_ctx md5;

    md5_init(&md5);
    md5_update(&md5, sizeof result->session_key, result->session_key);
    md5_update(&md5, strlen(constant), (const uint8_t *)constant);
    md5_digest(&md5, NM_SPARK_MD5_SIZE, ret);
}

/* Spreads 7 bytes over the upper 7 bits of 8 bytes. DES ignores the lowest bits. */
static void spread(const uint8_t *from, uint8_t *ret)
{
    uint64_t bits = 0;

    for (unsigned i = 0; i < 7; i++)
        bits = bits << 8 | from[i];
    for (unsigned i = 0; i < 8; i++)
        ret[i] = (uint8_t)(bits >> (49 - 7 * i) << 1);
}

/* 3DES has two keys, of which the first is used twice, and an initial vector. */
static void set_cipher(struct direction *d, const uint8_t key[static NM_SPARK_MD5_SIZE])
{
    uint8_t des_key[DES3_KEY_SIZE];

    if (d->cipher == NM_SPARK_SASL_RC4) {
        arcfour_set_key(&d->rc4, NM_SPARK_MD5_SIZE, key);
        return;
    }
    spread(key, des_key);
    spread(key + 7, des_key + 8);
    (void)memcpy(des_key + 16, des_key, 8);
    (void)des3_set_key(&d->des.ctx, des_key);
    CBC_SET_IV(&d->des, key + 8);
    explicit_bzero(des_key, sizeof des_key);
}

static void set_direction(struct direction *d, const struct nm_spark_sasl_result *result, const char *sign_constant,
                          const char *seal_constant)
{
    uint8_t key[NM_SPARK_MD5_SIZE];

    d->cipher = result->cipher;
    derive(result, sign_constant, d->sign_key);
    derive(result, seal_constant, key);
    set_cipher(d, key);
    explicit_bzero(key, sizeof key);
}

/* ---- blocks ------------------------------------------------------------------------------- */

static void sign(const struct direction *d, struct nm_bytes plain, uint8_t ret[static MAC_BYTES])
{
    const uint8_t number[] = {(uint8_t)(d->n_blocks >> 24), (uint8_t)(d->n_blocks >> 16), (uint8_t)(d->n_blocks >> 8),
                              (uint8_t)d->n_blocks};
    struct hmac_md5_ctx hmac;

    hmac_md5_set_key(&hmac, sizeof d->sign_key, d->sign_key);
    hmac_md5_update(&hmac, sizeof number, number);
    hmac_md5_update(&hmac, plain.size, plain.data);
    hmac_md5_digest(&hmac, MAC_BYTES, ret);
}

static void encrypt(struct direction *d, uint8_t *data, size_t size)
{
    if (d->cipher == NM_SPARK_SASL_RC4)
        arcfour_crypt(&d->rc4, size, data, data);
    else
        CBC_ENCRYPT(&d->des, des3_encrypt, size, data, data);
}

static void decrypt(struct direction *d, uint8_t *data, size_t size)
{
    if (d->cipher == NM_SPARK_SASL_RC4)
        arcfour_crypt(&d->rc4, size, data, data);
    else
        CBC_DECRYPT(&d->des, des3_decrypt, size, data, data);
}

/* Appends a block. */
static void seal_block(struct direction *d, struct nm_bytes plain, struct nm_writer *w)
{
    const size_t signed_size = plain.size + MAC_BYTES;
    const uint8_t pad = (uint8_t)(d->cipher == NM_SPARK_SASL_RC4 ? 0 : DES_BLOCK_SIZE - signed_size % DES_BLOCK_SIZE);
    uint8_t mac[MAC_BYTES];
    size_t from;

    sign(d, plain, mac);
    nm_spark_put_i64(w, (int64_t)(sizeof(int64_t) + signed_size + pad + TAIL_BYTES));
    from = w->size;
    nm_writer_put(w, plain);
    for (unsigned i = 0; i < pad; i++)
        nm_spark_put_u8(w, pad);
    nm_writer_put(w, (struct nm_bytes){mac, sizeof mac});
    if (!w->failed)
        encrypt(d, w->data + from, w->size - from);
    nm_spark_put_u8(w, 0);
    nm_spark_put_u8(w, VERSION);
    nm_spark_put_i32(w, (int32_t)d->n_blocks++);
}

static int seal(struct nm_spark_cipher *base, struct nm_bytes plain, struct nm_writer *wire)
{
    struct sasl_cipher *c = NM_CONTAINER_OF(base, struct sasl_cipher, base);

    while (plain.size > 0)
        seal_block(&c->out, nm_bytes_take(&plain, NM_MIN(plain.size, (size_t)BLOCK_PLAIN_MAX)), wire);
    return wire->failed ? -ENOMEM : 0;
}

/* Returns the number of plain bytes at the start of a decrypted block without its tail, or -EBADMSG. */
static ssize_t plain_size(const struct direction *d, const uint8_t *data, size_t size)
{
    size_t pad;

    if (size < MAC_BYTES)
        return -EBADMSG;
    size -= MAC_BYTES;
    if (d->cipher == NM_SPARK_SASL_RC4)
        return (ssize_t)size;
    pad = size > 0 ? data[size - 1] : 0;
    return pad >= 1 && pad <= DES_BLOCK_SIZE && pad <= size ? (ssize_t)(size - pad) : -EBADMSG;
}

/* Decrypts a block in place, and appends its plain bytes. */
static int open_block(struct direction *d, uint8_t *data, size_t size, struct nm_writer *plain)
{
    uint8_t mac[MAC_BYTES], version = 0;
    int32_t number = 0;
    struct nm_bytes tail;
    ssize_t n;

    if (size < TAIL_BYTES || (d->cipher == NM_SPARK_SASL_3DES && (size - TAIL_BYTES) % DES_BLOCK_SIZE != 0))
        return -EBADMSG;
    size -= TAIL_BYTES;
    tail = (struct nm_bytes){data + size + 1, TAIL_BYTES - 1};
    (void)nm_spark_take_u8(&tail, &version);
    (void)nm_spark_take_i32(&tail, &number);
    decrypt(d, data, size);
    n = plain_size(d, data, size);
    if (n < 0 || version != VERSION || (uint32_t)number != d->n_blocks)
        return -EBADMSG;
    sign(d, (struct nm_bytes){data, (size_t)n}, mac);
    if (!memeql_sec(mac, data + size - MAC_BYTES, MAC_BYTES))
        return -EBADMSG;
    d->n_blocks++;
    nm_writer_put(plain, (struct nm_bytes){data, (size_t)n});
    return plain->failed ? -ENOMEM : 0;
}

/* Returns the size of the block that begins here, 0 if it is not known yet, or -EBADMSG. */
static int64_t size_of_block(struct nm_bytes received)
{
    int64_t size;

    if (nm_spark_take_i64(&received, &size) < 0)
        return 0;
    return size <= (int64_t)sizeof size || size > (int64_t)BLOCK_MAX ? -EBADMSG : size;
}

static int open_bytes(struct nm_spark_cipher *base, struct nm_bytes wire, struct nm_writer *plain)
{
    struct sasl_cipher *c = NM_CONTAINER_OF(base, struct sasl_cipher, base);
    struct nm_writer *w = &c->received;

    while (wire.size > 0) {
        const size_t wanted = w->size < sizeof(int64_t)
                                  ? sizeof(int64_t)
                                  : (size_t)size_of_block((struct nm_bytes){w->data, w->size});
        int64_t size;
        int r;

        nm_writer_put(w, nm_bytes_take(&wire, NM_MIN(wire.size, wanted - w->size)));
        if (w->failed)
            return -ENOMEM;
        if ((size = size_of_block((struct nm_bytes){w->data, w->size})) < 0)
            return -EBADMSG;
        if (size == 0 || w->size < (size_t)size)
            continue;
        if ((r = open_block(&c->in, w->data + sizeof size, w->size - sizeof size, plain)) < 0)
            return r;
        nm_writer_done(w);
    }
    return 0;
}

/* ---- the cipher --------------------------------------------------------------------------- */

static uint64_t memory_of(const struct nm_spark_cipher *base)
{
    return NM_CONTAINER_OF(base, const struct sasl_cipher, base)->received.room;
}

static void free_cipher(struct nm_spark_cipher *base)
{
    struct sasl_cipher *c = NM_CONTAINER_OF(base, struct sasl_cipher, base);

    nm_writer_done(&c->received);
    explicit_bzero(c, sizeof *c);
    free(c);
}

int nm_spark_sasl_cipher_new(const struct nm_spark_sasl_result *result, struct nm_spark_cipher **ret)
{
    static const struct nm_spark_cipher_ops ops = {
        .seal = seal, .open = open_bytes, .memory = memory_of, .free = free_cipher};
    struct sasl_cipher *c = calloc(1, sizeof *c);

    if (!c)
        return -ENOMEM;
    c->base.ops = &ops;
    set_direction(&c->in, result, "Digest session key to client-to-server signing key magic constant",
                  "Digest H(A1) to client-to-server sealing key magic constant");
    set_direction(&c->out, result, "Digest session key to server-to-client signing key magic constant",
                  "Digest H(A1) to server-to-client sealing key magic constant");
    *ret = &c->base;
    return 0;
}
