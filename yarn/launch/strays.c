/* SPDX-License-Identifier: Apache-2.0 */

/* See strays.h. One turn of the event loop handles one user of one local directory. */

#include "yarn/launch/strays.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <syslog.h>

#include "util/error.h"
#include "util/fileio.h"
#include "util/loop.h"
#include "util/parse.h"
#include "yarn/ids.h"

#define ENTRIES_MAX 1000u /* entries of one user that are examined in one directory */
#define PATH_SIZE 300

struct nm_yarn_strays {
    const struct nm_yarn_dirs *local;
    struct nm_yarn_cleanup_queue *queue;
    void (*report_cb)(int level, const char *sentence);
    bool (*is_known)(const char *application, void *userdata);
    void *userdata;
    sd_event_source *turn;
    unsigned *searched; /* n_opened of each directory when its last search began; 0: not searched yet */
    size_t i;           /* the directory that is searched */
    DIR *users;         /* its usercache; NULL: the search of directory i hasn't begun */
    size_t n_found;     /* in directory i */
};

static bool is_application(const char *name)
{
    struct nm_yarn_application_id id;

    return nm_yarn_application_id_parse(name, &id) >= 0;
}

/* The directory's time is about the start of the last container, so the logs are removed about as they would have
 * been. */
static void add(struct nm_yarn_strays *s, int dir_fd, const char *user, const char *application)
{
    struct stat st;

    if (fstatat(dir_fd, application, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_mtim.tv_sec < 0)
        return;
    if (nm_yarn_cleanup_queue_add_stray(s->queue, user, application,
                                        (uint64_t)st.st_mtim.tv_sec * NM_USEC_PER_SEC) == 0)
        s->n_found++;
}

static void search_user(struct nm_yarn_strays *s, int local_fd, const char *user)
{
    _cleanup_closedir_ DIR *dir = NULL;
    _cleanup_close_ int fd = -EBADF;
    const struct dirent *e;
    char path[PATH_SIZE];

    if (snprintf(path, sizeof path, "usercache/%s/appcache", user) >= (int)sizeof path)
        return;
    fd = nm_open_plain_beneath(local_fd, path, O_RDONLY | O_DIRECTORY);
    if (fd < 0 || nm_fdopendir(STEAL_FD(fd), &dir) < 0)
        return;
    for (unsigned n = 0; n < ENTRIES_MAX && (e = readdir(dir)); n++)
        if (is_application(e->d_name) && !s->is_known(e->d_name, s->userdata) &&
            !nm_yarn_cleanup_queue_will_remove(s->queue, e->d_name))
            add(s, dirfd(dir), user, e->d_name);
}

static void end_dir(struct nm_yarn_strays *s)
{
    char sentence[400];

    if (s->users)
        (void)closedir(s->users);
    s->users = NULL;
    if (s->n_found > 0 && s->report_cb) {
        (void)snprintf(sentence, sizeof sentence, "%s has files of %zu applications that this node doesn't know any "
                       "more; nmd removes them", s->local->all[s->i].name, s->n_found);
        s->report_cb(LOG_NOTICE, sentence);
    }
    s->n_found = 0;
    s->i++;
}

/* Opens usercache in the next local directory that nmd must search. Returns false if no such directory is left. */
static bool begin_dir(struct nm_yarn_strays *s)
{
    for (; s->i < s->local->n; s->i++) {
        const struct nm_yarn_dir *d = &s->local->all[s->i];
        int fd;

        if (d->fd < 0 || s->searched[s->i] == d->n_opened)
            continue;
        s->searched[s->i] = d->n_opened;
        fd = nm_open_plain_beneath(d->fd, "usercache", O_RDONLY | O_DIRECTORY);
        if (fd >= 0 && nm_fdopendir(fd, &s->users) >= 0)
            return true;
    }
    s->i = 0;
    return false;
}

/* Closes a directory that was closed for its disk, so that the disk can be unmounted. */
static int on_turn(sd_event_source *source, void *userdata)
{
    struct nm_yarn_strays *s = userdata;
    const struct dirent *e = NULL;

    if (!s->is_known || (!s->users && !begin_dir(s)))
        return 0;
    if (s->local->all[s->i].fd >= 0)
        e = readdir(s->users);
    if (e && nm_user_name_is_valid(e->d_name))
        search_user(s, s->local->all[s->i].fd, e->d_name);
    if (!e)
        end_dir(s);
    return nm_loop_schedule_work(source);
}

void nm_yarn_strays_set_known(struct nm_yarn_strays *s, bool (*is_known)(const char *application, void *userdata),
                              void *userdata)
{
    s->is_known = is_known;
    s->userdata = userdata;
}

void nm_yarn_strays_search_new(struct nm_yarn_strays *s)
{
    for (size_t i = 0; i < s->local->n; i++)
        if (s->local->all[i].fd >= 0 && s->searched[i] != s->local->all[i].n_opened)
            (void)nm_loop_schedule_work(s->turn);
}

void nm_yarn_strays_search(struct nm_yarn_strays *s)
{
    memset(s->searched, 0, s->local->n * sizeof *s->searched);
    nm_yarn_strays_search_new(s);
}

int nm_yarn_strays_new(sd_event *event, const struct nm_yarn_dirs *local, struct nm_yarn_cleanup_queue *queue,
                       void (*report_cb)(int level, const char *sentence), struct nm_yarn_strays **ret)
{
    _cleanup_(nm_yarn_strays_freep) struct nm_yarn_strays *s = calloc(1, sizeof *s);
    int r;

    if (!s)
        return -ENOMEM;
    s->local = local;
    s->queue = queue;
    s->report_cb = report_cb;
    s->searched = calloc(local->n + 1, sizeof *s->searched);
    if (!s->searched)
        return -ENOMEM;
    r = nm_loop_add_work(event, "yarn-strays", on_turn, s, &s->turn);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(s);
    return 0;
}

struct nm_yarn_strays *nm_yarn_strays_free(struct nm_yarn_strays *s)
{
    if (!s)
        return NULL;
    (void)sd_event_source_disable_unref(s->turn);
    if (s->users)
        (void)closedir(s->users);
    free(s->searched);
    free(s);
    return NULL;
}
