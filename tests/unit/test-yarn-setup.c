/* SPDX-License-Identifier: Apache-2.0 */

/* The plans of a setup and of its undo, from facts that are made up: nothing of the host is examined. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <netdb.h>

#include "yarn/setup/plan.h"
#include "yarn/setup/reach.h"
#include "yarn/setup/script.h"
#include "yarn/setup/undo.h"
#include "yarn/setup/unit.h"
#include "util/clock.h"
#include "yarn/setup/plan.h"
#include "yarn/setup/reach.h"
#include "yarn/setup/undo.h"
#include "yarn/setup/unit.h"

#define PROPERTY(name, value) "<property><name>" name "</name><value>" value "</value></property>"
#define DIRS PROPERTY("yarn.nodemanager.local-dirs", "/data/1/yarn,/usr/local/hadoop/tmp") \
    PROPERTY("yarn.nodemanager.log-dirs", "/data/1/logs")
#define UNIT "/etc/systemd/system/nmd.service.d/50-yarn.conf"
#define CONFIG "/etc/nmd/nmd.conf.d/50-yarn.conf"
#define MANIFEST "/var/lib/nmd/yarn-setup"
#define RM_ADDRESSES 2

struct world {
    struct nm_arena arena;
    struct nm_yarn_settings *settings;
    struct nm_setup_wish wish;
    struct nm_setup_facts facts;
    struct nm_setup_plan plan;
    struct nm_setup_host hosts[2];
    struct nm_setup_spot dirs[3];
    const char *rm[RM_ADDRESSES], *nn[1], *name_servers[2], *allow[2];
};

static struct nm_yarn_settings *settings_of(const char *properties)
{
    _cleanup_(nm_yarn_conf_freep) struct nm_yarn_conf *c = NULL;
    char text[2000], *message = NULL;
    struct nm_yarn_settings *s = NULL;

    (void)snprintf(text, sizeof text, "<configuration>%s</configuration>", properties);
    assert_int_equal(nm_yarn_settings_new_conf(&c), 0);
    assert_int_equal(nm_yarn_conf_read_text(c, -EBADF, "yarn-site.xml", text, strlen(text), &message), 0);
    if (nm_yarn_settings_read(c, NULL, NULL, &s, &message) != 0)
        fail_msg("%s", message);
    return s;
}

/* A host without a setup, with nmd's directories and those of Hadoop's NodeManager. */
static void world_init(struct world *w, const char *properties)
{
    static const char *const paths[] = {"/data/1/yarn", "/usr/local/hadoop/tmp", "/data/1/logs"};

    *w = (struct world){.settings = settings_of(properties), .rm = {"10.1.2.3", "127.0.0.1"}, .nn = {"10.1.2.4"},
                        .name_servers = {"10.1.0.53", "127.0.0.53"}};
    nm_arena_init(&w->arena, 4 << 20, NULL);
    w->wish = (struct nm_setup_wish){.root = "", .conf_dir = "/etc/hadoop/conf", .config_path = CONFIG,
                                     .unit_path = UNIT, .options = " --root /r", .check_options = "", .state_dir = "/var/lib/nmd", .manifest_path = MANIFEST,
                                     .allow = w->allow};
    w->hosts[0] = (struct nm_setup_host){.role = NM_SETUP_RESOURCE_MANAGER, .name = "rm", .port = 8031,
                                         .addresses = w->rm, .n_addresses = RM_ADDRESSES};
    w->hosts[1] = (struct nm_setup_host){.role = NM_SETUP_NAME_NODE, .name = "nn", .port = 9870, .addresses = w->nn,
                                         .n_addresses = 1};
    for (size_t i = 0; i < NM_ARRAY_SIZE(paths); i++)
        w->dirs[i] = (struct nm_setup_spot){.path = paths[i]};
    w->facts = (struct nm_setup_facts){
        .hosts = w->hosts, .n_hosts = 2, .name_servers = w->name_servers, .n_name_servers = 2, .dirs = w->dirs,
        .n_dirs = 3, .node_name = "node1", .has_local_user = true, .java_home = "/opt/java", .java_from = "x",
        .hadoop_home = "/opt/hadoop", .hadoop_from = "x", .config = {.path = CONFIG}, .unit = {.path = UNIT},
        .state = {.path = "/var/lib/nmd", .kind = NM_SETUP_DIR, .mode = 0700, .is_usable = true}};
}

static void plan(struct world *w)
{
    assert_int_equal(nm_setup_plan_make(&w->wish, w->settings, &w->facts, &w->arena, &w->plan), 0);
}

static void world_done(struct world *w)
{
    nm_arena_done(&w->arena);
    nm_yarn_settings_free(w->settings);
}

static const struct nm_setup_step *step_of(const struct world *w, const char *path)
{
    for (size_t i = 0; i < w->plan.n_steps; i++)
        if (nm_streq(w->plan.steps[i].path, path))
            return &w->plan.steps[i];
    fail_msg("no step for %s", path);
    return NULL;
}

static void assert_left(const struct world *w, const char *path, const char *why)
{
    const struct nm_setup_step *s = step_of(w, path);

    assert_int_equal(s->act, NM_SETUP_LEAVE);
    if (!strstr(s->why, why))
        fail_msg("'%s' isn't about '%s'", s->why, why);
}

static bool advises(const struct world *w, const char *words)
{
    for (size_t i = 0; i < w->plan.n_advice; i++)
        if (strstr(w->plan.advice[i].text, words))
            return true;
    return false;
}

/* ---- what is written ------------------------------------------------------------------------ */

