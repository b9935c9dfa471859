/* SPDX-License-Identifier: Apache-2.0 */

/* See loop.h. */

#include "util/loop.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "util/error.h"
#include "util/macros.h"

struct work {
    sd_event_handler_t handler;
    void *userdata;
};

static int on_ready(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
    const struct work *w = userdata;
    eventfd_t n;

    (void)revents;
    (void)eventfd_read(fd, &n); /* the handler may schedule another turn */
    return w->handler(source, w->userdata);
}

/* Adds a descriptor that is readable from a write to its next turn. With each turn, it moves behind the other pending
 * sources of its priority; see loop.h. */
int nm_loop_add_work(sd_event *event, const char *description, sd_event_handler_t handler, void *userdata,
                     sd_event_source **ret)
{
    _cleanup_(sd_event_source_disable_unrefp) sd_event_source *source = NULL;
    _cleanup_free_ struct work *w = malloc(sizeof *w);
    _cleanup_close_ int fd = RET_NERRNO(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    int r;

    assert(handler && ret);
    if (!w || fd < 0)
        return w ? fd : -ENOMEM;
    *w = (struct work){handler, userdata};
    r = sd_event_add_io(event, &source, fd, EPOLLIN, on_ready, w);
    if (r < 0)
        return r;
    (void)sd_event_source_set_destroy_callback(source, free);
    (void)STEAL_PTR(w);
    r = sd_event_source_set_io_fd_own(source, true);
    if (r < 0)
        return r;
    (void)STEAL_FD(fd);
    r = sd_event_source_set_priority(source, NM_LOOP_WORK);
    if (r >= 0)
        r = sd_event_source_set_description(source, description);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(source);
    return 0;
}

int nm_loop_schedule_work(sd_event_source *work)
{
    return RET_NERRNO(eventfd_write(sd_event_source_get_io_fd(work), 1));
}
