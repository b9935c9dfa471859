/* SPDX-License-Identifier: Apache-2.0 */

/* See fail-nth.h. The linker wraps only the calls of nmd's own objects, so calls inside libraries never fail. */

#include "tests/unit/fail-nth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

static _Thread_local unsigned armed, left;
static _Thread_local bool failed;

void fail_nth(unsigned kinds, unsigned n)
{
    armed = kinds;
    left = n;
    failed = false;
}

bool fail_stop(void)
{
    armed = 0;
    return failed;
}

unsigned fail_pause(void)
{
    unsigned kinds = armed;

    armed = 0;
    return kinds;
}

void fail_resume(unsigned kinds)
{
    armed = kinds;
}

unsigned fail_each_of(unsigned kinds, void (*try)(void *userdata), void *userdata)
{
    for (unsigned n = 1;; n++) {
        fail_nth(kinds, n);
        try(userdata);
        if (!fail_stop())
            return n - 1;
    }
}

unsigned fail_each(int (*try)(void *userdata), void *userdata)
{
    for (unsigned n = 1;; n++) {
        int r;

        fail_nth(FAIL_MEMORY, n);
        r = try(userdata);
        if (!fail_stop()) {
            assert_int_equal(r, 0);
            return n - 1;
        }
        assert_int_equal(r, -ENOMEM);
    }
}

bool fail_here(enum fail_kind kind)
{
    if (!(armed & kind) || left == 0 || --left > 0)
        return false;
    failed = true;
    return true;
}

/* Wraps a function that returns -ENOMEM when it fails. */
#define WRAP_SD(kind, name, parameters, ...) \
    int __real_##name parameters; \
    int __wrap_##name parameters; \
    int __wrap_##name parameters \
    { \
        return fail_here(kind) ? -ENOMEM : __real_##name(__VA_ARGS__); \
    }

/* ---- memory ---------------------------------------------------------------------------------- */

#define WRAP_MEMORY(type, name, parameters, ...) \
    type __real_##name parameters; \
    type __wrap_##name parameters; \
    type __wrap_##name parameters \
    { \
        if (fail_here(FAIL_MEMORY)) { \
            errno = ENOMEM; \
            return NULL; \
        } \
        return __real_##name(__VA_ARGS__); \
    }

WRAP_MEMORY(void *, malloc, (size_t size), size)
WRAP_MEMORY(void *, calloc, (size_t n, size_t size), n, size)
WRAP_MEMORY(void *, realloc, (void *p, size_t size), p, size)
WRAP_MEMORY(void *, reallocarray, (void *p, size_t n, size_t size), p, n, size)
WRAP_MEMORY(char *, strdup, (const char *s), s)
WRAP_MEMORY(char *, strndup, (const char *s, size_t n), s, n)

int __wrap_asprintf(char **ret, const char *format, ...);
int __wrap___asprintf_chk(char **ret, int flag, const char *format, ...);

int __wrap_asprintf(char **ret, const char *format, ...)
{
    va_list ap;
    int n;

    if (fail_here(FAIL_MEMORY))
        return -1;
    va_start(ap, format);
    n = vasprintf(ret, format, ap);
    va_end(ap);
    return n;
}

/* Called instead of asprintf() where _FORTIFY_SOURCE checks formats at run time. */
int __wrap___asprintf_chk(char **ret, int flag, const char *format, ...)
{
    va_list ap;
    int n;

    (void)flag;
    if (fail_here(FAIL_MEMORY))
        return -1;
    va_start(ap, format);
    n = vasprintf(ret, format, ap);
    va_end(ap);
    return n;
}

/* ---- sd-bus ---------------------------------------------------------------------------------- */

WRAP_SD(FAIL_BUS, sd_bus_new, (sd_bus **ret), ret)
WRAP_SD(FAIL_BUS, sd_bus_set_address, (sd_bus *bus, const char *address), bus, address)
WRAP_SD(FAIL_BUS, sd_bus_start, (sd_bus *bus), bus)
WRAP_SD(FAIL_BUS, sd_bus_attach_event, (sd_bus *bus, sd_event *event, int priority), bus, event, priority)
WRAP_SD(FAIL_BUS, sd_bus_match_signal,
        (sd_bus *bus, sd_bus_slot **slot, const char *sender, const char *path, const char *interface,
         const char *member, sd_bus_message_handler_t cb, void *userdata),
        bus, slot, sender, path, interface, member, cb, userdata)
WRAP_SD(FAIL_BUS, sd_bus_match_signal_async,
        (sd_bus *bus, sd_bus_slot **slot, const char *sender, const char *path, const char *interface,
         const char *member, sd_bus_message_handler_t cb, sd_bus_message_handler_t installed, void *userdata),
        bus, slot, sender, path, interface, member, cb, installed, userdata)
WRAP_SD(FAIL_BUS, sd_bus_add_match_async,
        (sd_bus *bus, sd_bus_slot **slot, const char *match, sd_bus_message_handler_t cb,
         sd_bus_message_handler_t installed, void *userdata),
        bus, slot, match, cb, installed, userdata)