static void test_new_host(void **state)
{
    static const char text[] =
        "# Written by nmd --yarn-setup /etc/hadoop/conf, which also takes it back (--undo).\n[Service]\n"
        "# a ResourceManager: rm\nIPAddressAllow=10.1.2.3\n# a name node: nn\nIPAddressAllow=10.1.2.4\n"
        "# a name server\nIPAddressAllow=10.1.0.53\n# as --allow said\nIPAddressAllow=10.1.0.0/16\n"
        "Environment=JAVA_HOME=/opt/java\nEnvironment=HADOOP_HOME=/opt/hadoop\n"
        "Environment=HADOOP_COMMON_HOME=/opt/hadoop\nEnvironment=HADOOP_HDFS_HOME=/opt/hadoop\n"
        "Environment=HADOOP_YARN_HOME=/opt/hadoop\nEnvironment=HADOOP_CONF_DIR=/etc/hadoop/conf\n"
        "ReadWritePaths=-/usr/local/hadoop/tmp\n";
    const char *const missing[] = {"/data", "/data/1"}, *const no_tmp[] = {"/tmp"};
    struct world w;

    (void)state;
    world_init(&w, DIRS);
    w.allow[0] = "10.1.0.0/16";
    w.dirs[0].missing = w.dirs[2].missing = (const char **)(uintptr_t)missing;
    w.dirs[0].n_missing = w.dirs[2].n_missing = 2;
    plan(&w);
    assert_string_equal(step_of(&w, UNIT)->text, text);
    assert_non_null(strstr(step_of(&w, CONFIG)->text, "[yarn]\nenabled = yes\nconf-dir = /etc/hadoop/conf\n"));
    assert_int_equal(w.plan.n_steps, 7); /* /data and /data/1 once, three directories, two files */
    assert_int_equal(w.plan.n_changes, 7);
    assert_string_equal(w.plan.steps[0].path, "/data");
    assert_string_equal(w.plan.steps[1].path, "/data/1");
    for (size_t i = 0; i < w.plan.n_steps; i++)
        assert_int_equal(w.plan.steps[i].act, NM_SETUP_MAKE);
    assert_string_equal(w.plan.steps[6].path, CONFIG); /* the last: only then is nmd a node */
    w.dirs[1] = (struct nm_setup_spot){.path = "/tmp/local", .missing = (const char **)(uintptr_t)no_tmp,
                                       .n_missing = 1};
    plan(&w);
    assert_int_equal(step_of(&w, "/tmp")->mode, 01777);
    assert_int_equal(step_of(&w, "/tmp/local")->mode, 0755);
    world_done(&w);
}

static void be_file(struct world *w, struct nm_setup_spot *spot, const char *text)
{
    spot->kind = NM_SETUP_FILE;
    spot->sha256 = nm_setup_sum(&w->arena, text, strlen(text));
}

static void note(struct world *w, struct nm_setup_entry *entries, size_t n)
{
    w->facts.manifest = (struct nm_setup_manifest){.conf_dir = "/etc/hadoop/conf", .entries = entries, .n = n};
}

/* A right file is kept, an older one of ours is replaced, and one of somebody else stays. */
static void test_files_that_are_there(void **state)
{
    struct nm_setup_entry e = {.kind = NM_SETUP_WROTE_FILE, .path = UNIT};
    struct world w;

    (void)state;
    world_init(&w, DIRS);
    be_file(&w, &w.facts.unit, nm_setup_unit_text(&w.wish, w.settings, &w.facts, &w.arena));
    be_file(&w, &w.facts.config, nm_setup_config_text(&w.wish, &w.arena));
    for (size_t i = 0; i < 3; i++)
        w.dirs[i].kind = NM_SETUP_DIR, w.dirs[i].is_usable = true;
    plan(&w);
    assert_int_equal(w.plan.n_changes + w.plan.n_left, 0);
    assert_int_equal(w.plan.n_steps, 5);

    be_file(&w, &w.facts.unit, "of an earlier setup");
    plan(&w);
    assert_left(&w, UNIT, "somebody else's");
    e.sums[0] = w.facts.unit.sha256;
    note(&w, &e, 1);
    plan(&w);
    assert_int_equal(step_of(&w, UNIT)->act, NM_SETUP_CHANGE);
    be_file(&w, &w.facts.unit, "and changed by hand");
    plan(&w);
    assert_left(&w, UNIT, "changed it since");
    assert_int_equal(w.plan.n_left, 1);
    w.facts.unit.kind = NM_SETUP_LINK;
    plan(&w);
    assert_left(&w, UNIT, "symbolic link");
    w.facts.unit = (struct nm_setup_spot){.path = UNIT, .weak = (const char *[]){"/etc/systemd"}, .n_weak = 1};
    plan(&w);
    assert_left(&w, UNIT, "others than root can change /etc/systemd");
    world_done(&w);
}

static void test_directories_that_are_there(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, DIRS);
    w.dirs[0] = (struct nm_setup_spot){.path = "/data/1/yarn", .kind = NM_SETUP_DIR, .uid = 107, .gid = 110,
                                       .mode = 0775};
    w.dirs[1].weak = (const char *[]){"/usr/local/hadoop"};
    w.dirs[1].n_weak = 1;
    w.dirs[2] = (struct nm_setup_spot){.path = "/data/1/logs", .kind = NM_SETUP_LINK, .is_usable = true};
    plan(&w);
    assert_int_equal(step_of(&w, "/data/1/yarn")->act, NM_SETUP_CHANGE);
    assert_int_equal(step_of(&w, "/data/1/yarn")->old_uid, 107);
    assert_int_equal(step_of(&w, "/data/1/yarn")->mode, 0755);
    assert_left(&w, "/usr/local/hadoop/tmp", "others than root can change /usr/local/hadoop");
    assert_int_equal(step_of(&w, "/data/1/logs")->act, NM_SETUP_KEEP);
    w.dirs[2].is_usable = false;
    w.dirs[1] = (struct nm_setup_spot){.path = "/data/1/logs/file", .kind = NM_SETUP_FILE};
    plan(&w);
    assert_left(&w, "/data/1/logs", "symbolic link");
    assert_left(&w, "/data/1/logs/file", "it is a file");
    world_done(&w);
}

/* What the plan mends is no obstacle to what comes after it, in whatever order the cluster's files have them. */
static void test_directories_below_others(void **state)
{
    const char *const way[] = {"/data/1"}, *const other_way[] = {"/data/1", "/data/1/x"};
    struct world w;

    (void)state;
    world_init(&w, DIRS);
    w.dirs[0] = (struct nm_setup_spot){.path = "/data/1/logs", .weak = (const char **)(uintptr_t)way, .n_weak = 1};
    w.dirs[1] = (struct nm_setup_spot){.path = "/data/1/own", .kind = NM_SETUP_DIR, .is_private = true,
                                       .weak = (const char **)(uintptr_t)way, .n_weak = 1};
    w.dirs[2] = (struct nm_setup_spot){.path = "/data/1", .kind = NM_SETUP_DIR, .uid = 107, .mode = 0755};
    plan(&w);
    assert_int_equal(w.plan.n_left, 0);
    assert_int_equal(step_of(&w, "/data/1")->act, NM_SETUP_CHANGE);
    assert_int_equal(step_of(&w, "/data/1/logs")->act, NM_SETUP_MAKE);
    assert_true(step_of(&w, "/data/1") < step_of(&w, "/data/1/logs"));
    assert_int_equal(step_of(&w, "/data/1/own")->act, NM_SETUP_KEEP);
    w.dirs[0].weak = (const char **)(uintptr_t)other_way;
    w.dirs[0].n_weak = 2;
    plan(&w);
    assert_left(&w, "/data/1/logs", "others than root can change /data/1/x");
    world_done(&w);
}

