/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The other end of the systemd backend's connection: a service manager that speaks the real protocol over a socket, in
 * a thread of its own (the backend's start waits for answers), and whose cgroups are directories of plain files. It
 * does what it is asked for unless it was told before to do something else, and writes down what it heard.
 * Needs cmocka.h before it.
 */

#include <stdbool.h>
#include <stdint.h>

struct fake_systemd;

/* What becomes of one call of a method. */
struct fake_answer {
    const char *method;
    const char *error;      /* the name of a D-Bus error, which says "told to" */
    bool is_silent;         /* no answer ever */
    bool hangs_up;          /* the connection breaks */
    bool obeys_first;       /* but what was asked for has been done */
    bool is_garbage;        /* an answer of another type */
    bool makes_nothing;     /* the job is done, but there is no cgroup */
    const char *job_result; /* instead of "done" */
    bool job_is_early;      /* its end is told before the answer that names it */
    bool job_is_endless;
    uint64_t takes_usec; /* the clock goes on by that much */
};

enum fake_speech {
    FAKE_SPEAKS_PRIVATELY, /* systemd's own socket */
    FAKE_SPEAKS_AS_BUS,    /* a bus on which systemd has its name */
};

/* The cgroup2 mount is root, a directory that exists; it listens at socket. */
struct fake_systemd *fake_systemd_new(const char *root, const char *socket, enum fake_speech speech);
struct fake_systemd *fake_systemd_free(struct fake_systemd *f);

/* Strings are borrowed for as long as it lives. For several calls of a method: in order. */
void fake_systemd_answer(struct fake_systemd *f, const struct fake_answer *a);
/* "252.36-1~deb12u1" at first. */
void fake_systemd_set_version(struct fake_systemd *f, const char *version);
/* An installed slice: there before anybody starts it, and not transient. */
void fake_systemd_install_slice(struct fake_systemd *f, const char *slice);
/* What Get says of jobs. */
void fake_systemd_set_job_type(struct fake_systemd *f, const char *type);

/* Signals. */
void fake_systemd_say_job(struct fake_systemd *f, const char *unit);
void fake_systemd_say_reloading(struct fake_systemd *f, bool begins);
void fake_systemd_say_owner(struct fake_systemd *f, const char *owner);
/* One of any name of the Manager's, with one string: not what it should be. */
void fake_systemd_say_nonsense(struct fake_systemd *f, const char *signal);

/* Breaks the connection, and takes no new one until it comes back. */
void fake_systemd_leave(struct fake_systemd *f);
void fake_systemd_return(struct fake_systemd *f);

/* What it heard, a line for each call: the method, the unit, and properties as " Name=value". */
bool fake_systemd_heard(struct fake_systemd *f, const char *text);
unsigned fake_systemd_count(struct fake_systemd *f, const char *text);
/* Everything that was heard until now is forgotten. */
void fake_systemd_forget(struct fake_systemd *f);

/* By how much nm_now_usec() is ahead of the time (link with --wrap=clock_gettime): deadlines of a minute needn't be
 * waited for. */
void fake_systemd_set_clock_ahead(uint64_t usec);
