/* SPDX-License-Identifier: Apache-2.0 */

/* See aux-service-fixture.h. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/aux-service-fixture.h"
#include "tests/unit/remove-tree.h"
#include "util/fileio.h"

char last_message[400];

void aux_service_report(int level, const char *sentence)
{
    (void)level;
    assert_true(*sentence);
    (void)snprintf(last_message, sizeof last_message, "%s", sentence);
}

struct nm_yarn_settings *aux_service_settings(const struct fixture *w, const char *properties)
{
    struct nm_yarn_settings *s;
    struct nm_yarn_conf *c;
    char text[1600];

    (void)snprintf(text, sizeof text, "<configuration>" PROPERTY("yarn.nodemanager.local-dirs", "%s,/no/such")
                   "%s</configuration>", w->root, properties);
    assert_int_equal(nm_yarn_settings_new_conf(&c), 0);
    assert_int_equal(nm_yarn_conf_read_text(c, -EBADF, "site.xml", text, strlen(text), NULL), 0);
    assert_int_equal(nm_yarn_settings_read(c, NULL, NULL, &s, NULL), 0);
    (void)nm_yarn_conf_free(c);
    return s;
}

struct fixture *aux_service_fixture_new(const char *properties)
{
    struct fixture *w = calloc(1, sizeof *w);

    assert_non_null(w);
    (void)strcpy(w->root, "/tmp/nmd-test-yaux.XXXXXX");
    assert_non_null(mkdtemp(w->root));
    assert_int_equal(chmod(w->root, 0755), 0);
    (void)snprintf(w->state, sizeof w->state, "%s/state", w->root);
    assert_true(sd_event_new(&w->event) >= 0);
    w->user = strdup(getpwuid(geteuid())->pw_name);
    w->settings = aux_service_settings(w, properties);
    return w;
}

void aux_service_fixture_free(struct fixture *w)
{
    (void)nm_yarn_settings_free(w->settings);
    (void)sd_event_unref(w->event);
    (void)remove_tree(w->root);
    free(w->user);
    free(w);
}

pid_t find_child(void)
{
    _cleanup_closedir_ DIR *dir = opendir("/proc");
    const struct dirent *d;
    pid_t found = 0;

    while ((d = readdir(dir))) {
        char path[300], text[600];
        const char *behind;
        int parent = 0;

        (void)snprintf(path, sizeof path, "/proc/%s/stat", d->d_name);
        if (nm_read_file_at(AT_FDCWD, path, text, sizeof text, NULL) < 0 || !(behind = strrchr(text, ')')))
            continue;
        if (sscanf(behind, ") %*c %d", &parent) == 1 && parent == getpid())
            found = atoi(d->d_name);
    }
    return found;
}
