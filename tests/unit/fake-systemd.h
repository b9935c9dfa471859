/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A service manager for tests of the systemd backend. It speaks the real protocol over a socket, in a separate thread,
 * because the backend's start waits for answers. The cgroups are directories of plain files. The service manager
 * carries out each call unless a test has set another answer, and keeps a list of the calls. Include it after cmocka.h.
 */

#include <stdbool.h>
#include <stdint.h>

struct fake_systemd;

/* The answer to one call of a method. */
struct fake_answer {
    const char *method;
    const char *error;      /* name of a D-Bus error; its message is "told to" */
    bool is_silent;         /* systemd sends no answer */
    bool hangs_up;          /* systemd closes the connection */
    bool runs_call_first;   /* systemd carries out the call before it closes the connection */
    bool is_garbage;        /* the answer has a wrong type */
    bool makes_nothing;     /* the job ends with success, but makes no cgroup */
    const char *job_result; /* NULL: "done" */
    bool job_is_early;      /* JobRemoved comes before the answer with the job */
    bool job_is_endless;
    uint64_t takes_usec; /* how much the call advances the clock */
};

enum fake_speech {
    FAKE_SPEAKS_PRIVATELY, /* the connection is to systemd's private socket */
    FAKE_SPEAKS_AS_BUS,    /* the connection is to a bus, on which systemd owns its name */
};

/* Starts a service manager that listens at `socket`. The existing directory `root` stands for the cgroup2 mount. */
struct fake_systemd *fake_systemd_new(const char *root, const char *socket, enum fake_speech speech);
struct fake_systemd *fake_systemd_free(struct fake_systemd *f);

/* Sets the answer to the next call of a method. Answers to one method are used in order. Strings must outlive f. */
void fake_systemd_answer(struct fake_systemd *f, const struct fake_answer *a);
/* Sets the version, which is "252.36-1~deb12u1" at first. */
void fake_systemd_set_version(struct fake_systemd *f, const char *version);
/* Installs a slice: the slice exists before the first StartUnit, and is not transient. */
void fake_systemd_install_slice(struct fake_systemd *f, const char *slice);
/* Sets the JobType that Get returns. */
void fake_systemd_set_job_type(struct fake_systemd *f, const char *type);

/* Send signals: JobNew, Reloading and NameOwnerChanged. */
void fake_systemd_emit_job(struct fake_systemd *f, const char *unit);
void fake_systemd_emit_reloading(struct fake_systemd *f, bool begins);
void fake_systemd_emit_owner(struct fake_systemd *f, const char *owner);
/* Sends a signal of the Manager interface with one string as its only argument, which is a wrong type. */
void fake_systemd_emit_invalid_signal(struct fake_systemd *f, const char *signal);

/* fake_systemd_disconnect() closes the connection. New connections are refused until fake_systemd_reconnect(). */
void fake_systemd_disconnect(struct fake_systemd *f);
void fake_systemd_reconnect(struct fake_systemd *f);

/* Search the list of calls. A line of the list is one call: method, unit, and properties as " Name=value". */
bool fake_systemd_was_called(struct fake_systemd *f, const char *text);
unsigned fake_systemd_count(struct fake_systemd *f, const char *text);
/* Clears the list of calls. */
void fake_systemd_clear_calls(struct fake_systemd *f);

/* Sets how far nm_now_usec() is ahead of the real time, so that tests need not wait for deadlines of a minute. Link
 * with --wrap=clock_gettime. */
void fake_systemd_set_clock_ahead(uint64_t usec);
