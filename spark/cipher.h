/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Encrypts what a connection sends, and decrypts what it receives, after the client has authenticated itself. Bytes are
 * fed in any pieces.
 */

#include "rpc/hadoop/bytes.h"
#include "rpc/hadoop/writable.h"
#include "util/macros.h"

struct nm_spark_cipher;

struct nm_spark_cipher_ops {
    int (*seal)(struct nm_spark_cipher *c, struct nm_bytes plain, struct nm_writer *wire);
    int (*open)(struct nm_spark_cipher *c, struct nm_bytes wire, struct nm_writer *plain);
    uint64_t (*memory)(const struct nm_spark_cipher *c); /* NULL: it keeps no bytes */
    void (*free)(struct nm_spark_cipher *c); /* erases the keys */
};

/* The first member of each cipher. */
struct nm_spark_cipher {
    const struct nm_spark_cipher_ops *ops;
};

/* Appends the encrypted bytes. Returns 0 or -errno. */
static inline int nm_spark_cipher_seal(struct nm_spark_cipher *c, struct nm_bytes plain, struct nm_writer *wire)
{
    return c->ops->seal(c, plain, wire);
}

/* Appends what can be decrypted after these bytes. Returns 0, or -EBADMSG if they were not encrypted with the key. */
static inline int nm_spark_cipher_open(struct nm_spark_cipher *c, struct nm_bytes wire, struct nm_writer *plain)
{
    return c->ops->open(c, wire, plain);
}

/* Returns the memory of bytes that could not be decrypted yet. c: may be NULL. */
static inline uint64_t nm_spark_cipher_memory(const struct nm_spark_cipher *c)
{
    return c && c->ops->memory ? c->ops->memory(c) : 0;
}

/* Accepts NULL. Returns NULL. */
static inline struct nm_spark_cipher *nm_spark_cipher_free(struct nm_spark_cipher *c)
{
    if (c)
        c->ops->free(c);
    return NULL;
}
NM_DEFINE_CLEANUP(struct nm_spark_cipher *, nm_spark_cipher_free)
