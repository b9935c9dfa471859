/* SPDX-License-Identifier: Apache-2.0 */

/* A YARN setup and its undo, below a directory that stands for the root directory of the host. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fts.h>

#include "fail-nth.h"
#include "setup-root.h"
#include "setup-settings.h"

#define UNIT "/etc/systemd/system/nmd.service.d/50-yarn.conf"
#define CONFIG "/etc/nmd/nmd.conf.d/50-yarn.conf"
#define MANIFEST "/var/lib/nmd/yarn-setup"

static bool exists(const char *path)
{
    return access(in_root(path), F_OK) == 0;
}

/* Makes the host's root directory. The ResourceManager and the name node have ports on the loopback interface, at which
 * no process listens. The directory /data/old belonged to Hadoop's NodeManager. */
static int set_up(void **state)
{
    static const char *const dirs[] = {"/etc", "/etc/nmd", "/etc/hadoop", "/etc/hadoop/conf", "/etc/systemd",
                                       "/etc/systemd/system", "/data", "/opt", "/opt/java", "/opt/java/bin", "/run",
                                       "/run/systemd", "/run/systemd/system"};

    (void)state;
    make_root(dirs, NM_ARRAY_SIZE(dirs));
    make_dir("/data/old", 0775);
    put("/opt/java/release", "IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"17.0.9\"\n");
    put("/etc/hadoop/conf/hadoop-env.sh", "# export JAVA_HOME=/no\nexport JAVA_HOME=\"/opt/java\"\nJAVA_HOME=$(x)\n");
    put("/etc/hadoop/conf/yarn-site.xml",
        "<configuration>" PROPERTY("yarn.resourcemanager.resource-tracker.address", "127.0.0.1:1")
        PROPERTY("fs.defaultFS", "hdfs://127.0.0.1:8020") PROPERTY("dfs.namenode.http-address", "127.0.0.1:2")
        PROPERTY("yarn.nodemanager.local-dirs", "/data/old,/data//new/local/")
        PROPERTY("yarn.nodemanager.log-dirs", "/data/new/logs") "</configuration>");
    return 0;
}

/* ---- running a setup ------------------------------------------------------------------------ */

static int run(int (*what)(const struct nm_yarn_setup_params *, FILE *, char **), bool is_dry, char **ret_output,
               char **ret_message)
{
    struct nm_yarn_setup_params p = params(is_dry);
    unsigned kinds = fail_pause();
    size_t size;
    FILE *out = open_memstream(ret_output, &size);
    int r;

    fail_resume(kinds);
    r = what(&p, out, ret_message);
    kinds = fail_pause();
    (void)fclose(out);
    fail_resume(kinds);
    return r;
}

static void assert_run(int (*what)(const struct nm_yarn_setup_params *, FILE *, char **), bool is_dry, int wanted,
                       char **ret_output)
{
    char *printed = NULL, *message = NULL;
    int r = run(what, is_dry, &printed, &message);

    if (r != wanted)
        fail_msg("%d, not %d: %s\n%s", r, wanted, message ?: "", printed);
    free(message);
    if (ret_output)
        *ret_output = printed;
    else
        free(printed);
}

