/* SPDX-License-Identifier: Apache-2.0 */

/* See digest.h. */

#include "rpc/hadoop/digest.h"

#include <errno.h>
#include <limits.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

/* HMAC() fails where a policy forbids SHA-1 or so short a key (FIPS): then nothing can be verified. */
int nm_digest_hmac(const uint8_t *key, size_t key_size, const uint8_t *data, size_t size,
                   uint8_t ret[NM_DIGEST_SIZE])
{
    uint8_t md[EVP_MAX_MD_SIZE];
    unsigned n = 0;

    if (key_size > INT_MAX)
        return -EMSGSIZE;
    if (!HMAC(EVP_sha1(), key, (int)key_size, data, size, md, &n) || n != NM_DIGEST_SIZE)
        return -EOPNOTSUPP;
    for (unsigned i = 0; i < NM_DIGEST_SIZE; i++)
        ret[i] = md[i];
    OPENSSL_cleanse(md, sizeof md);
    return 0;
}

bool nm_digest_equal(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size)
{
    return a_size == b_size && CRYPTO_memcmp(a, b, a_size) == 0;
}

int nm_digest_verify(const uint8_t *key, size_t key_size, const uint8_t *identifier, size_t identifier_size,
                     const uint8_t *password, size_t password_size)
{
    uint8_t expected[NM_DIGEST_SIZE];
    int r = nm_digest_hmac(key, key_size, identifier, identifier_size, expected);

    if (r < 0)
        return r;
    r = nm_digest_equal(expected, sizeof expected, password, password_size) ? 0 : -EKEYREJECTED;
    OPENSSL_cleanse(expected, sizeof expected);
    return r;
}
