/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Fetches resources of other schemes with a command that the administrator configures. In the words of the command,
 * "{target}" is replaced by the file to create, "{uri}" by the resource as Hadoop's shell expects it, and
 * "{encoded-uri}" by the resource's plain URI. The command runs as the container's user, in the worker's process group,
 * and is killed with this group. Usually the command is Hadoop's own client: `hadoop fs -get {uri} {target}`. If the
 * command fails, its output on standard error is used as explanation. The timestamp isn't checked, because only the
 * command could read the source's modification time.
 */

#include <assert.h>
#include <curl/curl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "localize/worker/fetch.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/inherited.h"

#define MAX_ERROR_BYTES 512
#define POLL_MSEC 250
#define MAX_FILES 64

NM_DEFINE_CLEANUP(char *, curl_free)

struct command {
    pid_t pid;
    int pidfd;
    int errors_fd; /* read end of the pipe */
    char errors[MAX_ERROR_BYTES + 1];
    size_t errors_size;
};

/* Kills the command if it is still running. */
static void command_done(struct command *c)
{
    if (c->pid > 0) {
        (void)kill(c->pid, SIGKILL);
        (void)waitpid(c->pid, NULL, 0);
        c->pid = 0;
    }
    c->pidfd = nm_close(c->pidfd);
    c->errors_fd = nm_close(c->errors_fd);
}

static void free_words(char ***words)
{
    for (char **w = *words; w && *w; w++)
        free(*w);
    free(*words);
}

/* A placeholder in a command's words, with its replacement. */
struct placeholder {
    const char *word, *text;
};

static const struct placeholder *find_placeholder(const struct placeholder *all, const char *at)
{
    for (; all->word; all++)
        if (strncmp(at, all->word, strlen(all->word)) == 0)
            return all;
    return NULL;
}

/* Replaces placeholders, which may be parts of words: "--to={target}". Makes only one pass, because a URI may contain
 * the text of a placeholder. */
