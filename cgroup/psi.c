/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Pressure stall information: parsing its text, and setting triggers (Documentation/accounting/psi.rst).
 *
 * A trigger is written once into its own descriptor and lives as long as this descriptor. The text must include its
 * final NUL, because the kernel overwrites the last byte written.
 */

#include "cgroup/cgroup.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <sys/epoll.h>

#include "util/fileio.h"
#include "util/parse.h"

#define MIN_WINDOW_USEC (500 * NM_USEC_PER_MSEC)
#define MAX_WINDOW_USEC (10 * NM_USEC_PER_SEC)
#define UNPRIVILEGED_WINDOW_USEC (2 * NM_USEC_PER_SEC)

/* ---- parsing --------------------------------------------------------------------------------- */

/* Moves *p past word if the text continues with it. */
static bool skip(const char **p, const char *word)
{
    size_t len = strlen(word);

    if (strncmp(*p, word, len) != 0)
        return false;
    *p += len;
    return true;
}

/* Parses "12.34"; the kernel always prints two decimals. strtod() is not used because it depends on the locale. */
static bool take_percent(const char **p, double *ret)
{
    uint64_t whole;

    if (nm_parse_digits(p, &whole) < 0 || **p != '.' || !isdigit((unsigned char)(*p)[1]) ||
        !isdigit((unsigned char)(*p)[2]))
        return false;
    *ret = (double)whole + ((*p)[1] - '0') / 10.0 + ((*p)[2] - '0') / 100.0;
    *p += 3;
    return true;
}

static bool take_line(const char **p, struct nm_psi_line *ret)
{
    return skip(p, " avg10=") && take_percent(p, &ret->avg10) && skip(p, " avg60=") &&
           take_percent(p, &ret->avg60) && skip(p, " avg300=") && take_percent(p, &ret->avg300) &&
           skip(p, " total=") && nm_parse_digits(p, &ret->total_usec) == 0 && (**p == '\n' || **p == '\0');
}

int nm_psi_parse(const char *text, struct nm_psi *ret)
{
    struct nm_psi psi = {0}, unknown;
    bool some = false;

    assert(text && ret);
    for (const char *p = text; *p;) {
        struct nm_psi_line *line = &unknown.some;

        if (skip(&p, "some")) {
            line = &psi.some;
            some = true;
        } else if (skip(&p, "full")) {
            line = &psi.full;
        } else {
            p += strcspn(p, " \n");
        }
        if (!take_line(&p, line))
            return -EBADMSG;
        if (*p == '\n')
            p++;
    }
    if (!some)
        return -EBADMSG;
    *ret = psi;
    return 0;
}

int nm_psi_read(int dir_fd, const char *file, struct nm_psi *ret)
{
    char buf[512];
    int r = nm_read_file_at(dir_fd, file, buf, sizeof buf, NULL);

    if (r < 0)
        return r == -ENODEV ? -ENOENT : r;
    return nm_psi_parse(buf, ret);
}

/* ---- triggers -------------------------------------------------------------------------------- */

struct nm_psi_watch {
    int fd;
    sd_event_source *source;
    nm_psi_watch_cb_t cb;
    void *userdata;
};

static int on_pressure(sd_event_source *s, int fd, uint32_t revents, void *userdata)
{
    struct nm_psi_watch *w = userdata;

    (void)fd;
    /* EPOLLERR means that the cgroup was removed. If the source stayed enabled, it would fire forever. */
    if (revents & EPOLLERR)
        return sd_event_source_set_enabled(s, SD_EVENT_OFF);
    w->cb(w->userdata);
    return 0;
}

static int write_trigger(int fd, bool full, uint64_t stall_usec, uint64_t window_usec)
{
    char text[64];
    int len = snprintf(text, sizeof text, "%s %" PRIu64 " %" PRIu64, full ? "full" : "some",
                       stall_usec, window_usec);

    return write(fd, text, (size_t)len + 1) < 0 ? -errno : 0;
}

/* The kernel updates unprivileged triggers from a shared 2 s average (kernel 6.4) and returns EINVAL for other windows.
 * Older kernels return EPERM for every unprivileged trigger, so the second try fails like the first. */
static int arm(int fd, bool full, uint64_t stall_usec, uint64_t window_usec)
{
    uint64_t coarse = (window_usec + UNPRIVILEGED_WINDOW_USEC - 1) / UNPRIVILEGED_WINDOW_USEC *
                      UNPRIVILEGED_WINDOW_USEC;
    int r = write_trigger(fd, full, stall_usec, window_usec);

    if ((r != -EINVAL && r != -EPERM) || coarse == window_usec)
        return r;
    return write_trigger(fd, full, stall_usec * coarse / window_usec, coarse);
}

int nm_psi_watch_new(sd_event *event, int dir_fd, const char *file, bool full, uint64_t stall_usec,
                     uint64_t window_usec, nm_psi_watch_cb_t cb, void *userdata,
                     struct nm_psi_watch **ret)
{
    _cleanup_(nm_psi_watch_freep) struct nm_psi_watch *w = NULL;
    int r;

    assert(event && file && cb && ret);
    if (window_usec < MIN_WINDOW_USEC || window_usec > MAX_WINDOW_USEC || stall_usec == 0 ||
        stall_usec > window_usec)
        return -EINVAL;
    w = calloc(1, sizeof *w);
    if (!w)
        return -ENOMEM;
    w->cb = cb;
    w->userdata = userdata;
    w->fd = openat(dir_fd, file, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (w->fd < 0)
        return -errno;
    r = arm(w->fd, full, stall_usec, window_usec);
    if (r < 0)
        return r;
    r = sd_event_add_io(event, &w->source, w->fd, EPOLLPRI, on_pressure, w);
    if (r < 0)
        return r;
    (void)sd_event_source_set_description(w->source, "pressure");
    *ret = STEAL_PTR(w);
    return 0;
}

struct nm_psi_watch *nm_psi_watch_free(struct nm_psi_watch *w)
{
    if (!w)
        return NULL;
    sd_event_source_disable_unref(w->source);
    nm_close(w->fd);
    free(w);
    return NULL;
}