static void test_tidy(void **state)
{
    static const char *const paths[][2] = {
        {"/", "/"},       {"//", "/"},          {"/.", "/"},           {"/a", "/a"},   {"/a/", "/a"},
        {"//a///b//", "/a/b"}, {"/./a/././b/.", "/a/b"}, {"/.a/b./.../c", "/.a/b./.../c"}, {"/a/../b", "/a/../b"},
        {"a/b/", "a/b"},  {"./a", "./a"},       {"", ""},
    };
    struct nm_arena a;

    (void)state;
    nm_arena_init(&a, 1 << 16, NULL);
    for (size_t i = 0; i < NM_ARRAY_SIZE(paths); i++)
        assert_string_equal(nm_setup_tidy(&a, paths[i][0]), paths[i][1]);
    assert_false(nm_setup_is_plain("/a/../b"));
    assert_false(nm_setup_is_plain("/a/.."));
    assert_true(nm_setup_is_plain("/a/..b/.../c"));
    assert_false(nm_setup_is_plain("/"));
    assert_false(nm_setup_is_plain("./a"));
    assert_false(nm_setup_is_plain(""));
    nm_arena_done(&a);
}

/* A mistake in yarn-site.xml must not change the owner of a directory that others use. */
static void test_shared_directories(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, DIRS);
    w.dirs[0] = (struct nm_setup_spot){.path = "/var/tmp", .kind = NM_SETUP_DIR, .mode = 01777};
    w.dirs[1] = (struct nm_setup_spot){.path = "/home/bob", .kind = NM_SETUP_DIR, .uid = 1000, .mode = 0755};
    w.dirs[2] = (struct nm_setup_spot){.path = "/srv", .kind = NM_SETUP_DIR, .uid = 1000, .mode = 0755};
    plan(&w);
    assert_left(&w, "/var/tmp", "all users");
    assert_left(&w, "/home/bob", "home");
    assert_left(&w, "/srv", "directly below the root");
    world_done(&w);
}

/* ---- what is said --------------------------------------------------------------------------- */

static void test_advice(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, DIRS);
    w.facts.network = "10.1.0.0/16";
    w.facts.interface = "eth0";
    w.facts.java_home = w.facts.hadoop_home = NULL;
    w.facts.has_local_user = false;
    w.hosts[0].name = "0.0.0.0";
    w.hosts[1].n_addresses = 0;
    w.hosts[1].unresolved = EAI_NONAME;
    w.dirs[0].path = "/tmp/hadoop-root/nm-local-dir";
    plan(&w);
    assert_true(advises(&w, "eth0, which the ResourceManager is in, is --allow 10.1.0.0/16"));
    assert_true(advises(&w, "limit-users is true: all containers run as nobody"));
    assert_true(advises(&w, "The user nobody"));
    assert_true(advises(&w, "max-queue-length is 0"));
    assert_true(advises(&w, "use-pause-for-preemption is false"));
    assert_true(advises(&w, "TCP port 8042 (pages)"));
    assert_true(advises(&w, "no mapreduce_shuffle"));
    assert_true(advises(&w, "recovery.supervised"));
    assert_true(advises(&w, "a fixed one"));
    assert_true(advises(&w, "the name node1"));
    assert_true(advises(&w, "No Java"));
    assert_true(advises(&w, "name it with nmd --yarn-setup /etc/hadoop/conf --root /r --java-home DIR"));
    assert_true(advises(&w, "run nmd --yarn-setup /etc/hadoop/conf --root /r again"));
    assert_true(advises(&w, "Run nmd --yarn-setup /etc/hadoop/conf --root /r --allow ADDRESS/BITS with"));
    assert_true(advises(&w, "No Hadoop"));
    assert_true(advises(&w, "nn can't be resolved"));
    assert_true(advises(&w, "yarn.resourcemanager.hostname isn't set"));
    assert_true(advises(&w, "/tmp/hadoop-root/nm-local-dir: files there are removed"));
    assert_null(strstr(step_of(&w, UNIT)->text, "JAVA_HOME"));
    world_done(&w);
}

static void test_nothing_to_advise(void **state)
{
    struct world w;

    (void)state;
    world_init(&w, DIRS PROPERTY("yarn.nodemanager.linux-container-executor.nonsecure-mode.limit-users", "false")
                       PROPERTY("yarn.nodemanager.opportunistic-containers-max-queue-length", "10")
                       PROPERTY("yarn.nodemanager.opportunistic-containers-use-pause-for-preemption", "true")
                       PROPERTY("yarn.nodemanager.recovery.enabled", "true")
                       PROPERTY("yarn.nodemanager.recovery.supervised", "true")
                       PROPERTY("yarn.nodemanager.aux-services", "mapreduce_shuffle")
                       PROPERTY("yarn.nodemanager.address", "node1:45454"));
    w.allow[0] = "10.1.0.0/16";
    w.settings->executor_rules.file = strdup("/etc/hadoop/conf/container-executor.cfg");
    w.settings->executor_rules.min_uid = 500;
    plan(&w);
    for (size_t i = 0; i < w.plan.n_advice; i++)
        assert_int_equal(w.plan.advice[i].subject, NM_SETUP_REMINDER);
    assert_true(advises(&w, "uid below 500"));
    assert_true(advises(&w, "45454 (yarn.nodemanager.address), 8042 (pages), 13562 (shuffle)"));
    world_done(&w);
}

/* ---- the cluster's scripts ------------------------------------------------------------------ */

static void assert_line(const char *line, enum nm_setup_line kind, const char *value)
{
    const char *found = "";
    size_t size = 0;
    const enum nm_setup_line r = nm_setup_script_line(line, strlen(line), "JAVA_HOME", &found, &size);

    if (r != kind || (value && (size != strlen(value) || memcmp(found, value, size) != 0)))
        fail_msg("'%s': %d, '%.*s'", line, (int)r, (int)size, found);
}