WRAP_SD(FAIL_BUS, sd_bus_message_new_method_call,
        (sd_bus *bus, sd_bus_message **ret, const char *destination, const char *path, const char *interface,
         const char *member),
        bus, ret, destination, path, interface, member)
WRAP_SD(FAIL_BUS, sd_bus_message_open_container, (sd_bus_message *m, char type, const char *contents), m, type,
        contents)
WRAP_SD(FAIL_BUS, sd_bus_message_close_container, (sd_bus_message *m), m)
WRAP_SD(FAIL_BUS, sd_bus_message_set_expect_reply, (sd_bus_message *m, int b), m, b)
WRAP_SD(FAIL_BUS, sd_bus_call_async,
        (sd_bus *bus, sd_bus_slot **slot, sd_bus_message *m, sd_bus_message_handler_t cb, void *userdata,
         uint64_t usec),
        bus, slot, m, cb, userdata, usec)
WRAP_SD(FAIL_BUS, sd_bus_send, (sd_bus *bus, sd_bus_message *m, uint64_t *cookie), bus, m, cookie)
WRAP_SD(FAIL_BUS, sd_bus_path_encode, (const char *prefix, const char *id, char **ret), prefix, id, ret)

int __wrap_sd_bus_message_append(sd_bus_message *m, const char *types, ...);

int __wrap_sd_bus_message_append(sd_bus_message *m, const char *types, ...)
{
    va_list ap;
    int r;

    if (fail_here(FAIL_BUS))
        return -ENOMEM;
    va_start(ap, types);
    r = sd_bus_message_appendv(m, types, ap);
    va_end(ap);
    return r;
}

int __wrap_sd_bus_call_method_async(sd_bus *bus, sd_bus_slot **slot, const char *destination, const char *path,
                                    const char *interface, const char *member, sd_bus_message_handler_t cb,
                                    void *userdata, const char *types, ...);

int __wrap_sd_bus_call_method_async(sd_bus *bus, sd_bus_slot **slot, const char *destination, const char *path,
                                    const char *interface, const char *member, sd_bus_message_handler_t cb,
                                    void *userdata, const char *types, ...)
{
    va_list ap;
    int r;

    if (fail_here(FAIL_BUS))
        return -ENOMEM;
    va_start(ap, types);
    r = sd_bus_call_method_asyncv(bus, slot, destination, path, interface, member, cb, userdata, types, ap);
    va_end(ap);
    return r;
}

/* ---- sd-event -------------------------------------------------------------------------------- */

WRAP_SD(FAIL_EVENT, sd_event_add_io,
        (sd_event *e, sd_event_source **s, int fd, uint32_t events, sd_event_io_handler_t cb, void *userdata), e, s, fd,
        events, cb, userdata)
WRAP_SD(FAIL_EVENT, sd_event_add_time,
        (sd_event *e, sd_event_source **s, clockid_t clock, uint64_t usec, uint64_t accuracy,
         sd_event_time_handler_t cb, void *userdata),
        e, s, clock, usec, accuracy, cb, userdata)
WRAP_SD(FAIL_EVENT, sd_event_add_time_relative,
        (sd_event *e, sd_event_source **s, clockid_t clock, uint64_t usec, uint64_t accuracy,
         sd_event_time_handler_t cb, void *userdata),
        e, s, clock, usec, accuracy, cb, userdata)
WRAP_SD(FAIL_EVENT, sd_event_add_inotify,
        (sd_event *e, sd_event_source **s, const char *path, uint32_t mask, sd_event_inotify_handler_t cb,
         void *userdata),
        e, s, path, mask, cb, userdata)
WRAP_SD(FAIL_EVENT, sd_event_add_child,
        (sd_event *e, sd_event_source **s, pid_t pid, int options, sd_event_child_handler_t cb, void *userdata), e, s,
        pid, options, cb, userdata)
WRAP_SD(FAIL_EVENT, sd_event_add_defer,
        (sd_event *e, sd_event_source **s, sd_event_handler_t cb, void *userdata), e, s, cb, userdata)

/* ---- descriptors ----------------------------------------------------------------------------- */

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __real_openat(int dir_fd, const char *path, int flags, ...);
int __wrap_openat(int dir_fd, const char *path, int flags, ...);

static mode_t mode_of(int flags, va_list ap)
{
    return flags & O_CREAT ? va_arg(ap, mode_t) : 0;
}

int __wrap_open(const char *path, int flags, ...)
{
    mode_t mode;
    va_list ap;

    if (fail_here(FAIL_OPEN)) {
        errno = EMFILE;
        return -1;
    }
    va_start(ap, flags);
    mode = mode_of(flags, ap);
    va_end(ap);
    return __real_open(path, flags, mode);
}

int __wrap_openat(int dir_fd, const char *path, int flags, ...)
{
    mode_t mode;
    va_list ap;

    if (fail_here(FAIL_OPEN)) {
        errno = EMFILE;
        return -1;
    }
    va_start(ap, flags);
    mode = mode_of(flags, ap);
    va_end(ap);
    return __real_openat(dir_fd, path, flags, mode);
}
