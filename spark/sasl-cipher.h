/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The encryption of SASL DIGEST-MD5 with qop=auth-conf (RFC 2831, section 2.4), as Spark sends it: a sequence of
 * blocks, each
 *
 *   int64 size of the block, with these 8 bytes
 *   cipher(plain bytes, padding, first 10 bytes of their HMAC-MD5), int16 1, int32 number of the block
 *
 * The state of the cipher continues from block to block.
 */

#include "spark/cipher.h"
#include "spark/sasl.h"

/* Returns -ENOMEM if memory ran out. result->cipher must not be NM_SPARK_SASL_NONE. */
int nm_spark_sasl_cipher_new(const struct nm_spark_sasl_result *result, struct nm_spark_cipher **ret);