static void test_script_lines(void **state)
{
    static const char *const values[] = {
        "JAVA_HOME=/opt/jdk8", "export JAVA_HOME=/opt/jdk8", "  export \t JAVA_HOME=\"/opt/jdk8\"  ",
        "export JAVA_HOME='/opt/jdk8'", "export JAVA_HOME=/opt/jdk8  # the cluster needs 8",
        "export JAVA_HOME=\"/opt/jdk8\" # it's", "export JAVA_HOME=/opt/jdk8;", "JAVA_HOME=/opt/jdk8; export JAVA_HOME",
        "JAVA_HOME=/opt/jdk8 && export JAVA_HOME", "declare -x JAVA_HOME=/opt/jdk8", "typeset -g -x JAVA_HOME=/opt/jdk8",
        "readonly JAVA_HOME=/opt/jdk8", "export JAVA_HOME=/opt/jdk8 OTHER=x", "export JAVA_HOME=/opt/jdk8\r",
    };
    static const char *const defaults[] = {
        "export JAVA_HOME=${JAVA_HOME:-/opt/jdk8}", "JAVA_HOME=\"${JAVA_HOME-/opt/jdk8}\" # x",
        "export JAVA_HOME=${JAVA_HOME:=/opt/jdk8};",
    };
    static const char *const unclear[] = {
        "JAVA_HOME=$(x)", "JAVA_HOME=`x`", "export JAVA_HOME=$J/jdk8", "J=/opt; export JAVA_HOME=$J/jdk8",
        "if true; then export JAVA_HOME=/opt/jdk8; fi", "[ -d /opt/jdk8 ] && JAVA_HOME=/opt/jdk8",
        "export JAVA_HOME=/opt/jdk8; export JAVA_HOME=/opt/jdk9", "export JAVA_HOME=\"/opt/jdk8", "JAVA_HOME=/x java",
        "export JAVA_HOME=${OTHER:-/opt/jdk8}", "export JAVA_HOME=${JAVA_HOME:-$(x)}", "export JAVA_HOME=/opt/my\\ jdk",
        "export JAVA_HOME=${JAVA_HOME%/}", "export JAVA_HOME=/opt/jdk8\"/\"", "export A=b JAVA_HOME=/opt/jdk8",
        "export JAVA_HOME=$", "export JAVA_HOME=${",
    };
    static const char *const others[] = {
        "", "export", "# export JAVA_HOME=/opt/jdk8", "export JAVA_HOME=${JAVA_HOME}", "export JAVA_HOME=$JAVA_HOME",
        "export JAVA_HOME=\"${JAVA_HOME}\"", "export JAVA_HOME", "export JAVA_HOME=", "export MY_JAVA_HOME=/opt/jdk8",
        "export JAVA_HOMES=/opt/jdk8", "exportJAVA_HOME=/opt/jdk8", "x # JAVA_HOME=/opt/jdk8", "echo \"$JAVA_HOME\"",
        "export OPTS=-DJAVA_HOME=/x", "export JAVA_HOME=${JAVA_HOME:-}",
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(values); i++)
        assert_line(values[i], NM_SETUP_LINE_VALUE, "/opt/jdk8");
    for (size_t i = 0; i < NM_ARRAY_SIZE(defaults); i++)
        assert_line(defaults[i], NM_SETUP_LINE_DEFAULT, "/opt/jdk8");
    for (size_t i = 0; i < NM_ARRAY_SIZE(unclear); i++)
        assert_line(unclear[i], NM_SETUP_LINE_UNCLEAR, NULL);
    for (size_t i = 0; i < NM_ARRAY_SIZE(others); i++)
        assert_line(others[i], NM_SETUP_LINE_OTHER, NULL);
}

/* ---- the manifest --------------------------------------------------------------------------- */

static void assert_no_manifest(struct nm_arena *a, const char *text)
{
    struct nm_setup_manifest m;
    char *message = NULL;

    assert_int_equal(nm_setup_manifest_parse(a, text, strlen(text), &m, &message), -EBADMSG);
    assert_non_null(message);
    free(message);
}

#define SUM "0123456789012345678901234567890123456789012345678901234567890123"
#define LIST(inside) "{\"version\":1,\"conf_dir\":\"/c\",\"entries\":[" inside "]}"

static void test_manifest(void **state)
{
    struct nm_setup_entry entries[] = {
        {.kind = NM_SETUP_WROTE_FILE, .path = "/a/b", .sums = {SUM, SUM}},
        {.kind = NM_SETUP_WROTE_FILE, .path = "/a/c", .sums = {SUM}},
        {.kind = NM_SETUP_MADE_DIR, .path = "/a"},
        {.kind = NM_SETUP_CHANGED_DIR, .path = "/d", .uid = 107, .gid = 110, .mode = 02775},
    };
    struct nm_setup_manifest m = {.conf_dir = "/c", .entries = entries, .n = NM_ARRAY_SIZE(entries)}, read = {};
    struct nm_arena a;
    char *text = NULL, *again = NULL;

    (void)state;
    nm_arena_init(&a, 1 << 20, NULL);
    assert_int_equal(nm_setup_manifest_print(&m, &text), 0);
    assert_int_equal(nm_setup_manifest_parse(&a, text, strlen(text), &read, NULL), 0);
    assert_int_equal(nm_setup_manifest_print(&read, &again), 0);
    assert_string_equal(text, again);
    assert_int_equal(nm_setup_manifest_find(&read, NM_SETUP_CHANGED_DIR, "/d")->mode, 02775);
    assert_null(nm_setup_manifest_find(&read, NM_SETUP_CHANGED_DIR, "/a"));
    free(again);
    m.conf_dir = "/c//./"; /* it is only shown */
    free(text);
    assert_int_equal(nm_setup_manifest_print(&m, &text), 0);
    assert_int_equal(nm_setup_manifest_parse(&a, text, strlen(text), &read, NULL), 0);
    again = NULL;
    assert_no_manifest(&a, "");
    assert_no_manifest(&a, "[]");
    assert_no_manifest(&a, "{\"version\":2,\"conf_dir\":\"/c\",\"entries\":[]}");
    assert_no_manifest(&a, "{\"version\":1,\"entries\":[]}");
    assert_no_manifest(&a, LIST("{}"));
    assert_no_manifest(&a, LIST("{\"kind\":\"pipe\",\"path\":\"/a\"}"));
    assert_no_manifest(&a, LIST("{\"kind\":\"directory\",\"path\":\"a\"}"));
    assert_no_manifest(&a, LIST("{\"kind\":\"directory\",\"path\":\"/a/../b\"}"));
    assert_no_manifest(&a, LIST("{\"kind\":\"directory\",\"path\":\"/a/..\"}"));
    assert_no_manifest(&a, LIST("{\"kind\":\"directory\",\"path\":\"/\"}"));
    assert_no_manifest(&a, LIST("{\"kind\":\"file\",\"path\":\"/a\"}"));
    assert_no_manifest(&a, LIST("{\"kind\":\"file\",\"path\":\"/a\",\"sha256\":[\"short\"]}"));
    assert_no_manifest(&a, LIST("{\"kind\":\"owner\",\"path\":\"/a\",\"uid\":-1,\"gid\":0,\"mode\":0}"));
    assert_no_manifest(&a, LIST("{\"kind\":\"owner\",\"path\":\"/a\",\"uid\":0,\"gid\":0,\"mode\":65536}"));
    free(text);
    free(again);
    nm_arena_done(&a);
}

