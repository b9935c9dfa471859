/* SPDX-License-Identifier: Apache-2.0 */

/* See facts-parts.h. Java and Hadoop are searched for in this order: the cluster's own scripts, the environment, the
 * usual directories. */

#include "yarn/setup/facts-parts.h"

#include <ctype.h>
#include <sys/stat.h>

#include "util/fileio.h"

#define JVMS "/usr/lib/jvm"
#define JVMS_MAX 256
#define SCRIPT_MAX ((size_t)256 << 10)

struct search {
    struct nm_arena *arena;
    const struct nm_setup_request *request;
    int root_fd;
    bool *no_memory; /* set to true if there was no memory; the result may then be incomplete */
};

/* Returns dir/name. NULL: no memory. */
static char *join(const struct search *s, const char *dir, const char *name)
{
    char *path;

    if (asprintf(&path, "%s/%s", dir, name) >= 0)
        return path;
    *s->no_memory = true;
    return NULL;
}

static const char *keep(const struct search *s, const char *text, size_t size)
{
    const char *copy = nm_arena_print(s->arena, "%.*s", (int)size, text);

    *s->no_memory |= !copy;
    return copy;
}

/* Returns whether the directory contains this program and all users may execute it. */
static bool has_program(const struct search *s, const char *home, const char *program)
{
    _cleanup_free_ char *bin = join(s, home, "bin"), *path = bin ? join(s, bin, program) : NULL;
    _cleanup_close_ int fd = path ? nm_open_in_root(s->root_fd, path, O_PATH) : -ENOMEM;
    struct stat st;

    return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & S_IXOTH);
}

static bool is_home(const struct search *s, const char *home, const char *program)
{
    return home && nm_setup_is_plain(home) && has_program(s, home, program);
}

/* ---- the cluster's scripts ---------------------------------------------------------------- */

struct program {
    const char *variable, *name; /* for example "JAVA_HOME" and "java" */
    const char *home, *from;
    const char *warning; /* why the scripts seem to name another directory than the result; NULL: no doubt */
};

static void take_line(const struct search *s, const char *script, const char *line, size_t size, struct program *p)
{
    const char *text = NULL;
    size_t text_size = 0;
    const enum nm_setup_line kind = nm_setup_script_line(line, size, p->variable, &text, &text_size);
    const char *value = text ? keep(s, text, text_size) : keep(s, line, size);
    char shown[200];

    if (!value || kind == NM_SETUP_LINE_OTHER || (kind == NM_SETUP_LINE_DEFAULT && p->home))
        return;
    if (kind != NM_SETUP_LINE_UNCLEAR && is_home(s, value, p->name)) {
        p->home = value;
        p->from = script;
        p->warning = NULL;
        return;
    }
    nm_yarn_conf_printable(value, shown, sizeof shown);
    p->warning = kind == NM_SETUP_LINE_UNCLEAR
                   ? nm_arena_print(s->arena, "%s sets %s in a way that nmd can't interpret ('%s')", script,
                                    p->variable, shown)
                   : nm_arena_print(s->arena, "%s sets %s to '%s', which has no bin/%s that all users can run", script,
                                    p->variable, shown, p->name);
    *s->no_memory |= !p->warning;
}

/* Reads a script. As in a shell, the last assignment to a variable counts. If an assignment doesn't name a valid
 * directory, the previous value is kept, and p->warning has the reason. */
static void read_script(const struct search *s, const char *script, struct program *p)
{
    _cleanup_free_ char *path = join(s, s->request->conf_dir, script), *text = malloc(SCRIPT_MAX);
    _cleanup_close_ int fd = path ? nm_open_in_root(s->root_fd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY) : -ENOMEM;
    size_t size;

    *s->no_memory |= !text;
    if (!text || fd < 0 || nm_pread_file(fd, text, SCRIPT_MAX, &size) < 0)
        return;
    for (const char *line = text; line < text + size; line += strcspn(line, "\n") + 1)
        take_line(s, script, line, strcspn(line, "\n"), p);
}

static void find_home(const struct search *s, struct program *p)
{
    const char *value = getenv(p->variable);

    read_script(s, "hadoop-env.sh", p);
    read_script(s, "yarn-env.sh", p); /* as in Hadoop, after hadoop-env.sh */
    if (p->home || !is_home(s, value, p->name))
        return;
    p->from = "the environment of this command";
    p->home = keep(s, value, strlen(value));
}