/* Replaces the words of a dry run by the words of a real run. The caller frees the result. */
static char *as_done(const char *dry)
{
    static const struct {
        const char *to_do, *done;
    } words[] = {
        {"  make    /", "  made    /"},          {"  change  /", "  changed /"},
        {"  remove   /", "  removed  /"},        {"  restore  /", "  restored /"},
        {"\nThen stop", "\nThe setup is done. Now stop"}, {"\nIf the node", "\nThe setup is undone.\n\nIf the node"},
    };
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    while (*dry) {
        size_t i = 0;

        while (i < NM_ARRAY_SIZE(words) && strncmp(dry, words[i].to_do, strlen(words[i].to_do)) != 0)
            i++;
        if (i < NM_ARRAY_SIZE(words)) {
            fputs(words[i].done, out);
            dry += strlen(words[i].to_do);
        } else {
            fputc(*dry++, out);
        }
    }
    fclose(out);
    return text;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* Returns the names of all files below the root directory, with owners, modes and contents. */
static char *list_tree(void)
{
    char *const paths[] = {root, NULL}, *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    FTS *fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, by_name);

    for (const FTSENT *e; (e = fts_read(fts));) {
        char content[8192] = "";

        if (e->fts_info == FTS_F) {
            FILE *f = fopen(e->fts_accpath, "r");
            content[fread(content, 1, sizeof content - 1, f)] = '\0';
            fclose(f);
        }
        if (e->fts_info != FTS_DP)
            fprintf(out, "%s %o %u %u %s\n", e->fts_path, e->fts_statp->st_mode, e->fts_statp->st_uid,
                    e->fts_statp->st_gid, content);
    }
    fts_close(fts);
    fclose(out);
    return text;
}

/* ---- setup and undo ------------------------------------------------------------------------- */