/* While a file is being replaced both texts are ours. The first owner and mode of a directory are kept. */
static void test_what_is_noted(void **state)
{
    struct nm_setup_entry before[] = {
        {.kind = NM_SETUP_WROTE_FILE, .path = UNIT},
        {.kind = NM_SETUP_CHANGED_DIR, .path = "/data/1/yarn", .uid = 107, .gid = 110, .mode = 0750},
    };
    struct nm_setup_manifest m;
    const struct nm_setup_entry *e;
    struct world w;

    (void)state;
    world_init(&w, DIRS);
    be_file(&w, &w.facts.unit, "of an earlier setup");
    before[0].sums[0] = w.facts.unit.sha256;
    note(&w, before, 2);
    w.dirs[0] = (struct nm_setup_spot){.path = "/data/1/yarn", .kind = NM_SETUP_DIR, .uid = 1, .mode = 0700};
    plan(&w);
    assert_int_equal(nm_setup_plan_note(&w.wish, &w.facts.manifest, &w.plan, false, &w.arena, &m), 0);
    e = nm_setup_manifest_find(&m, NM_SETUP_WROTE_FILE, UNIT);
    assert_true(nm_setup_entry_has(e, before[0].sums[0]) && nm_setup_entry_has(e, e->sums[0]));
    assert_string_not_equal(e->sums[0], before[0].sums[0]);
    assert_int_equal(nm_setup_manifest_find(&m, NM_SETUP_CHANGED_DIR, "/data/1/yarn")->uid, 107);
    assert_non_null(nm_setup_manifest_find(&m, NM_SETUP_MADE_DIR, "/data/1/logs"));
    assert_non_null(nm_setup_manifest_find(&m, NM_SETUP_WROTE_FILE, CONFIG));
    assert_int_equal(nm_setup_plan_note(&w.wish, &w.facts.manifest, &w.plan, true, &w.arena, &m), 0);
    assert_false(nm_setup_entry_has(nm_setup_manifest_find(&m, NM_SETUP_WROTE_FILE, UNIT), before[0].sums[0]));
    world_done(&w);
}

/* What was made, and removed and made by somebody else since, isn't ours any more. */
static void test_what_is_somebody_elses_by_now(void **state)
{
    struct nm_setup_entry before[] = {
        {.kind = NM_SETUP_MADE_DIR, .path = "/data/1/yarn"},
        {.kind = NM_SETUP_CHANGED_DIR, .path = "/data/1/logs", .uid = 107, .gid = 110, .mode = 0750},
        {.kind = NM_SETUP_WROTE_FILE, .path = UNIT, .sums = {SUM}},
    };
    struct nm_setup_manifest m;
    struct world w;

    (void)state;
    world_init(&w, DIRS);
    note(&w, before, NM_ARRAY_SIZE(before));
    w.dirs[0] = (struct nm_setup_spot){.path = "/data/1/yarn", .kind = NM_SETUP_DIR, .uid = 55, .mode = 0755};
    be_file(&w, &w.facts.unit, "of somebody else");
    plan(&w);
    for (int done = 0; done < 2; done++) {
        assert_int_equal(nm_setup_plan_note(&w.wish, &w.facts.manifest, &w.plan, done, &w.arena, &m), 0);
        assert_int_equal(nm_setup_manifest_find(&m, NM_SETUP_CHANGED_DIR, "/data/1/yarn")->uid, 55);
        assert_null(nm_setup_manifest_find(&m, NM_SETUP_MADE_DIR, "/data/1/yarn"));
        assert_non_null(nm_setup_manifest_find(&m, NM_SETUP_MADE_DIR, "/data/1/logs")); /* it was missing */
        assert_null(nm_setup_manifest_find(&m, NM_SETUP_CHANGED_DIR, "/data/1/logs"));
        assert_false(nm_setup_entry_has(nm_setup_manifest_find(&m, NM_SETUP_WROTE_FILE, UNIT), w.facts.unit.sha256));
        assert_int_equal(m.n, 5); /* and /usr/local/hadoop/tmp, UNIT, CONFIG */
    }
    world_done(&w);
}

/* ---- the way back --------------------------------------------------------------------------- */

static const struct nm_setup_undo_step *undone(const struct nm_setup_undo *u, const char *path)
{
    for (size_t i = 0; i < u->n; i++)
        if (nm_streq(u->steps[i].entry->path, path))
            return &u->steps[i];
    fail_msg("no step for %s", path);
    return NULL;
}

