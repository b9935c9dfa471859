/* SPDX-License-Identifier: Apache-2.0 */

/*
 * nm-shim --list-files DIRECTORY: lists a directory on the standard output. The script that starts a container of YARN
 * calls this before the command, as the container's user (yarn/launch/script.c). One small static program replaces
 * three commands, whose start takes longer than the listing.
 *
 * The listing has the three parts of directory.info of Hadoop's NodeManager: the entries of the directory, all files
 * down to a depth of 5 with links followed, and the broken links among these. Unlike the output of ls and find, owners
 * are numbers (the shim doesn't link the name services), times are in UTC, and the number of lines is limited: the
 * resource of a container may be a directory of 100,000 files, which would delay the command.
 */

#include "shim/shim-internal.h"

#include <inttypes.h>
#include <sys/stat.h>
#include <time.h>

#include "util/fileio.h"

#define DEPTH_MAX 5
#define LINES_MAX 10000U
#define PATH_SIZE 4096

/* A directory on the way from the listed directory to the current one. */
struct level {
    const struct level *above;
    dev_t dev;
    ino_t ino;
    int depth;
};

struct listing {
    FILE *out, *broken; /* the main list, and the list of the broken links */
    unsigned n_lines;
    char path[PATH_SIZE]; /* of the current entry */
};

static void format_mode(mode_t mode, char ret[11])
{
    static const mode_t special[] = {S_ISUID, S_ISGID, S_ISVTX};
    static const char letters[] = "sst", types[] = "?pc?d?b?-?l?s???";

    ret[0] = types[(mode & S_IFMT) >> 12];
    for (int i = 0; i < 9; i++)
        ret[1 + i] = (char)(mode & (mode_t)(0400 >> i) ? "rwx"[i % 3] : '-');
    for (int i = 0; i < 3; i++)
        if (mode & special[i]) /* the letter is a capital if the file isn't executable */
            ret[3 + 3 * i] = (char)(ret[3 + 3 * i] == 'x' ? letters[i] : letters[i] - 'a' + 'A');
    ret[10] = '\0';
}

/* Prints a name with escapes for control characters, so that each entry is one line. */
static void print_name(FILE *out, const char *name)
{
    for (const unsigned char *p = (const unsigned char *)name; *p; p++)
        if (*p < ' ' || *p == 0x7f || *p == '\\')
            fprintf(out, "\\%03o", *p);
        else
            fputc(*p, out);
}

static void print_entry(FILE *out, const struct stat *st, const char *path, int dir_fd, const char *name)
{
    char mode[11], when[24], target[PATH_SIZE];
    const time_t seconds = st->st_mtime;
    struct tm tm;
    ssize_t n;

    format_mode(st->st_mode, mode);
    if (!gmtime_r(&seconds, &tm) || strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &tm) == 0)
        strcpy(when, "?");
    fprintf(out, "%9ju %8ju %s %3ju %5u %5u %12jd %s ", (uintmax_t)st->st_ino, (uintmax_t)st->st_blocks / 2, mode,
            (uintmax_t)st->st_nlink, st->st_uid, st->st_gid, (intmax_t)st->st_size, when);
    print_name(out, path);
    n = S_ISLNK(st->st_mode) ? readlinkat(dir_fd, name, target, sizeof target - 1) : -1;
    if (n >= 0) {
        target[n] = '\0';
        fputs(" -> ", out);
        print_name(out, target);
    }
    fputc('\n', out);
}

static void print_failure(FILE *out, const char *path, int error)
{
    print_name(out, path);
    fprintf(out, ": %s\n", strerror(error));
}

/* Returns the next name in a directory, without "." and "..". NULL: there are no more names, or the list is full. */
static const char *next_name(struct listing *l, DIR *d)
{
    const struct dirent *e;

    do
        e = readdir(d);
    while (e && (nm_streq(e->d_name, ".") || nm_streq(e->d_name, "..")));
    if (!e || l->n_lines > LINES_MAX)
        return NULL;
    if (l->n_lines++ == LINES_MAX) {
        fprintf(l->out, "The list ends here, after %u lines.\n", LINES_MAX);
        return NULL;
    }
    return e->d_name;
}

