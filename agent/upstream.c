/* SPDX-License-Identifier: Apache-2.0 */

/* See upstream.h. */

#include "agent/upstream.h"

#include <stdlib.h>

#include "util/macros.h"

void nm_upstream_page_done(struct nm_upstream_page *p)
{
    json_decref(p->json);
    free(p->location);
    free(p->before);
    free(p->after);
    (void)nm_close(p->fd);
    *p = NM_UPSTREAM_PAGE_NULL;
}
