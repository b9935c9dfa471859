/* SPDX-License-Identifier: Apache-2.0 */

/* See shuffle-jobs.h. */

#include "yarn/launch/shuffle-jobs.h"

#include <dirent.h>

#include <jansson.h>

#include "util/fileio.h"
#include "util/json-text.h"
#include "util/parse.h"

#define FILE_MAX 1024
#define PREFIX "application_"

static void free_job(struct nm_yarn_shuffle_job *j)
{
    explicit_bzero(j->key, sizeof j->key);
    free(j->application);
    free(j->submitter);
    free(j);
}

static struct nm_yarn_shuffle_job *find(const struct nm_yarn_shuffle_jobs *jobs, const char *application)
{
    struct nm_yarn_shuffle_job *j;

    TAILQ_FOREACH(j, &jobs->list, link)
        if (nm_streq(j->application, application))
            return j;
    return NULL;
}

/* Checks an application's id. The id becomes the name of a file, and a part of the job's id. */
static bool is_application(const char *name)
{
    return nm_name_is_valid(name) && strncmp(name, PREFIX, strlen(PREFIX)) == 0;
}

/* Checks that a key has the format of print_hex(), because the contents of the file are sent to nm-shuffle
 * unchanged. */
static bool is_key(const struct nm_yarn_shuffle_jobs *jobs, const char *hex)
{
    size_t size = strlen(hex);

    return size % 2 == 0 && size >= 2 * jobs->key_min && size <= 2 * jobs->key_max &&
           strspn(hex, "0123456789abcdef") == size;
}

static int insert(struct nm_yarn_shuffle_jobs *jobs, const char *application, const char *submitter, uid_t uid,
                  const char *key, struct nm_yarn_shuffle_job **ret)
{
    struct nm_yarn_shuffle_job *j = calloc(1, sizeof *j);

    if (!j)
        return -ENOMEM;
    j->application = strdup(application);
    j->submitter = strdup(submitter);
    j->uid = uid;
    (void)snprintf(j->key, sizeof j->key, "%s", key);
    j->is_stored = true;
    if (!j->application || !j->submitter) {
        free_job(j);
        return -ENOMEM;
    }
    TAILQ_INSERT_TAIL(&jobs->list, j, link);
    *ret = j;
    return 0;
}

/* ---- files -------------------------------------------------------------------------------- */

static int save(const struct nm_yarn_shuffle_jobs *jobs, const struct nm_yarn_shuffle_job *j)
{
    json_t *o = json_pack("{s:s, s:I, s:s}", "submitter", j->submitter, "uid", (json_int_t)j->uid, "key", j->key);
    char *text = nm_json_text(o, JSON_COMPACT);
    int r = text ? nm_write_file_atomic_at(jobs->state_fd, j->application, text, 0600) : -ENOMEM;

    json_decref(o);
    if (text)
        explicit_bzero(text, strlen(text));
    free(text);
    return r;
}

/* Loads a job. If its file is invalid, the job is skipped: its map tasks must run again, but the node works. */
static void load_one(struct nm_yarn_shuffle_jobs *jobs, const char *name)
{
    const char *submitter = NULL, *key = NULL;
    struct nm_yarn_shuffle_job *j;
    json_int_t uid = -1;
    char text[FILE_MAX];
    json_t *o;

    if (!is_application(name) || nm_read_file_at(jobs->state_fd, name, text, sizeof text, NULL) < 0)
        return;
    o = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    explicit_bzero(text, sizeof text);
    if (json_unpack(o, "{s:s, s:I, s:s}", "submitter", &submitter, "uid", &uid, "key", &key) == 0 &&
        nm_user_name_is_valid(submitter) && uid >= 0 && uid < UINT32_MAX && is_key(jobs, key))
        (void)insert(jobs, name, submitter, (uid_t)uid, key, &j);
    json_decref(o);
}

