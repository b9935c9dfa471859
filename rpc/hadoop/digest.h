/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How tokens are signed: the password of a token is HMAC-SHA1(key, identifier's bytes). Keys of YARN have 8 bytes.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NM_DIGEST_SIZE 20

int nm_digest_hmac(const uint8_t *key, size_t key_size, const uint8_t *data, size_t size,
                   uint8_t ret[NM_DIGEST_SIZE]);

#define NM_DIGEST_TEXT_SIZE 29 /* with its NUL */
/* In base64. */
void nm_digest_text(const uint8_t digest[NM_DIGEST_SIZE], char ret[NM_DIGEST_TEXT_SIZE]);

/* Takes as long for wrong bytes as for right ones; of another length is never the same. */
bool nm_digest_equal(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size);
/* Is the password the identifier's? 0: yes; -EKEYREJECTED: no. */
int nm_digest_verify(const uint8_t *key, size_t key_size, const uint8_t *identifier, size_t identifier_size,
                     const uint8_t *password, size_t password_size);