static void test_undo(void **state)
{
    struct nm_setup_entry entries[] = {
        {.kind = NM_SETUP_MADE_DIR, .path = "/e"},
        {.kind = NM_SETUP_MADE_DIR, .path = "/e/conf.d"},
        {.kind = NM_SETUP_WROTE_FILE, .path = "/e/conf.d/50", .sums = {SUM}},
        {.kind = NM_SETUP_WROTE_FILE, .path = "/u/50", .sums = {SUM}},
        {.kind = NM_SETUP_WROTE_FILE, .path = "/gone", .sums = {SUM}},
        {.kind = NM_SETUP_CHANGED_DIR, .path = "/d/1", .uid = 107, .gid = 110, .mode = 0775},
        {.kind = NM_SETUP_CHANGED_DIR, .path = "/d/2", .uid = 107, .gid = 110, .mode = 0775},
        {.kind = NM_SETUP_MADE_DIR, .path = "/v"},
        {.kind = NM_SETUP_MADE_DIR, .path = "/l"},
    };
    const char *in_e[] = {"conf.d", NULL}, *in_conf[] = {"50", NULL}, *in_v[] = {"yarn-setup", NULL},
               *in_l[] = {"usercache", NULL};
    const struct nm_setup_manifest m = {.conf_dir = "/c", .entries = entries, .n = NM_ARRAY_SIZE(entries)};
    struct nm_setup_left left[NM_ARRAY_SIZE(entries)] = {
        {.spot = {.kind = NM_SETUP_DIR}, .names = in_e},
        {.spot = {.kind = NM_SETUP_DIR}, .names = in_conf},
        {.spot = {.kind = NM_SETUP_FILE, .sha256 = SUM}},
        {.spot = {.kind = NM_SETUP_FILE, .sha256 = "another"}},
        {.spot = {.kind = NM_SETUP_NOTHING}},
        {.spot = {.kind = NM_SETUP_DIR, .mode = 0755}},
        {.spot = {.kind = NM_SETUP_DIR, .mode = 0700}},
        {.spot = {.kind = NM_SETUP_DIR}, .names = in_v},
        {.spot = {.kind = NM_SETUP_DIR}, .names = in_l},
    };
    struct nm_setup_undo u;
    struct nm_arena a;

    (void)state;
    nm_arena_init(&a, 1 << 20, NULL);
    assert_int_equal(nm_setup_undo_plan(&m, left, 0, 0, "/v/yarn-setup", &a, &u), 0);
    assert_int_equal(u.n, NM_ARRAY_SIZE(entries));
    assert_int_equal(undone(&u, "/e/conf.d/50")->act, NM_SETUP_REMOVE);
    assert_int_equal(undone(&u, "/u/50")->act, NM_SETUP_STAY);
    assert_non_null(strstr(undone(&u, "/u/50")->why, "changed"));
    assert_int_equal(undone(&u, "/gone")->act, NM_SETUP_GONE);
    assert_int_equal(undone(&u, "/d/1")->act, NM_SETUP_RESTORE);
    assert_int_equal(undone(&u, "/d/2")->act, NM_SETUP_STAY);
    assert_int_equal(undone(&u, "/e/conf.d")->act, NM_SETUP_REMOVE);
    assert_int_equal(undone(&u, "/e")->act, NM_SETUP_REMOVE);
    assert_true(undone(&u, "/e/conf.d") < undone(&u, "/e"));
    assert_int_equal(undone(&u, "/v")->act, NM_SETUP_STAY); /* it has the list of what stays */
    assert_non_null(strstr(undone(&u, "/v")->why, "yarn-setup"));
    assert_int_equal(undone(&u, "/l")->act, NM_SETUP_STAY);
    assert_non_null(strstr(undone(&u, "/l")->why, "usercache"));
    assert_int_equal(u.n_staying, 4);
    assert_int_equal(u.kept.n, 4);
    assert_string_equal(u.kept.conf_dir, "/c");
    assert_non_null(nm_setup_manifest_find(&u.kept, NM_SETUP_MADE_DIR, "/l"));
    assert_non_null(nm_setup_manifest_find(&u.kept, NM_SETUP_CHANGED_DIR, "/d/2"));

    left[3].spot.sha256 = SUM; /* nothing stays */
    left[6].spot.mode = 0755;
    left[8].names[0] = NULL;
    assert_int_equal(nm_setup_undo_plan(&m, left, 0, 0, "/v/yarn-setup", &a, &u), 0);
    assert_int_equal(undone(&u, "/v")->act, NM_SETUP_REMOVE); /* the manifest goes with it */
    assert_int_equal(u.n_staying + u.kept.n, 0);
    nm_arena_done(&a);
}

/* What an interrupted setup leaves of a listed file, or of the list, is ours. */
static void test_undo_interrupted(void **state)
{
    struct nm_setup_entry entries[] = {
        {.kind = NM_SETUP_WROTE_FILE, .path = "/e/50", .sums = {SUM}},
        {.kind = NM_SETUP_MADE_DIR, .path = "/e"},
        {.kind = NM_SETUP_MADE_DIR, .path = "/v"},
    };
    const char *in_e[] = {".50.new", NULL}, *in_v[] = {"yarn-setup", ".yarn-setup.new", NULL};
    const struct nm_setup_manifest m = {.conf_dir = "/c", .entries = entries, .n = NM_ARRAY_SIZE(entries)};
    struct nm_setup_left left[NM_ARRAY_SIZE(entries)] = {
        {.spot = {.kind = NM_SETUP_NOTHING}, .has_new = true},
        {.spot = {.kind = NM_SETUP_DIR}, .names = in_e},
        {.spot = {.kind = NM_SETUP_DIR}, .names = in_v},
    };
    struct nm_setup_undo u;
    struct nm_arena a;

    (void)state;
    nm_arena_init(&a, 1 << 20, NULL);
    assert_int_equal(nm_setup_undo_plan(&m, left, 0, 0, "/v/yarn-setup", &a, &u), 0);
    assert_int_equal(undone(&u, "/e/.50.new")->act, NM_SETUP_REMOVE);
    assert_int_equal(undone(&u, "/e")->act, NM_SETUP_REMOVE);
    assert_int_equal(undone(&u, "/v")->act, NM_SETUP_REMOVE);
    left[0].has_new = false; /* a directory of that name, say */
    assert_int_equal(nm_setup_undo_plan(&m, left, 0, 0, "/v/yarn-setup", &a, &u), 0);
    assert_int_equal(undone(&u, "/e")->act, NM_SETUP_STAY);
    nm_arena_done(&a);
}

/* A directory is given back, but its contents aren't: they are named, in whatever state an earlier undo has left it. */
static void test_undo_with_contents(void **state)
{
    struct nm_setup_entry e = {.kind = NM_SETUP_CHANGED_DIR, .path = "/d", .uid = 107, .gid = 110, .mode = 0775};
    const char *names[] = {"usercache", "filecache", "nmPrivate", "a", "b", NULL};
    const struct nm_setup_manifest m = {.conf_dir = "/c", .entries = &e, .n = 1};
    struct nm_setup_left left = {.spot = {.kind = NM_SETUP_DIR, .mode = 0755}, .names = names};
    struct nm_setup_undo u;
    struct nm_arena a;

    (void)state;
    nm_arena_init(&a, 1 << 20, NULL);
    assert_int_equal(nm_setup_undo_plan(&m, &left, 0, 0, "/v", &a, &u), 0);
    assert_int_equal(u.steps[0].act, NM_SETUP_RESTORE);
    assert_int_equal(u.n_staying, 1);
    assert_int_equal(u.kept.n, 0);
    assert_non_null(strstr(u.steps[0].why, "(usercache, filecache, nmPrivate, a and more)"));
    assert_non_null(strstr(u.steps[0].why, "chown -R 107:110 /d, or empty it"));
    left.spot = (struct nm_setup_spot){.kind = NM_SETUP_DIR, .uid = 107, .gid = 110, .mode = 0775};
    names[4] = NULL;
    assert_int_equal(nm_setup_undo_plan(&m, &left, 0, 0, "/v", &a, &u), 0);
    assert_int_equal(u.steps[0].act, NM_SETUP_GONE);
    assert_non_null(strstr(u.steps[0].why, "(usercache, filecache, nmPrivate, a)"));
    names[0] = NULL;
    assert_int_equal(nm_setup_undo_plan(&m, &left, 0, 0, "/v", &a, &u), 0);
    assert_int_equal(u.n_staying, 0);
    e.uid = 0; /* only its mode was changed */
    left.spot = (struct nm_setup_spot){.kind = NM_SETUP_DIR, .mode = 0755};
    names[0] = "usercache";
    assert_int_equal(nm_setup_undo_plan(&m, &left, 0, 0, "/v", &a, &u), 0);
    assert_int_equal(u.n_staying, 0);
    nm_arena_done(&a);
}

