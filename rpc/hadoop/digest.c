/* SPDX-License-Identifier: Apache-2.0 */

/* See digest.h. */

#include "rpc/hadoop/digest.h"

#include <errno.h>
#include <string.h>

#include <nettle/base64.h>
#include <nettle/hmac.h>
#include <nettle/memops.h>

_Static_assert(NM_DIGEST_SIZE == SHA1_DIGEST_SIZE, "tokens are signed by HMAC-SHA1");

/* Computes the HMAC with Nettle. The HTTP server's dependencies load Nettle in any case, and its functions keep no
 * memory. With OpenSSL the first digest would permanently use nearly 3 MiB. */
int nm_digest_hmac(const uint8_t *key, size_t key_size, const uint8_t *data, size_t size,
                   uint8_t ret[NM_DIGEST_SIZE])
{
    struct hmac_sha1_ctx ctx;

    hmac_sha1_set_key(&ctx, key_size, key);
    hmac_sha1_update(&ctx, size, data);
    hmac_sha1_digest(&ctx, NM_DIGEST_SIZE, ret);
    explicit_bzero(&ctx, sizeof ctx);
    return 0;
}

void nm_digest_text(const uint8_t digest[NM_DIGEST_SIZE], char ret[NM_DIGEST_TEXT_SIZE])
{
    _Static_assert(NM_DIGEST_TEXT_SIZE == BASE64_ENCODE_RAW_LENGTH(NM_DIGEST_SIZE) + 1, "base64 of a digest");
    base64_encode_raw(ret, NM_DIGEST_SIZE, digest);
    ret[NM_DIGEST_TEXT_SIZE - 1] = '\0';
}

bool nm_digest_equal(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size)
{
    return a_size == b_size && memeql_sec(a, b, a_size);
}

int nm_digest_verify(const uint8_t *key, size_t key_size, const uint8_t *identifier, size_t identifier_size,
                     const uint8_t *password, size_t password_size)
{
    uint8_t expected[NM_DIGEST_SIZE];
    int r = nm_digest_hmac(key, key_size, identifier, identifier_size, expected);

    if (r < 0)
        return r;
    r = nm_digest_equal(expected, sizeof expected, password, password_size) ? 0 : -EKEYREJECTED;
    explicit_bzero(expected, sizeof expected);
    return r;
}
