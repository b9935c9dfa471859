/* SPDX-License-Identifier: Apache-2.0 */

/* See frame.h. */

#include "rpc/hadoop/frame.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>

#define FIRST_ROOM 4096u

void nm_frame_init(struct nm_frame *f, size_t max, struct nm_quota_account *account)
{
    assert(!f->data && max > 0);
    *f = (struct nm_frame){.max = max, .account = account};
}

void nm_frame_drop(struct nm_frame *f)
{
    if (f->account && f->room > 0)
        nm_quota_account_give(f->account, f->room);
    free(f->data);
    *f = (struct nm_frame){.max = f->max, .account = f->account};
}

bool nm_frame_begun(const struct nm_frame *f)
{
    return f->n_head > 0;
}

/* Doubles the buffer, up to the announced size. */
static int grow(struct nm_frame *f)
{
    size_t room = NM_MIN(f->size, NM_MAX((size_t)FIRST_ROOM, 2 * f->room));
    uint8_t *data;

    if (f->account && !nm_quota_account_take(f->account, room - f->room))
        return -ENOBUFS;
    data = realloc(f->data, room);
    if (!data) {
        if (f->account)
            nm_quota_account_give(f->account, room - f->room);
        return -ENOMEM;
    }
    f->data = data;
    f->room = room;
    return 0;
}

int nm_frame_want(struct nm_frame *f, uint8_t **ret_to, size_t *ret_size)
{
    if (f->n_head < sizeof f->head) {
        *ret_to = f->head + f->n_head;
        *ret_size = sizeof f->head - f->n_head;
        return 0;
    }
    assert(f->n < f->size);
    if (f->n == f->room) {
        int r = grow(f);
        if (r < 0)
            return r;
    }
    *ret_to = f->data + f->n;
    *ret_size = f->room - f->n;
    return 0;
}

static int got_head(struct nm_frame *f)
{
    uint32_t size;

    (void)memcpy(&size, f->head, sizeof size);
    f->size = be32toh(size);
    if (f->size == 0)
        return -EBADMSG;
    return f->size > f->max ? -EMSGSIZE : 0;
}

int nm_frame_got(struct nm_frame *f, size_t n)
{
    if (f->n_head < sizeof f->head) {
        assert(n <= sizeof f->head - f->n_head);
        f->n_head += (unsigned)n;
        return f->n_head < sizeof f->head ? 0 : got_head(f);
    }
    assert(n <= f->room - f->n);
    f->n += n;
    return f->n == f->size ? NM_FRAME_E_WHOLE : 0;
}
