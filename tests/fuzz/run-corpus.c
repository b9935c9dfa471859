/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Runs a fuzz target on files, for make check and to reproduce a finding. Arguments are files, or directories of files.
 * Without arguments, the program fuzz-<name> uses the directory $srcdir/tests/fuzz/corpus/<name>. The program fails if
 * there is no file.
 */

#include <dirent.h>
#include <limits.h>
#include <sys/stat.h>

#include "util/macros.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Runs the target on a file. The input is in memory of exactly its size, so that a sanitizer detects a read beyond the
 * input. */
static int feed(const char *path)
{
    _cleanup_fclose_ FILE *f = fopen(path, "re");
    _cleanup_free_ uint8_t *data = NULL;
    long size;

    if (!f || fseek(f, 0, SEEK_END) < 0 || (size = ftell(f)) < 0) {
        perror(path);
        return -1;
    }
    rewind(f);
    data = malloc((size_t)size + (size == 0));
    if (!data || fread(data, 1, (size_t)size, f) != (size_t)size) {
        perror(path);
        return -1;
    }
    (void)LLVMFuzzerTestOneInput(data, (size_t)size);
    return 0;
}

static int feed_directory(const char *dir)
{
    _cleanup_closedir_ DIR *d = opendir(dir);
    struct dirent *e;
    int n = 0;

    if (!d) {
        perror(dir);
        return -1;
    }
    while ((e = readdir(d))) {
        char path[PATH_MAX];

        if (e->d_name[0] == '.')
            continue;
        if ((size_t)snprintf(path, sizeof path, "%s/%s", dir, e->d_name) >= sizeof path ||
            feed(path) < 0)
            return -1;
        n++;
    }
    return n;
}

static int is_directory(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int main(int argc, char **argv)
{
    const char *srcdir = getenv("srcdir"), *name = strrchr(argv[0], '/');
    char dir[PATH_MAX];
    int n;

    for (int i = 1; i < argc; i++)
        if (is_directory(argv[i]) ? feed_directory(argv[i]) <= 0 : feed(argv[i]) < 0)
            return 1;
    if (argc > 1)
        return 0;
    name = name ? name + 1 : argv[0];
    if (strncmp(name, "fuzz-", strlen("fuzz-")) != 0)
        return 1;
    (void)snprintf(dir, sizeof dir, "%s/tests/fuzz/corpus/%s", srcdir ? srcdir : ".",
                   name + strlen("fuzz-"));
    n = feed_directory(dir);
    printf("%s: %d inputs\n", dir, n);
    return n > 0 ? 0 : 1;
}
