/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Static files that nmd serves. embed.sh converts them to embedded.c. */

#include <stddef.h>

extern const unsigned char nm_embedded_openapi[];
extern const size_t nm_embedded_openapi_len;
extern const unsigned char nm_embedded_page[];
extern const size_t nm_embedded_page_len;