/* ---- addresses ------------------------------------------------------------------------------ */

static void test_unit(void **state)
{
    static const char first[] = "[Service]\nIPAddressAllow=10.1.0.0/16 10.2.0.1\n IPAddressAllow = no\n"
                                "# IPAddressAllow=10.9.9.9\n[Unit]\nIPAddressAllow=10.8.8.8\n";
    static const char second[] = "[Service]\nIPAddressAllow=\nIPAddressAllow=link-local fd00::/8\n"
                                 "Environment=A=b JAVA_HOME=/opt/java";
    struct nm_setup_unit *u = calloc(1, sizeof *u);
    struct nm_setup_net nets[2];

    (void)state;
    assert_int_equal(nm_setup_unit_add(u, first, strlen(first)), 0);
    assert_true(nm_setup_unit_allows(u, "10.1.255.1") && nm_setup_unit_allows(u, "10.2.0.1"));
    assert_false(nm_setup_unit_allows(u, "10.2.0.2") || nm_setup_unit_allows(u, "10.9.9.9"));
    assert_false(nm_setup_unit_allows(u, "10.8.8.8") || nm_setup_unit_allows(u, "none"));
    assert_true(nm_setup_unit_allows(u, "127.0.0.9") && nm_setup_unit_allows(u, "::1"));
    assert_true(nm_setup_unit_has_network(u));
    assert_false(u->has[NM_SETUP_JAVA_HOME]);
    assert_int_equal(nm_setup_unit_add(u, second, strlen(second)), 0);
    assert_false(nm_setup_unit_allows(u, "10.1.255.1"));
    assert_true(nm_setup_unit_allows(u, "169.254.1.1") && nm_setup_unit_allows(u, "fd12::1"));
    assert_false(nm_setup_unit_allows(u, "fe00::1"));
    assert_true(u->has[NM_SETUP_JAVA_HOME]);
    assert_int_equal(nm_setup_net_parse("any", nets), 2);
    for (const char *const *bad = (const char *const[]){"", "10.1", "10.1.0.0/33", "10.1.0.0/", "::/129", "rm",
                                                                  "10.0.0.0/08", "10.0.0.0/010", "10.0.0.0/00",
                                                                  "fd00::/08", "10.0.0.0/+8", "010.0.0.0/8", NULL};
         *bad; bad++)
        assert_int_equal(nm_setup_net_parse(*bad, nets), 0);
    nm_setup_unit_free(u);
}

static void add_lines(struct nm_setup_unit *u, const char *lines)
{
    char text[300];

    (void)snprintf(text, sizeof text, "[Service]\n%s\n", lines);
    assert_int_equal(nm_setup_unit_add(u, text, strlen(text)), 0);
}

/* The drop-ins are read as systemd reads them: later lines add, an empty value clears. */
static void test_unit_rights(void **state)
{
    struct nm_setup_unit *u = calloc(1, sizeof *u);

    (void)state;
    assert_true(nm_setup_unit_writes(u, "/data/1") && nm_setup_unit_writes(u, "/usrlocal"));
    assert_false(nm_setup_unit_writes(u, "/usr/local/tmp") || nm_setup_unit_writes(u, "/etc/x"));
    add_lines(u, "ReadWritePaths=-/usr/local/ /opt\nReadWritePaths=\"+/etc/x\"");
    assert_true(nm_setup_unit_writes(u, "/usr/local/tmp") && nm_setup_unit_writes(u, "/etc/x"));
    assert_false(nm_setup_unit_writes(u, "/usr/localtmp") || nm_setup_unit_writes(u, "/etc/xy"));
    add_lines(u, "ReadWritePaths=");
    assert_false(nm_setup_unit_writes(u, "/usr/local/tmp"));
    add_lines(u, "ProtectSystem=yes");
    assert_true(nm_setup_unit_writes(u, "/etc/x"));
    assert_false(nm_setup_unit_writes(u, "/usr/local/tmp"));
    add_lines(u, "ProtectSystem=strict\nReadWritePaths=/data");
    assert_true(nm_setup_unit_writes(u, "/data/1"));
    assert_false(nm_setup_unit_writes(u, "/srv/1"));
    add_lines(u, "ProtectSystem=");
    assert_true(nm_setup_unit_writes(u, "/usr/local/tmp"));

    add_lines(u, "IPAddressAllow=10.0.0.0/08 fd00::/09 12.0.0.0/0000000000000010");
    assert_false(nm_setup_unit_allows(u, "10.0.0.1") || nm_setup_unit_allows(u, "fd00::1"));
    add_lines(u, "IPAddressAllow=10.0.0.0/010"); /* systemd reads an octal 8 */
    assert_true(nm_setup_unit_allows(u, "10.9.9.9"));
    assert_false(nm_setup_unit_allows(u, "11.0.0.1"));

    add_lines(u, "Environment=MY_HADOOP_HOME=/x \"HADOOP_CONF_DIR=/etc/hadoop/conf\" A=HADOOP_YARN_HOME=/x");
    assert_true(u->has[NM_SETUP_HADOOP_CONF_DIR]);
    assert_false(u->has[NM_SETUP_HADOOP_HOME] || u->has[NM_SETUP_HADOOP_YARN_HOME]);
    add_lines(u, "Environment=");
    assert_false(u->has[NM_SETUP_HADOOP_CONF_DIR]);
    nm_setup_unit_free(u);
}

static struct sockaddr_in v4(const char *text)
{
    struct sockaddr_in a = {.sin_family = AF_INET};

    assert_int_equal(inet_pton(AF_INET, text, &a.sin_addr), 1);
    return a;
}

static void test_network(void **state)
{
    struct sockaddr_in own = v4("10.1.77.2"), mask = v4("255.255.240.0"), near = v4("10.1.64.9"), far = v4("10.1.80.1");
    const struct sockaddr *o = (struct sockaddr *)&own, *m = (struct sockaddr *)&mask;
    const struct sockaddr_in6 other = {.sin6_family = AF_INET6};
    struct nm_arena a;

    (void)state;
    nm_arena_init(&a, 1 << 16, NULL);
    assert_string_equal(nm_setup_common_network(&a, o, m, (struct sockaddr *)&near), "10.1.64.0/20");
    assert_null(nm_setup_common_network(&a, o, m, (struct sockaddr *)&far));
    assert_null(nm_setup_common_network(&a, o, m, (const struct sockaddr *)&other));
    nm_arena_done(&a);
}

