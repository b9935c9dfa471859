/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * For tests of yarn/launch/launcher.h: a launcher with real directories in a temporary directory of each test, and the
 * real nm-localizer. If the test runs as root, containers run as the user nobody, otherwise as the user of the test.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/run-until.h"
#include "yarn/launch/launcher.h"
#include "util/clock.h"

#define SECONDS 20
#define APPLICATION "application_1700000000000_0001"
#define CONTAINER "container_1700000000000_0001_01_000002"
#define APP_DIR "local/usercache/alice@corp$/appcache/" APPLICATION
#define WORK_DIR APP_DIR "/" CONTAINER
#define LOG_DIR "logs/" APPLICATION "/" CONTAINER

struct fixture {
    char root[40], state[50]; /* the launcher uses the name of its state directory later, too */
    int root_fd;
    sd_event *event;
    struct nm_yarn_settings *settings;
    struct nm_yarn_launcher *launcher;
    uid_t uid;
    gid_t gid;
    char *user;
    size_t service_size; /* size of an auxiliary service's metadata */
    const char *local_dir; /* local directory of containers, beneath root */
    const char *log_dir;   /* log directory of containers, beneath root */
    Yarn__LaunchContext context;
    const Yarn__LaunchContext *other; /* requests have this context instead; NULL: `context` */
    Yarn__NamedResource *resources[200];
    struct nm_arena arena;
};

/* The owner of a preparation, and the results that its callbacks got. */
struct owner {
    struct nm_yarn_preparation *p;
    unsigned ended;
    int result;
    char message[400], progress[200];
};

#define RUN_UNTIL(w, condition) RUN_UNTIL_WITHIN(w, SECONDS * NM_USEC_PER_SEC, condition)

/* Kinds of requests: nm_yarn_launcher_prepare(), nm_yarn_launcher_retain() or nm_yarn_launcher_localize(). */
enum way { MAKE, RETAIN, LINK };

/* Returns settings with directories beneath w->root and the properties `more`. */
struct nm_yarn_settings *read_settings(struct fixture *w, const char *more);

/* The last message for the log. */
extern char reported[600];
/* The text of the node's last event, and the number of its events. */
extern char last_event[600];
extern unsigned n_happened;
/* Makes the launcher with w->settings, as nmd does at its start. */
int try_start(struct fixture *w, char **ret_message);
void start(struct fixture *w, const char *more);
int set_up(void **state);
int tear_down(void **state);

/* Look at files; names are relative to w->root. */
bool exists(const struct fixture *w, const char *name);
void check_mode(const struct fixture *w, const char *name, uid_t uid, mode_t mode);
const char *text_of(const struct fixture *w, const char *name);

/* Makes a file in the directory "source", and adds a resource for it to the launch context. */
void add_file(struct fixture *w, const char *key, const char *name, const char *text, int32_t visibility);
void set_command(struct fixture *w, const char *command);
void set_variable(struct fixture *w, const char *name, const char *value);
int try_to_prepare(struct fixture *w, struct owner *o, enum way way);
void prepare_so(struct fixture *w, struct owner *o, enum way way);
void prepare(struct fixture *w, struct owner *o);
void prepare_all(struct fixture *w, struct owner *o);
void give_back(struct owner *o);

/* Runs the container's command as its user in its working directory. Returns the exit status. */
int run(struct fixture *w);
bool has_line(const char *text, const char *line);
