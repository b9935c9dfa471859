/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The cipher AES/CTR/NoPadding of spark.network.crypto.cipher: one endless stream for each direction. */

#include "spark/cipher.h"
#include "spark/engine.h"

int nm_spark_ctr_cipher_new(const struct nm_spark_engine_keys *keys, struct nm_spark_cipher **ret);