/* Each host of the cluster's files is listed once, those of each name service too. */
static void test_hosts(void **state)
{
    struct nm_setup_facts f = {};
    struct nm_arena a;
    struct nm_yarn_settings *s = settings_of(
        PROPERTY("yarn.resourcemanager.ha.enabled", "true") PROPERTY("yarn.resourcemanager.ha.rm-ids", "a,b")
        PROPERTY("yarn.resourcemanager.hostname.a", "rm1") PROPERTY("yarn.resourcemanager.hostname.b", "rm2")
        PROPERTY("dfs.nameservices", "c") PROPERTY("dfs.ha.namenodes.c", "x,y") PROPERTY("fs.defaultFS", "hdfs://c")
        PROPERTY("dfs.namenode.rpc-address.c.x", "nn1:8020") PROPERTY("dfs.namenode.rpc-address.c.y", "[::2]:8020"));

    (void)state;
    nm_arena_init(&a, 1 << 20, NULL);
    assert_int_equal(nm_setup_list_hosts(s, &a, &f), 0);
    assert_int_equal(f.n_hosts, 4);
    assert_string_equal(f.hosts[0].name, "rm1");
    assert_int_equal(f.hosts[1].port, 8031);
    assert_int_equal(f.hosts[2].role, NM_SETUP_NAME_NODE);
    assert_int_equal(f.hosts[2].port, 9870);
    assert_true(nm_streq(f.hosts[2].name, "::2") || nm_streq(f.hosts[3].name, "::2"));
    nm_arena_done(&a);
    nm_yarn_settings_free(s);
}

static char told[1000];

static void tell(const char *text)
{
    (void)snprintf(told + strlen(told), sizeof told - strlen(told), "%s\n", text);
}

/* Returns a port of the address at which connections are neither accepted nor refused: its queue is full. */
static unsigned be_silent(const char *address, int fds[4])
{
    struct sockaddr_in at = v4(address);
    socklen_t size = sizeof at;

    fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fds[0], (struct sockaddr *)&at, size), 0);
    assert_int_equal(listen(fds[0], 0), 0);
    assert_int_equal(getsockname(fds[0], (struct sockaddr *)&at, &size), 0);
    for (int i = 1; i < 4; i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        (void)connect(fds[i], (struct sockaddr *)&at, size);
    }
    return ntohs(at.sin_port);
}

#define N_SILENT 5

/* All hosts are asked at once, and meanwhile there is something to read. */
static void test_silent_hosts(void **state)
{
    const char *addresses[N_SILENT + 1][2] = {}, *both[] = {"127.0.0.9", "127.0.0.1"};
    int fds[N_SILENT + 1][4];
    struct nm_setup_host hosts[N_SILENT + 1];
    struct nm_setup_facts f = {.hosts = hosts, .n_hosts = N_SILENT + 1};
    const struct nm_setup_wish w = {.progress = tell};
    const uint64_t begin_usec = nm_now_usec();

    (void)state;
    for (size_t i = 0; i <= N_SILENT; i++) {
        addresses[i][0] = "127.0.0.1";
        hosts[i] = (struct nm_setup_host){.name = "silent", .port = be_silent("127.0.0.1", fds[i]),
                                          .addresses = addresses[i], .n_addresses = 1};
    }
    hosts[N_SILENT].name = "open"; /* at its second address; nothing listens at the first one */
    hosts[N_SILENT].addresses = both;
    hosts[N_SILENT].n_addresses = 2;
    for (int i = 1; i < 4; i++)
        (void)close(fds[N_SILENT][i]);
    for (int i = 0; i < 3; i++)
        (void)close(accept(fds[N_SILENT][0], NULL, NULL));
    nm_setup_try_hosts(&w, &f);
    for (size_t i = 0; i < N_SILENT; i++)
        assert_int_equal(hosts[i].error, -ETIMEDOUT);
    assert_string_equal(hosts[N_SILENT].answered, "127.0.0.1");
    assert_int_equal(hosts[N_SILENT].error, 0);
    assert_true(nm_now_usec() - begin_usec < 2 * 3 * NM_USEC_PER_SEC);
    if (!strstr(told, "waiting for an answer of silent:") || !strstr(told, "1 of 6 hosts are done"))
        fail_msg("%s", told);
    for (size_t i = 0; i <= N_SILENT; i++)
        for (size_t k = 0; k < 4; k++)
            if (i < N_SILENT || k == 0)
                (void)close(fds[i][k]);
}

/* Each name is looked up once. An address needs no look-up, and a name that can't exist has none. */
static void test_names(void **state)
{
    const char *room[4][16];
    struct nm_setup_host hosts[] = {
        {.name = "127.0.0.7", .addresses = room[0]}, {.name = "a..b", .addresses = room[1]},
        {.name = "0.0.0.0", .addresses = room[2]}, {.name = "127.0.0.7", .addresses = room[3]},
    };
    struct nm_setup_facts f = {.hosts = hosts, .n_hosts = NM_ARRAY_SIZE(hosts)};
    const struct nm_setup_wish w = {.root = "/nonexistent"};
    struct nm_arena a;

    (void)state;
    nm_arena_init(&a, 1 << 16, NULL);
    assert_int_equal(nm_setup_resolve(&w, &a, &f), 0);
    assert_string_equal(hosts[0].addresses[0], "127.0.0.7");
    assert_int_not_equal(hosts[1].unresolved, 0);
    assert_int_equal(hosts[1].n_addresses, 0);
    assert_string_equal(hosts[2].addresses[0], "127.0.0.1");
    assert_int_equal(hosts[3].n_addresses, 1);
    nm_arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_new_host),
        cmocka_unit_test(test_files_that_are_there),
        cmocka_unit_test(test_directories_that_are_there),
        cmocka_unit_test(test_directories_below_others),
        cmocka_unit_test(test_tidy),
        cmocka_unit_test(test_shared_directories),
        cmocka_unit_test(test_advice),
        cmocka_unit_test(test_nothing_to_advise),
        cmocka_unit_test(test_script_lines),
        cmocka_unit_test(test_manifest),
        cmocka_unit_test(test_what_is_noted),
        cmocka_unit_test(test_what_is_somebody_elses_by_now),
        cmocka_unit_test(test_undo),
        cmocka_unit_test(test_undo_interrupted),
        cmocka_unit_test(test_undo_with_contents),
        cmocka_unit_test(test_unit),
        cmocka_unit_test(test_unit_rights),
        cmocka_unit_test(test_network),
        cmocka_unit_test(test_hosts),
        cmocka_unit_test(test_silent_hosts),
        cmocka_unit_test(test_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
