/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Signatures of tokens: the password of a token is HMAC-SHA1(key, identifier). YARN's keys have 8 bytes.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NM_DIGEST_SIZE 20

int nm_digest_hmac(const uint8_t *key, size_t key_size, const uint8_t *data, size_t size,
                   uint8_t ret[NM_DIGEST_SIZE]);

#define NM_DIGEST_TEXT_SIZE 29 /* size of a digest in base64, with the NUL */
/* Encodes a digest in base64. */
void nm_digest_text(const uint8_t digest[NM_DIGEST_SIZE], char ret[NM_DIGEST_TEXT_SIZE]);

/* Compares in constant time. Digests of different lengths are never equal. */
bool nm_digest_equal(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size);
/* Verifies that the password belongs to the identifier. Returns 0 or -EKEYREJECTED. */
int nm_digest_verify(const uint8_t *key, size_t key_size, const uint8_t *identifier, size_t identifier_size,
                     const uint8_t *password, size_t password_size);