/* ---- Java --------------------------------------------------------------------------------- */

/* Returns the version in the file `release`, which every JVM since Java 7 has. */
static const char *version_of(const struct search *s, const char *home)
{
    static const char key[] = "JAVA_VERSION=\"";
    _cleanup_free_ char *path = join(s, home, "release");
    _cleanup_close_ int fd = path ? nm_open_in_root(s->root_fd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY) : -ENOMEM;
    char text[8192];
    const char *at;

    if (fd < 0 || nm_pread_file(fd, text, sizeof text, NULL) < 0 || !(at = strstr(text, key)))
        return NULL;
    at += strlen(key);
    return keep(s, at, NM_MIN(strspn(at, "0123456789._-+abcdefghijklmnopqrstuvwxyz"), 40u));
}

/* Returns the directory of the installed JVM with the highest version. */
static const char *last_of_jvms(const struct search *s)
{
    _cleanup_closedir_ DIR *d = NULL;
    const struct dirent *e;
    const char *best = NULL;

    if (nm_fdopendir(nm_open_in_root(s->root_fd, JVMS, O_RDONLY | O_DIRECTORY), &d) < 0)
        return NULL;
    for (unsigned n = 0; n < JVMS_MAX && (e = readdir(d)); n++) {
        const char *home = NULL;

        if (*e->d_name != '.' && !(home = nm_arena_print(s->arena, JVMS "/%s", e->d_name)))
            *s->no_memory = true;

        if (is_home(s, home, "java") && (!best || strverscmp(home, best) > 0))
            best = home;
    }
    return best;
}

static const char *usual_java(const struct search *s)
{
    static const char *const homes[] = {JVMS "/default-java", JVMS "/default", JVMS "/java", JVMS "/jre"};

    for (size_t i = 0; i < NM_ARRAY_SIZE(homes); i++)
        if (has_program(s, homes[i], "java"))
            return homes[i];
    return last_of_jvms(s);
}

static int find_java(const struct search *s, struct nm_setup_facts *f, char **ret_message)
{
    const char *reported = s->request->java_home;
    struct program p;

    if (reported && !is_home(s, reported, "java"))
        return nm_fail(ret_message, -EINVAL, "--java-home '%s': must be an absolute path of letters, digits and "
                       "characters of '/._+@-', and contain a bin/java that all users can run", reported);
    p = (struct program){.variable = "JAVA_HOME", .name = "java", .home = reported, .from = "--java-home"};
    if (!reported)
        find_home(s, &p);
    f->java_home = p.home;
    f->java_from = p.from;
    f->java_warning = p.warning;
    if (!f->java_home) {
        f->java_home = usual_java(s);
        f->java_from = "a usual location";
    }
    f->java_version = f->java_home ? version_of(s, f->java_home) : NULL;
    return 0;
}

static void find_hadoop(const struct search *s, struct nm_setup_facts *f)
{
    static const char *const homes[] = {"/usr/lib/hadoop", "/opt/hadoop", "/usr/local/hadoop"};
    struct program p = {.variable = "HADOOP_HOME", .name = "hadoop"};

    find_home(s, &p);
    f->hadoop_home = p.home;
    f->hadoop_from = p.from;
    f->hadoop_warning = p.warning;
    for (size_t i = 0; !f->hadoop_home && i < NM_ARRAY_SIZE(homes); i++)
        if (has_program(s, homes[i], "hadoop")) {
            f->hadoop_home = homes[i];
            f->hadoop_from = "a usual location";
        }
}

int nm_setup_find_programs(const struct nm_setup_request *w, struct nm_arena *a, struct nm_setup_facts *f,
                           char **ret_message)
{
    _cleanup_close_ int root_fd = RET_NERRNO(open(*w->root ? w->root : "/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    bool no_memory = false;
    const struct search s = {.arena = a, .request = w, .root_fd = root_fd, .no_memory = &no_memory};
    int r = root_fd < 0 ? root_fd : find_java(&s, f, ret_message);

    if (r == 0)
        find_hadoop(&s, f);
    return no_memory ? -ENOMEM : r;
}
