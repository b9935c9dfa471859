/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Files that nmd serves and carries in itself; embed.sh turns them into embedded.c. */

#include <stddef.h>

extern const unsigned char nm_embedded_openapi[];
extern const size_t nm_embedded_openapi_len;
extern const unsigned char nm_embedded_page[];
extern const size_t nm_embedded_page_len;