static char *expand(const char *word, const struct placeholder *all)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    while (*word) {
        const struct placeholder *s = find_placeholder(all, word);

        if (s)
            (void)fputs(s->text, out);
        else
            (void)fputc(*word, out);
        word += s ? strlen(s->word) : 1;
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

static int make_words(json_t *list, const struct placeholder *all, char ***ret)
{
    _cleanup_(free_words) char **words = calloc(json_array_size(list) + 1, sizeof *words);
    json_t *word;
    size_t i;

    if (!words)
        return -ENOMEM;
    json_array_foreach(list, i, word) {
        words[i] = expand(json_string_value(word), all);
        if (!words[i])
            return -ENOMEM;
    }
    *ret = STEAL_PTR(words);
    return 0;
}

/* Makes the URI that Hadoop's shell interprets as the same file. The shell doesn't decode percent escapes in a path, so
 * they are decoded here. The shell also interprets the path as a pattern (GlobPattern), so characters with a special
 * meaning get a backslash. Scheme and authority are unchanged. -EINVAL: the decoded path contains a NUL. */
static int make_shell_uri(const char *uri, char **ret)
{
    const char *path = strchr(uri, ':') + 1;
    _cleanup_(curl_freep) char *decoded = NULL;
    char *text, *out;
    int len;

    if (strncmp(path, "//", 2) == 0)
        path += 2 + strcspn(path + 2, "/");
    decoded = curl_easy_unescape(NULL, path, 0, &len);
    text = decoded ? malloc((size_t)(path - uri) + 2 * (size_t)len + 1) : NULL;
    if (!text)
        return -ENOMEM;
    out = mempcpy(text, uri, (size_t)(path - uri));
    for (int i = 0; i < len && decoded[i]; i++) {
        if (strchr("\\*?[]{}^", decoded[i]))
            *out++ = '\\';
        *out++ = decoded[i];
    }
    *out = '\0';
    if (strlen(decoded) != (size_t)len) {
        free(text);
        return -EINVAL;
    }
    *ret = text;
    return 0;
}

/* Sets the environment that nmd configured and the user name for Hadoop, because many users may share the account. */
static int set_environment(const struct nm_work *work)
{
    const char *name;
    json_t *value;

    /* without a UTF-8 locale a JVM turns non-ASCII characters of its arguments into question marks */
    if (setenv("LC_ALL", "C.UTF-8", 1) < 0)
        return -errno;
    json_object_foreach(work->environment, name, value)
        if (setenv(name, json_string_value(value), 1) < 0)
            return -errno;
    return work->user && setenv("HADOOP_USER_NAME", work->user, 1) < 0 ? -errno : 0;
}

/* Starts the command with its own memory limit, because the worker's limit is too low. A JVM reserves memory in
 * proportion to the host's memory, even if it uses little memory. */
static int start_process(struct command *c, const struct nm_work_limits *limits, char **words,
                         const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes)
{
    const rlim_t most_bytes = limits->command_memory_bytes > 0 ? limits->command_memory_bytes : RLIM_INFINITY;
    struct rlimit ours, wide;
    int r;

    if (getrlimit(RLIMIT_DATA, &ours) < 0)
        return -errno;
    wide = (struct rlimit){.rlim_cur = NM_MIN(most_bytes, ours.rlim_max), .rlim_max = ours.rlim_max};
    if (setrlimit(RLIMIT_DATA, &wide) < 0)
        return -errno;
    r = -posix_spawnp(&c->pid, words[0], actions, attributes, words, environ);
    (void)setrlimit(RLIMIT_DATA, &ours);
    return r;
}

static int spawn(struct command *c, const struct nm_work *work, char **words)
{
    _cleanup_close_ int write_end = -EBADF;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int pair[2], r;

    if (pipe2(pair, O_CLOEXEC) < 0)
        return -errno;
    c->errors_fd = pair[0];
    write_end = pair[1];
    if (posix_spawn_file_actions_init(&actions) != 0)
        return -ENOMEM;
    if (posix_spawnattr_init(&attributes) != 0) {
        (void)posix_spawn_file_actions_destroy(&actions);
        return -ENOMEM;
    }
    r = -posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    /* the worker's standard output is used for reports to nmd */
    if (r == 0)
        r = -posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (r == 0)
        r = -posix_spawn_file_actions_adddup2(&actions, write_end, STDERR_FILENO);
    /* nm-localizer ignores SIGXFSZ and SIGPIPE; the command must not inherit this */
    if (r == 0)
        r = nm_inherited_spawn_signals(&attributes, 0);
    if (r == 0)
        r = start_process(c, &work->limits, words, &actions, &attributes);
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (r < 0) {
        c->pid = 0;
        return r;
    }
    c->pidfd = RET_NERRNO(pidfd_open(c->pid, 0));
    return c->pidfd < 0 ? c->pidfd : 0;
}

/* Reads the command's errors. Keeps the first part, because the cause precedes its consequences. Returns false at the
 * end of the output. */
static bool read_errors(struct command *c)
{
    char buf[4096];
    ssize_t n = read(c->errors_fd, buf, sizeof buf);
    size_t take = n > 0 ? NM_MIN((size_t)n, MAX_ERROR_BYTES - c->errors_size) : 0;

    memcpy(c->errors + c->errors_size, buf, take);
    c->errors_size += take;
    c->errors[c->errors_size] = '\0';
    return n > 0 || (n < 0 && errno == EINTR);
}

/* Counts the bytes of all files in the directory, because Hadoop's client writes under another name until the file is
 * complete. Only this fetch uses the directory. If a command creates thousands of files, only the first ones are
 * counted. */
static uint64_t count_bytes(int dir_fd)
{
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_closedir_ DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    uint64_t bytes = 0;
    const struct dirent *d;
    struct stat st;

    if (!dir) {
        (void)nm_close(fd);
        return 0;
    }
    for (unsigned i = 0; i < MAX_FILES && (d = readdir(dir)); i++)
        if (fstatat(dir_fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
            bytes = nm_add_u64(bytes, (uint64_t)st.st_size);
    return bytes;
}

/* Waits until the command ends, exceeds its time, or writes too much. Reports tell nmd that the worker is waiting. nmd
 * ends the worker if no byte arrives for too long. */
static int wait_for(struct command *c, struct nm_fetch *f, const struct nm_fetch_to *to, char **ret_message)
{
    struct pollfd fds[] = {{.fd = c->pidfd, .events = POLLIN}, {.fd = c->errors_fd, .events = POLLIN}};

    for (;;) {
        uint64_t bytes;

        if (poll(fds, NM_ARRAY_SIZE(fds), POLL_MSEC) < 0 && errno != EINTR)
            return -errno;
        if (fds[1].revents && !read_errors(c))
            fds[1].fd = -1;
        if (fds[0].revents)
            return 0;
        bytes = count_bytes(to->dir_fd);
        if (bytes > f->work->limits.fetch_bytes)
            return nm_fail(ret_message, -EFBIG, "the output of the fetch command is larger than allowed");
        nm_fetch_progress(f, bytes, 0);
        if (nm_now_usec() >= f->deadline_usec)
            return nm_fail(ret_message, -ETIMEDOUT, "the fetch command takes too long");
    }
}

/* Checks the exit status. For a failure, the message contains the command's own output, truncated, because this is the
 * best explanation. */
static int check_end(struct command *c, const char *name, char **ret_message)
{
    int status;

    if (waitpid(c->pid, &status, 0) < 0)
        return -errno;
    c->pid = 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    return nm_fail(ret_message, -EREMOTEIO, "the fetch command %s ended with %s %d: %s", name,
                   WIFEXITED(status) ? "status" : "signal", WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status),
                   c->errors_size > 0 ? c->errors : "it printed no reason");
}

/* Opens the command's result. The result is as untrusted as a server's data: links aren't followed, and a FIFO doesn't
 * block. */
static int open_result(const struct nm_fetch *f, const struct nm_fetch_to *to, int *ret_fd, char **ret_message)
{
    _cleanup_close_ int fd = openat(to->dir_fd, to->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return nm_fail(ret_message, -EREMOTEIO, "the fetch command succeeded, but made no file");
    if ((uint64_t)st.st_size > f->work->limits.fetch_bytes)
        return nm_fail(ret_message, -EFBIG, "the output of the fetch command is larger than allowed");
    *ret_fd = STEAL_FD(fd);
    return 0;
}

int nm_fetch_command(struct nm_fetch *f, const struct nm_work_resource *res, const struct nm_uri *uri,
                     const struct nm_fetch_to *to, int *ret_fd, char **ret_message)
{
    json_t *list = json_object_get(f->work->commands, uri->word);
    _cleanup_(command_done) struct command c = {.pidfd = -EBADF, .errors_fd = -EBADF};
    _cleanup_(free_words) char **words = NULL;
    _cleanup_free_ char *target = NULL, *shell_uri = NULL;
    int r;

    if (!list)
        return nm_fail(ret_message, -EPROTONOSUPPORT,
                       "this node can't fetch %s: URIs; it can fetch file, http, https, hdfs, webhdfs and swebhdfs, "
                       "and the schemes that have a fetch command (nmd.fetch-command.SCHEME)",
                       uri->word);
    if (asprintf(&target, "%s/%s", to->dir_path, to->name) < 0) {
        target = NULL;
        return -ENOMEM;
    }
    r = make_shell_uri(res->uri, &shell_uri);
    if (r >= 0)
        r = make_words(list, (const struct placeholder[]){{"{uri}", shell_uri}, {"{encoded-uri}", res->uri},
                                                          {"{target}", target}, {NULL, NULL}}, &words);
    if (r == -EINVAL)
        return nm_fail(ret_message, r, "the path contains a NUL");
    if (r < 0)
        return r;
    r = set_environment(f->work);
    if (r >= 0)
        r = spawn(&c, f->work, words);
    if (r < 0)
        return nm_fail(ret_message, r, "can't start the fetch command %s: %s", words[0], strerror(-r));
    r = wait_for(&c, f, to, ret_message);
    if (r >= 0)
        r = check_end(&c, words[0], ret_message);
    return r < 0 ? r : open_result(f, to, ret_fd, ret_message);
}