int nm_yarn_shuffle_jobs_open(const char *state_dir, struct nm_yarn_shuffle_jobs *ret)
{
    _cleanup_closedir_ DIR *dir = NULL;
    const struct dirent *d;

    TAILQ_INIT(&ret->list);
    ret->state_fd = RET_NERRNO(open(state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (ret->state_fd < 0)
        return ret->state_fd;
    dir = opendir(state_dir);
    if (!dir) {
        int r = -errno;

        ret->state_fd = nm_close(ret->state_fd);
        return r;
    }
    while ((d = readdir(dir)))
        load_one(ret, d->d_name);
    return 0;
}

void nm_yarn_shuffle_jobs_done(struct nm_yarn_shuffle_jobs *jobs)
{
    struct nm_yarn_shuffle_job *j;

    while ((j = TAILQ_FIRST(&jobs->list))) {
        TAILQ_REMOVE(&jobs->list, j, link);
        free_job(j);
    }
    jobs->state_fd = nm_close(jobs->state_fd);
}

/* ---- jobs --------------------------------------------------------------------------------- */

static void print_hex(struct nm_bytes bytes, char *out)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < bytes.size; i++) {
        *out++ = digits[bytes.data[i] >> 4];
        *out++ = digits[bytes.data[i] & 15];
    }
    *out = '\0';
}

static bool is_same(const struct nm_yarn_shuffle_job *j, const struct nm_yarn_shuffle_grant *g, const char *hex)
{
    return nm_streq(j->submitter, g->submitter) && j->uid == g->uid && nm_streq(j->key, hex) &&
           j->is_stored == g->is_stored;
}

int nm_yarn_shuffle_jobs_add(struct nm_yarn_shuffle_jobs *jobs, const struct nm_yarn_shuffle_grant *grant,
                             const struct nm_yarn_shuffle_job **ret)
{
    struct nm_yarn_shuffle_job *former = find(jobs, grant->application), *j = former;
    char hex[2 * NM_YARN_SHUFFLE_KEY_MAX + 1];
    int r;

    if (!is_application(grant->application) || !nm_user_name_is_valid(grant->submitter) ||
        grant->key.size < jobs->key_min || grant->key.size > jobs->key_max)
        return -EBADMSG;
    print_hex(grant->key, hex);
    if (j && is_same(j, grant, hex)) {
        *ret = j;
        return 1;
    }
    r = insert(jobs, grant->application, grant->submitter, grant->uid, hex, &j);
    explicit_bzero(hex, sizeof hex);
    if (r < 0)
        return r;
    if (former) { /* an earlier attempt of the application had another key */
        TAILQ_REMOVE(&jobs->list, former, link);
        free_job(former);
    }
    j->is_stored = grant->is_stored;
    if (j->is_stored)
        (void)save(jobs, j); /* if saving fails, the job is served until nmd exits */
    else
        (void)unlinkat(jobs->state_fd, j->application, 0);
    *ret = j;
    return 0;
}

size_t nm_yarn_shuffle_jobs_count(const struct nm_yarn_shuffle_jobs *jobs)
{
    const struct nm_yarn_shuffle_job *j;
    size_t n = 0;

    TAILQ_FOREACH(j, &jobs->list, link)
        n++;
    return n;
}

int nm_yarn_shuffle_jobs_remove(struct nm_yarn_shuffle_jobs *jobs, const char *application)
{
    struct nm_yarn_shuffle_job *j = find(jobs, application);

    if (!j)
        return -ENOENT;
    (void)unlinkat(jobs->state_fd, application, 0);
    TAILQ_REMOVE(&jobs->list, j, link);
    free_job(j);
    return 0;
}

/* Formats a line for nm-shuffle. Numbers and names need no escapes, because they were checked. */
void nm_yarn_shuffle_add_line(const struct nm_yarn_shuffle_job *job, char line[static NM_YARN_SHUFFLE_LINE_SIZE])
{
    (void)snprintf(line, NM_YARN_SHUFFLE_LINE_SIZE,
                   "{\"add\": {\"job\": \"job_%s\", \"user\": \"%s\", \"uid\": %ju, \"key\": \"%s\"}}",
                   job->application + strlen(PREFIX), job->submitter, (uintmax_t)job->uid, job->key);
}

void nm_yarn_shuffle_remove_line(const char *application, char line[static NM_YARN_SHUFFLE_LINE_SIZE])
{
    (void)snprintf(line, NM_YARN_SHUFFLE_LINE_SIZE, "{\"remove\": {\"job\": \"job_%s\"}}",
                   application + strlen(PREFIX));
}