static void test_an_undo_restores_the_state_before_the_setup(void **state)
{
    char *before = list_tree(), *dry = NULL, *real = NULL, *after_dry, *after, *again = NULL, *done;
    struct stat st;

    (void)state;
    assert_run(nm_yarn_setup, true, 0, &dry);
    after_dry = list_tree();
    assert_string_equal(before, after_dry);
    assert_run(nm_yarn_setup, false, 0, &real);
    done = as_done(dry);
    assert_string_equal(done, real);
    free(done);
    assert_prints(dry, "  make    " UNIT);
    assert_prints(real, "  made    " UNIT);
    assert_prints(real, "  changed /data/old");
    assert_prints(real, "\nThe setup is done. Now stop Hadoop's NodeManager on this host, and run\n"
                      "  systemctl daemon-reload");
    assert_prints(real, "127.0.0.1:1 (127.0.0.1): can't be reached: no program listens on this port. Check that the ");
    assert_prints(real, "127.0.0.1:2 (127.0.0.1): can't be reached: no program listens on this port, so files of jobs");
    assert_prints(real, "Java 17.0.9: /opt/java (hadoop-env.sh)");
    assert_prints(real, "Environment=JAVA_HOME=/opt/java");
    assert_null(strstr(real, "# Written by"));
    assert_prints(real, "Decisions that you have to make");
    assert_true(exists(UNIT) && exists(CONFIG) && exists(MANIFEST) && exists("/data/new/local"));
    assert_int_equal(stat(in_root("/data/old"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0755);
    assert_int_equal(stat(in_root(UNIT), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0644);
    free(after_dry);
    after_dry = list_tree();
    assert_run(nm_yarn_setup, false, 0, &again); /* a second run of the setup changes no file */
    after = list_tree();
    assert_string_equal(after_dry, after);
    assert_prints(again, "kept    " UNIT);
    assert_null(strstr(again, "  made "));
    assert_null(strstr(again, "  make "));
    free(after);
    free(dry);
    free(real);
    assert_run(nm_yarn_setup_undo, true, 0, &dry);
    after = list_tree();
    assert_string_equal(after_dry, after);
    free(after);
    assert_run(nm_yarn_setup_undo, false, 0, &real);
    done = as_done(dry);
    assert_string_equal(done, real);
    free(done);
    assert_prints(dry, "  remove   " UNIT);
    assert_prints(real, "  removed  " UNIT);
    assert_prints(real, "If the node isn't decommissioned in the ResourceManager yet, decommission the node now, wait "
                      "until its\ncontainers have ended, and run\n  systemctl stop nmd.service\nAfter the undo, before "
                      "Hadoop's NodeManager starts, run\n  systemctl daemon-reload && systemctl restart nmd.service\n");
    after = list_tree();
    assert_string_equal(before, after);
    free(real);
    assert_run(nm_yarn_setup_undo, false, 0, &real);
    assert_prints(real, "No setup was found");
    free(before);
    free(dry);
    free(real);
    free(after_dry);
    free(after);
    free(again);
}

/* If Hadoop or Java is in another directory now, a file that an earlier setup wrote is replaced. A file that was
 * changed after that setup is not replaced. */
static void test_a_later_setup_replaces_only_unchanged_files(void **state)
{
    char *printed = NULL;

    (void)state;
    assert_run(nm_yarn_setup, false, 0, NULL);
    put("/etc/hadoop/conf/hadoop-env.sh", "");
    make_hadoop();
    assert_run(nm_yarn_setup, false, 0, &printed);
    assert_prints(printed, "changed " UNIT);
    assert_prints(printed, "Environment=HADOOP_HOME=/opt/hadoop");
    free(printed);
    put(UNIT, "[Service]\nIPAddressAllow=any\n");
    assert_run(nm_yarn_setup, false, -EEXIST, &printed);
    assert_prints(printed, "The setup is done, except for the paths that are left unchanged. Now stop");
    assert_prints(printed, "left    " UNIT ": it was changed after the setup wrote it");
    assert_prints(printed, "move the file away");
    free(printed);
    put("/data/new/local/usercache", "");
    put("/data/new/local/.nmd-id", "");
    put("/data/new/logs/.nmd-id", ""); /* an nmd has used the directory, and no logs are left */
    assert_int_equal(chmod(in_root("/data/old"), 0700), 0);
    assert_run(nm_yarn_setup_undo, false, -EEXIST, &printed);
    assert_prints(printed, "left     " UNIT ": it was changed after the setup wrote it");
    assert_prints(printed, "left     /data/new/local: it isn't empty (usercache)");
    assert_prints(printed, "left     /data/old: its owner or mode was changed");
    assert_true(exists(UNIT) && exists("/data/new/local/usercache"));
    assert_false(exists(CONFIG) || exists("/data/new/logs"));
    assert_true(exists(MANIFEST));
    assert_prints(printed, "left     /var/lib/nmd: it isn't empty (yarn-setup)");
    free(printed);

    assert_int_equal(unlink(in_root(UNIT)), 0); /* entries that were left stay in the manifest for a later undo */
    assert_int_equal(unlink(in_root("/data/new/local/usercache")), 0);
    assert_int_equal(chmod(in_root("/data/old"), 0755), 0);
    assert_run(nm_yarn_setup_undo, false, 0, &printed);
    assert_prints(printed, "removed  /data/new/local\n");
    assert_prints(printed, "restored /data/old");
    assert_null(strstr(printed, CONFIG));
    assert_false(exists(MANIFEST) || exists("/var") || exists("/data/new"));
    free(printed);
}

/* A setup that was interrupted while writing its files can be undone. */
static void test_an_interrupted_setup_can_be_undone(void **state)
{
    char *printed = NULL, *before = list_tree(), *after;

    (void)state;
    assert_run(nm_yarn_setup, false, 0, NULL);
    put("/etc/systemd/system/nmd.service.d/.50-yarn.conf.new", "[Serv");
    put("/etc/nmd/nmd.conf.d/.50-yarn.conf.new", "");
    put("/var/lib/nmd/.yarn-setup.new", "");
    assert_int_equal(unlink(in_root(CONFIG)), 0);
    assert_run(nm_yarn_setup_undo, false, 0, &printed);
    assert_prints(printed, "removed  /etc/nmd/nmd.conf.d/.50-yarn.conf.new\n");
    after = list_tree();
    assert_string_equal(before, after);
    free(printed);
    free(before);
    free(after);
}

/* An undo restores the owner of a directory. Files in it keep their owners and are reported. Only root can change the
 * owner of a directory, so the test needs root. */
static void test_an_undo_reports_files_that_keep_another_owner(void **state)
{
    char *printed = NULL;
    struct stat st;

    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(chown(in_root("/data/old"), 12345, 23456), 0);
    assert_int_equal(chmod(in_root("/data/old"), 0775), 0);
    assert_run(nm_yarn_setup, false, 0, NULL);
    make_dir("/data/old/usercache", 0755);
    make_dir("/data/old/lost+found", 0700);
    make_dir("/data/old/theirs", 0755);
    put("/data/old/.nmd-id", "");
    assert_int_equal(chown(in_root("/data/old/theirs"), 12345, 23456), 0);
    assert_run(nm_yarn_setup_undo, false, 0, &printed);
    assert_prints(printed,
                  "restored /data/old: to owner 12345:23456 and mode 0775: files of jobs in it still belong to "
                      "root (usercache): before Hadoop's NodeManager starts, run chown -R 12345:23456 /data/old, or "
                      "empty it");
    assert_int_equal(stat(in_root("/data/old"), &st), 0);
    assert_int_equal(st.st_uid, 12345);
    assert_false(exists("/data/old/.nmd-id"));
    assert_false(exists(MANIFEST));
    free(printed);
}

/* The setup doesn't write through a symlink, whatever its target. */
static void test_no_file_is_written_through_a_symlink(void **state)
{
    char *printed = NULL;

    (void)state;
    make_dir("/elsewhere", 0755);
    put("/elsewhere/file", "as it was");
    make_dir("/etc/nmd/nmd.conf.d", 0755);
    assert_int_equal(symlink(in_root("/elsewhere/file"), in_root(CONFIG)), 0);
    assert_int_equal(symlink(in_root("/elsewhere"), in_root("/etc/systemd/system/nmd.service.d")), 0);
    assert_int_equal(symlink("/elsewhere", in_root("/data/new")), 0);
    assert_run(nm_yarn_setup, false, -EEXIST, &printed);
    assert_prints(printed, "left    " CONFIG ": the path is or contains a symbolic link");
    assert_prints(printed, "left    " UNIT ": the path is or contains a symbolic link");
    assert_prints(printed, "left    /data/new/local: the path is or contains a symbolic link");
    assert_false(exists("/elsewhere/50-yarn.conf") || exists("/elsewhere/local"));
    free(printed);
    assert_run(nm_yarn_setup_undo, false, 0, NULL);
    assert_true(exists("/elsewhere/file"));
}

/* Joins the lines of each sentence into one line. */
static void unwrap(char *printed)
{
    for (char *p = printed; (p = strstr(p, "\n    "));) {
        memmove(p, p + 4, strlen(p + 4) + 1);
        *p = ' ';
    }
}

/* If other users can write to a parent directory, the advice names this parent directory. */
static void test_a_parent_directory_that_others_can_write_to_is_reported(void **state)
{
    char *printed = NULL;

    (void)state;
    make_dir("/data/new", 0777);
    assert_int_equal(chmod(in_root("/etc/systemd/system"), 0777), 0);
    assert_run(nm_yarn_setup, false, -EEXIST, &printed);
    assert_prints(printed, "  left    /data/new/local: users other than root can change /data/new, which is above it");
    unwrap(printed);
    assert_prints(printed,
                  "/data/new/local is left unchanged because users other than root can change /data/new, which "
                      "is above it (to fix this, run chown root and chmod go-w on it, unless other users need to "
                      "write there). Choose another directory in yarn-site.xml, such as /srv/nmd/local, or make root "
                      "the owner of /data/new, too.\n");
    assert_prints(printed, UNIT " is left unchanged because users other than root can change /etc/systemd/system, ");
    assert_prints(printed, "Make root the owner of /etc/systemd/system, and run this command again.\n");
    free(printed);
    assert_int_equal(chmod(in_root("/data/new"), 0755), 0); /* both parent directories have been repaired */
    assert_int_equal(chmod(in_root("/etc/systemd/system"), 0755), 0);
    assert_run(nm_yarn_setup, false, 0, NULL);
    assert_true(exists("/data/new/local") && exists(UNIT));
}

static void assert_refused(struct nm_yarn_setup_params p, const char *words)
{
    char *message = NULL, *before = list_tree(), *after;
    FILE *out = fopen("/dev/null", "w");

    assert_true(nm_yarn_setup(&p, out, &message) < 0);
    assert_non_null(message);
    assert_prints(message, words);
    after = list_tree();
    assert_string_equal(before, after);
    fclose(out);
    free(before);
    free(after);
    free(message);
}

static void test_an_invalid_setup_request_is_refused(void **state)
{
    struct nm_yarn_setup_params p = params(false);

    (void)state;
    p.conf_dir = "etc";
    assert_refused(p, "--yarn-setup 'etc': must be an absolute path");
    p.conf_dir = "/etc/hadoop/no";
    assert_refused(p, "/etc/hadoop/no: No such file");
    p = params(false);
    p.java_home = "/opt/no";
    assert_refused(p, "--java-home '/opt/no'");
    p = params(false);
    p.allow = (const char *const[]){"10.1.0.0/40", NULL};
    assert_refused(p, "--allow '10.1.0.0/40'");
    p = params(false);
    p.root = "/no/such/root";
    assert_refused(p, "--root '/no/such/root'");
    put("/etc/hadoop/conf/yarn-site.xml", "<configuration>" PROPERTY("yarn.http.policy", "HTTPS_ONLY")
        PROPERTY("yarn.nodemanager.local-dirs", "/data/../etc") "</configuration>");
    assert_refused(params(false), "yarn.http.policy = 'HTTPS_ONLY'");
    put("/etc/hadoop/conf/yarn-site.xml",
        "<configuration>" PROPERTY("yarn.nodemanager.local-dirs", "/data/../etc") "</configuration>");
    assert_refused(params(false), "'/data/../etc'");
    make_dir("/var", 0755);
    make_dir("/var/lib", 0755);
    make_dir("/var/lib/nmd", 0700);
    put(MANIFEST, "what is that");
    assert_refused(params(false), MANIFEST);
}

static void assert_java(const char *script, const char *other_script, const char *words)
{
    char *printed = NULL;

    put("/etc/hadoop/conf/hadoop-env.sh", script);
    put("/etc/hadoop/conf/yarn-env.sh", other_script);
    assert_run(nm_yarn_setup, true, 0, &printed);
    unwrap(printed);
    assert_prints(printed, words);
    free(printed);
}

/* A script that sets another JAVA_HOME than the one in use is reported. */
static void test_another_java_in_a_script_is_reported(void **state)
{
    struct nm_yarn_setup_params p = params(true);
    char *printed = NULL, *message = NULL;
    size_t size;
    FILE *out;

    (void)state;
    make_dir("/usr", 0755);
    make_dir("/usr/lib", 0755);
    make_dir("/usr/lib/jvm", 0755);
    assert_int_equal(symlink("/opt/java", in_root("/usr/lib/jvm/default")), 0);
    assert_java("export JAVA_HOME=/opt/java # x\n", "", "Java 17.0.9: /opt/java (hadoop-env.sh)");
    assert_java("", "declare -x JAVA_HOME=${JAVA_HOME:-/opt/java}\n", "Java 17.0.9: /opt/java (yarn-env.sh)");
    assert_java("JAVA_HOME=/opt/java\n", "JAVA_HOME=${JAVA_HOME:-/opt/other}\n", "/opt/java (hadoop-env.sh)");
    assert_java("JAVA_HOME=/opt/no\n", "", "hadoop-env.sh sets JAVA_HOME to '/opt/no', which has no bin/java");
    assert_java("JAVA_HOME=$J/8\n", "", "hadoop-env.sh sets JAVA_HOME in a way that nmd can't interpret");
    assert_java("JAVA_HOME=$J/8\n", "", "('JAVA_HOME=$J/8')");
    assert_java("JAVA_HOME=$J/8\n", "", "The unit gets /usr/lib/jvm/default");
    assert_java("JAVA_HOME=$J/8\n", "", "--java-home DIR");
    assert_java("HADOOP_HOME=$J/8\n", "", "hadoop-env.sh sets HADOOP_HOME in a way that nmd can't");
    assert_run(nm_yarn_setup, true, 0, &printed);
    assert_null(strstr(printed, "sets JAVA_HOME"));
    free(printed);

    put("/etc/hadoop/conf/hadoop-env.sh", "JAVA_HOME=/opt/no\n");
    p.java_home = "/opt/java"; /* an explicit option takes precedence over the scripts */
    out = open_memstream(&printed, &size);
    assert_int_equal(nm_yarn_setup(&p, out, &message), 0);
    fclose(out);
    assert_null(strstr(printed, "sets JAVA_HOME"));
    free(printed);
}

static void test_printed_commands_refer_to_the_same_setup(void **state)
{
    struct nm_yarn_setup_params p = params(true);
    char *printed = NULL, *message = NULL, words[1500], link[300];
    size_t size;
    FILE *out = open_memstream(&printed, &size);

    (void)state;
    p.config_path = "/etc/other/nmd.conf";
    p.state_dir = "/var/other";
    assert_int_equal(nm_yarn_setup(&p, out, &message), 0);
    fclose(out);
    (void)snprintf(words, sizeof words, "  nmd --yarn-setup /etc/hadoop/conf --undo --root %s --config "
                   "/etc/other/nmd.conf --state-dir /var/other\n", root);
    assert_prints(printed, words);
    (void)snprintf(words, sizeof words, "nmd --check-config --root %s --yarn-conf %s/etc/hadoop/conf --config "
                   "%s/etc/other/nmd.conf --state-dir %s/var/other &&", root, root, root, root);
    assert_prints(printed, words);
    free(printed);

    (void)snprintf(link, sizeof link, "%s it's", root); /* a path that must be quoted for a shell */
    assert_int_equal(rename(root, link), 0);
    p.root = link;
    out = open_memstream(&printed, &size);
    assert_int_equal(nm_yarn_setup(&p, out, &message), 0);
    fclose(out);
    assert_int_equal(rename(link, root), 0);
    (void)snprintf(words, sizeof words, "--undo --root '%s it'\\''s' --config", root);
    assert_prints(printed, words);
    free(printed);
}

/* Root can write to any directory, except immutable ones and those on read-only file systems. So the test runs the
 * function as another user. */
static void as_user(void (*what)(void))
{
    const bool is_root = geteuid() == 0;

    if (is_root) {
        assert_int_equal(chown(root, 12345, 12345), 0);
        assert_int_equal(seteuid(12345), 0);
    }
    what();
    if (is_root)
        assert_int_equal(seteuid(0), 0);
}

static void run_unwritable(void)
{
    char *dry = NULL, *real = NULL, *dry_message = NULL, *message = NULL;

    assert_int_equal(run(nm_yarn_setup, true, &dry, &dry_message), -EACCES);
    assert_prints(dry_message, UNIT " can't be written: Permission denied");
    assert_prints(dry_message, "can't write " MANIFEST ", the list that --undo needs");
    assert_int_equal(run(nm_yarn_setup, false, &real, &message), -EACCES);
    assert_string_equal(dry, real);
    free(dry);
    free(real);
    free(dry_message);
    free(message);
}

static void test_a_directory_without_write_permission_is_reported(void **state)
{
    (void)state;
    assert_int_equal(chmod(root, 0555), 0);
    assert_int_equal(chmod(in_root("/etc/systemd/system"), 0555), 0);
    as_user(run_unwritable);
    assert_int_equal(chmod(root, 0755), 0);
    assert_int_equal(chmod(in_root("/etc/systemd/system"), 0755), 0);
    assert_int_equal(chown(root, geteuid(), getegid()), 0);
    assert_run(nm_yarn_setup, true, 0, NULL);
}

/* ---- warnings of nmd --check-config ---------------------------------------------------------- */

static void collect(const char *text, void *userdata)
{
    fprintf(userdata, "%s\n", text);
}

static int check(FILE *out)
{
    struct nm_yarn_setup_params p = params(false);
    _cleanup_(nm_yarn_settings_freep) struct nm_yarn_settings *s = NULL;
    char *message = NULL;
    unsigned kinds = fail_pause();
    int r = nm_yarn_settings_load(in_root("/etc/hadoop/conf"), NULL, NULL, &s, &message);

    assert_int_equal(r, 0);
    fail_resume(kinds);
    p.warn = collect;
    p.userdata = out;
    return nm_yarn_setup_check(&p, s);
}

static char *checked(void)
{
    char *text = NULL, *before = list_tree(), *after;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_int_equal(check(out), 0);
    fclose(out);
    after = list_tree();
    assert_string_equal(before, after);
    free(before);
    free(after);
    return text;
}

static void assert_checked(const char *words)
{
    char *text = checked();

    assert_prints(text, words);
    free(text);
}

static void put_site(const char *local_dirs)
{
    char text[900];

    (void)snprintf(text, sizeof text,
                   "<configuration>" PROPERTY("yarn.resourcemanager.resource-tracker.address", "127.0.0.1:1")
                   PROPERTY("yarn.nodemanager.local-dirs", "%s") PROPERTY("yarn.nodemanager.log-dirs", "/data/new/logs")
                   "</configuration>", local_dirs);
    put("/etc/hadoop/conf/yarn-site.xml", text);
}

/* nmd --check-config reports each missing part of a setup. The test removes one part at a time. */
static void test_the_check_reports_each_missing_part(void **state)
{
    static const char *const parts[] = {"nmd.service", "JAVA_HOME", "HADOOP", "the directory "};
    char *text;

    (void)state;
    make_hadoop();
    put_site("/data/old,/usr/local/tmp");
    text = checked();
    assert_prints(text, "JAVA_HOME isn't set for containers");
    assert_prints(text, "Environment=HADOOP_HOME=/opt/hadoop HADOOP_COMMON_HOME=/opt/hadoop");
    assert_prints(text, "HADOOP_CONF_DIR=/etc/hadoop/conf\n");
    assert_prints(text, "can't write to the directory /usr/local/tmp: it is protected");
    assert_prints(text, "the directory /usr/local/tmp doesn't exist");
    assert_prints(text, "the directory /data/new/logs doesn't exist");
    assert_null(strstr(text, "the directory /data/new doesn't"));
    assert_null(strstr(text, "nmd.conf.d"));
    assert_prints(text, "the directory /data/old has owner");
    free(text);

    assert_run(nm_yarn_setup, false, 0, NULL);
    text = checked();
    for (size_t i = 0; i < NM_ARRAY_SIZE(parts); i++)
        if (strstr(text, parts[i]))
            fail_msg("'%s' is in\n%s", parts[i], text);
    free(text);
    put_site("/data/old,/usr/local/tmp,/usr/local/more");
    assert_checked("can't write to the directory /usr/local/more");
    assert_int_equal(rmdir(in_root("/data/new/logs")), 0);
    assert_checked("the directory /data/new/logs doesn't exist");
    put(UNIT, "[Service]\nEnvironment=JAVA_HOME=/x HADOOP_HOME=/x\nReadWritePaths=/usr/local\n");
    text = checked();
    assert_prints(text, "Environment=HADOOP_COMMON_HOME=/opt/hadoop");
    assert_null(strstr(text, "can't write"));
    free(text);
}

static int try_check(void *userdata)
{
    return check(userdata);
}

/* ---- failures ------------------------------------------------------------------------------- */

/* A setup can be undone, whatever call has failed and wherever the setup has stopped. */
static void try_setup(void *userdata)
{
    char *printed = NULL, *message = NULL, *after;
    unsigned kinds;
    int r = run(nm_yarn_setup, false, &printed, &message);

    kinds = fail_pause();
    if (r < 0 && r != -EEXIST && r != -ENOMEM)
        assert_non_null(message);
    free(printed);
    free(message);
    printed = message = NULL;
    r = run(nm_yarn_setup_undo, false, &printed, &message);
    if (r != 0)
        fail_msg("the undo failed: %d: %s\n%s", r, message ?: "", printed);
    after = list_tree();
    assert_string_equal(after, userdata);
    free(printed);
    free(message);
    free(after);
    fail_resume(kinds);
}

static void test_a_failed_setup_can_be_undone(void **state)
{
    char *before = list_tree();

    (void)state;
    assert_true(fail_each_of(FAIL_FILES | FAIL_OPEN, try_setup, before) > 30);
    free(before);
}

/* An undo that has failed can be run again. */
static void try_undo(void *userdata)
{
    unsigned kinds = fail_pause();
    char *printed = NULL, *message = NULL, *after;
    int r;

    assert_run(nm_yarn_setup, false, 0, NULL);
    fail_resume(kinds);
    (void)run(nm_yarn_setup_undo, false, &printed, &message);
    kinds = fail_pause();
    free(printed);
    free(message);
    printed = message = NULL;
    r = run(nm_yarn_setup_undo, false, &printed, &message);
    if (r != 0)
        fail_msg("the second undo failed: %d: %s\n%s", r, message ?: "", printed);
    after = list_tree();
    assert_string_equal(after, userdata);
    free(printed);
    free(message);
    free(after);
    fail_resume(kinds);
}

static void test_a_failed_undo_can_be_repeated(void **state)
{
    char *before;

    (void)state;
    make_dir("/var", 0755);
    make_dir("/var/lib", 0755);
    make_dir("/var/lib/nmd", 0700);
    before = list_tree();
    assert_true(fail_each_of(FAIL_FILES, try_undo, before) > 10);
    free(before);
}

static int try_memory(void *userdata)
{
    struct nm_yarn_setup_params p = params(true);

    return nm_yarn_setup(&p, userdata, NULL);
}

static void test_a_setup_without_memory_changes_no_file(void **state)
{
    FILE *out = fopen("/dev/null", "w");

    (void)state;
    assert_true(fail_each(try_memory, out) > 20);
    make_hadoop();
    put_site("/data/old,/usr/local/tmp");
    assert_run(nm_yarn_setup, false, 0, NULL);
    put_site("/data/old,/usr/local/tmp,/usr/local/more");
    assert_true(fail_each(try_check, out) > 20);
    fclose(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_an_undo_restores_the_state_before_the_setup, set_up, remove_root),
        cmocka_unit_test_setup_teardown(test_a_later_setup_replaces_only_unchanged_files, set_up, remove_root),
        cmocka_unit_test_setup_teardown(test_an_interrupted_setup_can_be_undone, set_up, remove_root),
        cmocka_unit_test_setup_teardown(test_an_undo_reports_files_that_keep_another_owner, set_up, remove_root),
        cmocka_unit_test_setup_teardown(test_no_file_is_written_through_a_symlink, set_up, remove_root),
        cmocka_unit_test_setup_teardown(test_a_parent_directory_that_others_can_write_to_is_reported,
                                        set_up, remove_root),
        cmocka_unit_test_setup_teardown(test_an_invalid_setup_request_is_refused, set_up, remove_root),
        cmocka_unit_test_setup_teardown(test_another_java_in_a_script_is_reported, set_up, remove_root),
        cmocka_unit_test_setup_teardown(test_printed_commands_refer_to_the_same_setup, set_up, remove_root),
        cmocka_unit_test_setup_teardown(test_a_directory_without_write_permission_is_reported, set_up, remove_root),
        cmocka_unit_test_setup_teardown(test_the_check_reports_each_missing_part, set_up, remove_root),
        cmocka_unit_test_setup_teardown(test_a_failed_setup_can_be_undone, set_up, remove_root),
        cmocka_unit_test_setup_teardown(test_a_failed_undo_can_be_repeated, set_up, remove_root),
        cmocka_unit_test_setup_teardown(test_a_setup_without_memory_changes_no_file, set_up, remove_root),
    };

    (void)umask(022);
    (void)unsetenv("JAVA_HOME");
    (void)unsetenv("HADOOP_HOME");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