/* ---- the entries of the directory ------------------------------------------------------------ */

static void list_entries(struct listing *l, int fd)
{
    _cleanup_closedir_ DIR *d = NULL;
    const char *name;
    struct stat st;

    if (nm_opendir_at(fd, &d) < 0)
        return;
    while ((name = next_name(l, d)))
        if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
            print_entry(l->out, &st, name, fd, name);
}

/* ---- the files below ------------------------------------------------------------------------- */

static bool is_above(const struct level *here, const struct stat *st)
{
    for (; here; here = here->above)
        if (here->dev == st->st_dev && here->ino == st->st_ino)
            return true;
    return false;
}

static void list_below(struct listing *l, int fd, const struct level *here);

/* Lists the directory l->path, unless a link leads back to a directory above it. */
static void enter(struct listing *l, int fd, const char *name, const struct stat *st, const struct level *here)
{
    const struct level next = {here, st->st_dev, st->st_ino, here->depth + 1};
    int below;

    if (is_above(here, st)) {
        fputs("Not listed, since it is also a directory above: ", l->out);
        print_name(l->out, l->path);
        fputc('\n', l->out);
        return;
    }
    below = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (below < 0)
        print_failure(l->out, l->path, errno);
    else
        list_below(l, below, &next);
}

static void list_one(struct listing *l, int fd, const char *name, const struct level *here)
{
    struct stat st;

    if (fstatat(fd, name, &st, 0) == 0) {
        print_entry(l->out, &st, l->path, fd, name);
        if (S_ISDIR(st.st_mode) && here->depth + 1 < DEPTH_MAX)
            enter(l, fd, name, &st, here);
    } else if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
        print_entry(l->out, &st, l->path, fd, name);
        if (S_ISLNK(st.st_mode) && l->broken)
            print_entry(l->broken, &st, l->path, fd, name);
    } else {
        print_failure(l->out, l->path, errno);
    }
}

/* Lists the files below the open directory l->path. Takes fd. */
static void list_below(struct listing *l, int fd, const struct level *here)
{
    const size_t size = strlen(l->path);
    _cleanup_closedir_ DIR *d = NULL;
    const char *name;

    if (nm_fdopendir(fd, &d) < 0)
        return;
    while ((name = next_name(l, d))) {
        if (size + 1 + strlen(name) + 1 > sizeof l->path)
            continue;
        l->path[size] = '/';
        strcpy(l->path + size + 1, name);
        list_one(l, dirfd(d), name, here);
    }
    l->path[size] = '\0';
}

/* ---- the listing ----------------------------------------------------------------------------- */

/* Takes fd. */
static void list_all(struct listing *l, int fd, const struct stat *st)
{
    const struct level top = {NULL, st->st_dev, st->st_ino, 0};

    fputs("ls -l:\n", l->out);
    list_entries(l, fd);
    l->n_lines = 0;
    fputs("find -L . -maxdepth 5 -ls:\n", l->out);
    print_entry(l->out, st, l->path, fd, ".");
    list_below(l, fd, &top);
}

int nm_shim_list(const char *dir)
{
    static struct listing l;
    _cleanup_close_ int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _cleanup_free_ char *broken = NULL;
    size_t size = 0;
    struct stat st;

    l.out = stdout;
    strcpy(l.path, ".");
    if (fd < 0 || fstat(fd, &st) < 0) {
        print_failure(stderr, dir, errno);
        return EXIT_FAILURE;
    }
    l.broken = open_memstream(&broken, &size);
    list_all(&l, STEAL_FD(fd), &st);
    fputs("broken symlinks(find -L . -maxdepth 5 -type l -ls):\n", stdout);
    if (l.broken && fclose(l.broken) == 0)
        (void)fwrite(broken, 1, size, stdout);
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
