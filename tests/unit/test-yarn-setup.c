/* SPDX-License-Identifier: Apache-2.0 */

/* The plans of a setup and of its undo, made from invented facts. The test doesn't examine the host. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <netdb.h>

#include "setup-settings.h"
#include "util/clock.h"
#include "yarn/setup/facts-parts.h"
#include "yarn/setup/plan.h"
#include "yarn/setup/undo.h"
#include "yarn/setup/unit.h"

#define DIRS PROPERTY("yarn.nodemanager.local-dirs", "/data/1/yarn,/usr/local/hadoop/tmp") \
    PROPERTY("yarn.nodemanager.log-dirs", "/data/1/logs")
#define UNIT "/etc/systemd/system/nmd.service.d/50-yarn.conf"
#define CONFIG "/etc/nmd/nmd.conf.d/50-yarn.conf"
#define MANIFEST "/var/lib/nmd/yarn-setup"
#define RM_ADDRESSES 2

struct fixture {
    struct nm_arena arena;
    struct nm_yarn_settings *settings;
    struct nm_setup_request request;
    struct nm_setup_facts facts;
    struct nm_setup_plan plan;
    struct nm_setup_host hosts[2];
    struct nm_setup_path dirs[3];
    const char *rm[RM_ADDRESSES], *nn[1], *name_servers[2], *allow[2];
};

/* A host before a setup, with the directories of nmd and those of Hadoop's NodeManager. */
static void fixture_init(struct fixture *w, const char *properties)
{
    static const char *const paths[] = {"/data/1/yarn", "/usr/local/hadoop/tmp", "/data/1/logs"};

    *w = (struct fixture){.settings = settings_of(properties), .rm = {"10.1.2.3", "127.0.0.1"}, .nn = {"10.1.2.4"},
                          .name_servers = {"10.1.0.53", "127.0.0.53"}};
    nm_arena_init(&w->arena, 4 << 20, NULL);
    w->request = (struct nm_setup_request){.root = "", .conf_dir = "/etc/hadoop/conf", .config_path = CONFIG,
                                           .unit_path = UNIT, .state_dir = "/var/lib/nmd", .manifest_path = MANIFEST,
                                           .options = " --root /r", .check_options = "", .allow = w->allow};
    w->hosts[0] = (struct nm_setup_host){.role = NM_SETUP_RESOURCE_MANAGER, .name = "rm", .port = 8031,
                                         .addresses = w->rm, .n_addresses = RM_ADDRESSES};
    w->hosts[1] = (struct nm_setup_host){.role = NM_SETUP_NAME_NODE, .name = "nn", .port = 9870, .addresses = w->nn,
                                         .n_addresses = 1};
    for (size_t i = 0; i < NM_ARRAY_SIZE(paths); i++)
        w->dirs[i] = (struct nm_setup_path){.path = paths[i]};
    w->facts = (struct nm_setup_facts){
        .hosts = w->hosts, .n_hosts = 2, .name_servers = w->name_servers, .n_name_servers = 2, .dirs = w->dirs,
        .n_dirs = 3, .node_name = "node1", .has_local_user = true, .java_home = "/opt/java", .java_from = "x",
        .hadoop_home = "/opt/hadoop", .hadoop_from = "x", .config = {.path = CONFIG}, .unit = {.path = UNIT},
        .state = {.path = "/var/lib/nmd", .kind = NM_SETUP_DIR, .mode = 0700, .is_usable = true}};
}

static void plan(struct fixture *w)
{
    assert_int_equal(nm_setup_plan_make(&w->request, w->settings, &w->facts, &w->arena, &w->plan), 0);
}

static void fixture_done(struct fixture *w)
{
    nm_arena_done(&w->arena);
    nm_yarn_settings_free(w->settings);
}

static const struct nm_setup_step *step_of(const struct fixture *w, const char *path)
{
    for (size_t i = 0; i < w->plan.n_steps; i++)
        if (nm_streq(w->plan.steps[i].path, path))
            return &w->plan.steps[i];
    fail_msg("no step for %s", path);
    return NULL;
}

static void assert_left(const struct fixture *w, const char *path, const char *why)
{
    const struct nm_setup_step *s = step_of(w, path);

    assert_int_equal(s->act, NM_SETUP_LEAVE);
    if (!strstr(s->why, why))
        fail_msg("'%s' isn't about '%s'", s->why, why);
}

static bool advises(const struct fixture *w, const char *words)
{
    for (size_t i = 0; i < w->plan.n_advice; i++)
        if (strstr(w->plan.advice[i].text, words))
            return true;
    return false;
}

/* ---- written files -------------------------------------------------------------------------- */

static void test_a_setup_of_a_new_host_writes_all_files(void **state)
{
    static const char text[] =
        "# Written by nmd --yarn-setup /etc/hadoop/conf. To revert it, add --undo.\n[Service]\n"
        "# a ResourceManager: rm\nIPAddressAllow=10.1.2.3\n# a name node: nn\nIPAddressAllow=10.1.2.4\n"
        "# a name server\nIPAddressAllow=10.1.0.53\n# from --allow\nIPAddressAllow=10.1.0.0/16\n"
        "Environment=JAVA_HOME=/opt/java\nEnvironment=HADOOP_HOME=/opt/hadoop\n"
        "Environment=HADOOP_COMMON_HOME=/opt/hadoop\nEnvironment=HADOOP_HDFS_HOME=/opt/hadoop\n"
        "Environment=HADOOP_YARN_HOME=/opt/hadoop\nEnvironment=HADOOP_CONF_DIR=/etc/hadoop/conf\n"
        "ReadWritePaths=-/usr/local/hadoop/tmp\n";
    const char *const missing[] = {"/data", "/data/1"}, *const no_tmp[] = {"/tmp"};
    struct fixture w;

    (void)state;
    fixture_init(&w, DIRS);
    w.allow[0] = "10.1.0.0/16";
    w.dirs[0].missing = w.dirs[2].missing = (const char **)(uintptr_t)missing;
    w.dirs[0].n_missing = w.dirs[2].n_missing = 2;
    plan(&w);
    assert_string_equal(step_of(&w, UNIT)->text, text);
    assert_non_null(strstr(step_of(&w, CONFIG)->text, "[yarn]\nenabled = yes\nconf-dir = /etc/hadoop/conf\n"));
    assert_int_equal(w.plan.n_steps, 7); /* /data and /data/1 once each, three directories, and two files */
    assert_int_equal(w.plan.n_changes, 7);
    assert_string_equal(w.plan.steps[0].path, "/data");
    assert_string_equal(w.plan.steps[1].path, "/data/1");
    for (size_t i = 0; i < w.plan.n_steps; i++)
        assert_int_equal(w.plan.steps[i].act, NM_SETUP_MAKE);
    /* this file is the last one, since it makes nmd a node of the cluster */
    assert_string_equal(w.plan.steps[6].path, CONFIG);
    w.dirs[1] = (struct nm_setup_path){.path = "/tmp/local", .missing = (const char **)(uintptr_t)no_tmp,
                                       .n_missing = 1};
    plan(&w);
    assert_int_equal(step_of(&w, "/tmp")->mode, 01777);
    assert_int_equal(step_of(&w, "/tmp/local")->mode, 0755);
    fixture_done(&w);
}

static void be_file(struct fixture *w, struct nm_setup_path *spot, const char *text)
{
    spot->kind = NM_SETUP_FILE;
    spot->sha256 = nm_setup_sha256(&w->arena, text, strlen(text));
}

static void note(struct fixture *w, struct nm_setup_entry *entries, size_t n)
{
    w->facts.manifest = (struct nm_setup_manifest){.conf_dir = "/etc/hadoop/conf", .entries = entries, .n = n};
}

/* A file with the right contents is kept, a file of an earlier setup is replaced, and any other file is not changed. */
static void test_files_with_the_right_contents_are_kept(void **state)
{
    struct nm_setup_entry e = {.kind = NM_SETUP_WROTE_FILE, .path = UNIT};
    struct fixture w;

    (void)state;
    fixture_init(&w, DIRS);
    be_file(&w, &w.facts.unit, nm_setup_unit_text(&w.request, w.settings, &w.facts, &w.arena));
    be_file(&w, &w.facts.config, nm_setup_config_text(&w.request, &w.arena));
    for (size_t i = 0; i < 3; i++)
        w.dirs[i].kind = NM_SETUP_DIR, w.dirs[i].is_usable = true;
    plan(&w);
    assert_int_equal(w.plan.n_changes + w.plan.n_left, 0);
    assert_int_equal(w.plan.n_steps, 5);

    be_file(&w, &w.facts.unit, "of an earlier setup");
    plan(&w);
    assert_left(&w, UNIT, "no setup has written it");
    e.sums[0] = w.facts.unit.sha256;
    note(&w, &e, 1);
    plan(&w);
    assert_int_equal(step_of(&w, UNIT)->act, NM_SETUP_CHANGE);
    be_file(&w, &w.facts.unit, "and changed by hand");
    plan(&w);
    assert_left(&w, UNIT, "it was changed after the setup wrote it");
    assert_int_equal(w.plan.n_left, 1);
    w.facts.unit.kind = NM_SETUP_LINK;
    plan(&w);
    assert_left(&w, UNIT, "symbolic link");
    w.facts.unit = (struct nm_setup_path){.path = UNIT, .weak = (const char *[]){"/etc/systemd"}, .n_weak = 1};
    plan(&w);
    assert_left(&w, UNIT, "users other than root can change /etc/systemd");
    fixture_done(&w);
}

static void test_directories_with_the_right_owner_and_mode_are_kept(void **state)
{
    struct fixture w;

    (void)state;
    fixture_init(&w, DIRS);
    w.dirs[0] = (struct nm_setup_path){.path = "/data/1/yarn", .kind = NM_SETUP_DIR, .uid = 107, .gid = 110,
                                       .mode = 0775};
    w.dirs[1].weak = (const char *[]){"/usr/local/hadoop"};
    w.dirs[1].n_weak = 1;
    w.dirs[2] = (struct nm_setup_path){.path = "/data/1/logs", .kind = NM_SETUP_LINK, .is_usable = true};
    plan(&w);
    assert_int_equal(step_of(&w, "/data/1/yarn")->act, NM_SETUP_CHANGE);
    assert_int_equal(step_of(&w, "/data/1/yarn")->old_uid, 107);
    assert_int_equal(step_of(&w, "/data/1/yarn")->mode, 0755);
    assert_left(&w, "/usr/local/hadoop/tmp", "users other than root can change /usr/local/hadoop");
    assert_int_equal(step_of(&w, "/data/1/logs")->act, NM_SETUP_KEEP);
    w.dirs[2].is_usable = false;
    w.dirs[1] = (struct nm_setup_path){.path = "/data/1/logs/file", .kind = NM_SETUP_FILE};
    plan(&w);
    assert_left(&w, "/data/1/logs", "symbolic link");
    assert_left(&w, "/data/1/logs/file", "it is a file");
    fixture_done(&w);
}

/* The plan repairs a directory that other users can change. Directories below it can then be used, whatever their order
 * in the cluster's files. */
static void test_directories_below_a_repaired_directory_can_be_used(void **state)
{
    const char *const way[] = {"/data/1"}, *const other_way[] = {"/data/1", "/data/1/x"};
    struct fixture w;

    (void)state;
    fixture_init(&w, DIRS);
    w.dirs[0] = (struct nm_setup_path){.path = "/data/1/logs", .weak = (const char **)(uintptr_t)way, .n_weak = 1};
    w.dirs[1] = (struct nm_setup_path){.path = "/data/1/own", .kind = NM_SETUP_DIR, .is_private = true,
                                       .weak = (const char **)(uintptr_t)way, .n_weak = 1};
    w.dirs[2] = (struct nm_setup_path){.path = "/data/1", .kind = NM_SETUP_DIR, .uid = 107, .mode = 0755};
    plan(&w);
    assert_int_equal(w.plan.n_left, 0);
    assert_int_equal(step_of(&w, "/data/1")->act, NM_SETUP_CHANGE);
    assert_int_equal(step_of(&w, "/data/1/logs")->act, NM_SETUP_MAKE);
    assert_true(step_of(&w, "/data/1") < step_of(&w, "/data/1/logs"));
    assert_int_equal(step_of(&w, "/data/1/own")->act, NM_SETUP_KEEP);
    w.dirs[0].weak = (const char **)(uintptr_t)other_way;
    w.dirs[0].n_weak = 2;
    plan(&w);
    assert_left(&w, "/data/1/logs", "users other than root can change /data/1/x, which is above");
    assert_string_equal(step_of(&w, "/data/1/logs")->weak, "/data/1/x");
    assert_null(step_of(&w, "/data/1/own")->weak);
    w.dirs[2].is_usable = true; /* the plan does not repair this directory */
    plan(&w);
    assert_left(&w, "/data/1/logs", "users other than root can change /data/1 and /data/1/x, which are above");
    assert_string_equal(step_of(&w, "/data/1/logs")->weak, "/data/1 and /data/1/x");
    fixture_done(&w);
}

static void test_paths_are_normalized(void **state)
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
        assert_string_equal(nm_setup_path_normalize(&a, paths[i][0]), paths[i][1]);
    assert_false(nm_setup_is_plain("/a/../b"));
    assert_false(nm_setup_is_plain("/a/.."));
    assert_true(nm_setup_is_plain("/a/..b/.../c"));
    assert_false(nm_setup_is_plain("/"));
    assert_false(nm_setup_is_plain("./a"));
    assert_false(nm_setup_is_plain(""));
    nm_arena_done(&a);
}

/* An error in yarn-site.xml must not change the owner of a directory that other programs use. */
static void test_a_shared_directory_keeps_its_owner(void **state)
{
    struct fixture w;

    (void)state;
    fixture_init(&w, DIRS);
    w.dirs[0] = (struct nm_setup_path){.path = "/var/tmp", .kind = NM_SETUP_DIR, .mode = 01777};
    w.dirs[1] = (struct nm_setup_path){.path = "/home/bob", .kind = NM_SETUP_DIR, .uid = 1000, .mode = 0755};
    w.dirs[2] = (struct nm_setup_path){.path = "/srv", .kind = NM_SETUP_DIR, .uid = 1000, .mode = 0755};
    plan(&w);
    assert_left(&w, "/var/tmp", "all users");
    assert_left(&w, "/home/bob", "home");
    assert_left(&w, "/srv", "directly below the root");
    fixture_done(&w);
}

/* ---- advice after a setup ------------------------------------------------------------------- */

static void test_each_decision_left_to_the_administrator_is_in_the_advice(void **state)
{
    struct fixture w;

    (void)state;
    fixture_init(&w, PROPERTY("yarn.nodemanager.local-dirs", "/data/1/yarn,/tmp/hadoop-root/nm-local-dir"));
    w.facts.network = "10.1.0.0/16";
    w.facts.interface = "eth0";
    w.facts.java_home = w.facts.hadoop_home = NULL;
    w.facts.has_local_user = false;
    w.hosts[0].name = "0.0.0.0";
    w.hosts[1].n_addresses = 0;
    w.hosts[1].unresolved = EAI_NONAME;
    plan(&w);
    assert_true(advises(&w, "eth0, which contains the ResourceManager, use --allow 10.1.0.0/16"));
    assert_true(advises(&w, "limit-users is true: all containers run as nobody"));
    assert_true(advises(&w, "The user nobody"));
    assert_true(advises(&w, "max-queue-length is 0"));
    assert_true(advises(&w, "use-pause-for-preemption is false"));
    assert_true(advises(&w, "TCP port 8042 (pages)"));
    assert_true(advises(&w, "doesn't contain mapreduce_shuffle"));
    assert_true(advises(&w, "recovery.supervised"));
    assert_true(advises(&w, "a fixed port"));
    assert_true(advises(&w, "the name node1"));
    assert_true(advises(&w, "No Java"));
    assert_true(advises(&w, "name its directory with nmd --yarn-setup /etc/hadoop/conf --root /r --java-home DIR"));
    assert_true(advises(&w, "run nmd --yarn-setup /etc/hadoop/conf --root /r again"));
    assert_true(advises(&w, "Run nmd --yarn-setup /etc/hadoop/conf --root /r --allow ADDRESS/BITS with"));
    assert_true(advises(&w, "No Hadoop"));
    assert_true(advises(&w, "nn can't be resolved"));
    assert_true(advises(&w, "yarn.resourcemanager.hostname isn't set"));
    assert_true(advises(&w, "/tmp/hadoop-root/nm-local-dir: old files there are removed"));
    assert_null(strstr(step_of(&w, UNIT)->text, "JAVA_HOME"));
    fixture_done(&w);
}

static void test_lending_has_conditions_outside_of_the_node(void **state)
{
    struct fixture w;

    (void)state;
    fixture_init(&w, DIRS PROPERTY("nmd.lending", "all") PROPERTY("nmd.lending.central", "true"));
    plan(&w);
    assert_true(advises(&w, "opportunistic-container-allocation.enabled is true for the ResourceManager"));
    assert_true(advises(&w, "scheduler.address = localhost:8049"));
    assert_true(advises(&w, "nmd.lending.application-max-mb is -1"));
    fixture_done(&w);
    fixture_init(&w, DIRS PROPERTY("nmd.lending", "all") PROPERTY("nmd.lending.central", "true")
                     PROPERTY("nmd.lending.application-max-mb", "65536"));
    plan(&w);
    assert_false(advises(&w, "nmd.lending.application-max-mb"));
    fixture_done(&w);
    fixture_init(&w, DIRS PROPERTY("nmd.lending", "observe"));
    plan(&w);
    assert_false(advises(&w, "nmd.lending"));
    fixture_done(&w);
}

static void test_a_complete_setup_has_no_advice(void **state)
{
    struct fixture w;

    (void)state;
    fixture_init(&w, DIRS PROPERTY("yarn.nodemanager.linux-container-executor.nonsecure-mode.limit-users", "false")
                       PROPERTY("yarn.nodemanager.opportunistic-containers-max-queue-length", "10")
                       PROPERTY("yarn.nodemanager.opportunistic-containers-use-pause-for-preemption", "true")
                       PROPERTY("yarn.nodemanager.recovery.enabled", "true")
                       PROPERTY("yarn.nodemanager.recovery.supervised", "true")
                       PROPERTY("yarn.nodemanager.aux-services", "mapreduce_shuffle,spark_shuffle")
                       PROPERTY("yarn.nodemanager.address", "node1:45454")
                       PROPERTY("yarn.resourcemanager.hostname", "rm"));
    w.allow[0] = "10.1.0.0/16";
    w.settings->executor_rules.file = strdup("/etc/hadoop/conf/container-executor.cfg");
    w.settings->executor_rules.min_uid = 500;
    plan(&w);
    for (size_t i = 0; i < w.plan.n_advice; i++)
        assert_int_equal(w.plan.advice[i].subject, NM_SETUP_REMINDER);
    assert_true(advises(&w, "uid below 500"));
    assert_true(advises(&w, "45454 (yarn.nodemanager.address), 8042 (pages), 13562 (shuffle), "
                             "7337 (shuffle of Spark)"));
    fixture_done(&w);
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

static void test_the_manifest_is_read_as_it_was_written(void **state)
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
    m.conf_dir = "/c//./"; /* this path is only printed and need not be normalized */
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

/* While a file is being replaced, the manifest contains the checksums of the old and of the new text. For a directory,
 * it keeps the first owner and mode. */
static void test_each_change_is_in_the_manifest_before_it_is_made(void **state)
{
    struct nm_setup_entry before[] = {
        {.kind = NM_SETUP_WROTE_FILE, .path = UNIT},
        {.kind = NM_SETUP_CHANGED_DIR, .path = "/data/1/yarn", .uid = 107, .gid = 110, .mode = 0750},
    };
    struct nm_setup_manifest m;
    const struct nm_setup_entry *e;
    struct fixture w;

    (void)state;
    fixture_init(&w, DIRS);
    be_file(&w, &w.facts.unit, "of an earlier setup");
    before[0].sums[0] = w.facts.unit.sha256;
    note(&w, before, 2);
    w.dirs[0] = (struct nm_setup_path){.path = "/data/1/yarn", .kind = NM_SETUP_DIR, .uid = 1, .mode = 0700};
    plan(&w);
    assert_int_equal(nm_setup_plan_note(&w.request, &w.facts.manifest, &w.plan, false, &w.arena, &m), 0);
    e = nm_setup_manifest_find(&m, NM_SETUP_WROTE_FILE, UNIT);
    assert_true(nm_setup_entry_has(e, before[0].sums[0]) && nm_setup_entry_has(e, e->sums[0]));
    assert_string_not_equal(e->sums[0], before[0].sums[0]);
    assert_int_equal(nm_setup_manifest_find(&m, NM_SETUP_CHANGED_DIR, "/data/1/yarn")->uid, 107);
    assert_non_null(nm_setup_manifest_find(&m, NM_SETUP_MADE_DIR, "/data/1/logs"));
    assert_non_null(nm_setup_manifest_find(&m, NM_SETUP_WROTE_FILE, CONFIG));
    assert_int_equal(nm_setup_plan_note(&w.request, &w.facts.manifest, &w.plan, true, &w.arena, &m), 0);
    assert_false(nm_setup_entry_has(nm_setup_manifest_find(&m, NM_SETUP_WROTE_FILE, UNIT), before[0].sums[0]));
    fixture_done(&w);
}

/* Another program has removed a directory or file of the manifest and made it again. The new one doesn't belong to the
 * setup. */
static void test_a_file_replaced_by_another_program_is_not_changed(void **state)
{
    struct nm_setup_entry before[] = {
        {.kind = NM_SETUP_MADE_DIR, .path = "/data/1/yarn"},
        {.kind = NM_SETUP_CHANGED_DIR, .path = "/data/1/logs", .uid = 107, .gid = 110, .mode = 0750},
        {.kind = NM_SETUP_WROTE_FILE, .path = UNIT, .sums = {SUM}},
    };
    struct nm_setup_manifest m;
    struct fixture w;

    (void)state;
    fixture_init(&w, DIRS);
    note(&w, before, NM_ARRAY_SIZE(before));
    w.dirs[0] = (struct nm_setup_path){.path = "/data/1/yarn", .kind = NM_SETUP_DIR, .uid = 55, .mode = 0755};
    be_file(&w, &w.facts.unit, "of somebody else");
    plan(&w);
    for (int done = 0; done < 2; done++) {
        assert_int_equal(nm_setup_plan_note(&w.request, &w.facts.manifest, &w.plan, done, &w.arena, &m), 0);
        assert_int_equal(nm_setup_manifest_find(&m, NM_SETUP_CHANGED_DIR, "/data/1/yarn")->uid, 55);
        assert_null(nm_setup_manifest_find(&m, NM_SETUP_MADE_DIR, "/data/1/yarn"));
        assert_non_null(nm_setup_manifest_find(&m, NM_SETUP_MADE_DIR, "/data/1/logs")); /* the directory was missing */
        assert_null(nm_setup_manifest_find(&m, NM_SETUP_CHANGED_DIR, "/data/1/logs"));
        assert_false(nm_setup_entry_has(nm_setup_manifest_find(&m, NM_SETUP_WROTE_FILE, UNIT), w.facts.unit.sha256));
        assert_int_equal(m.n, 5); /* the other entries are /usr/local/hadoop/tmp, UNIT and CONFIG */
    }
    fixture_done(&w);
}

/* ---- undo ----------------------------------------------------------------------------------- */

static const struct nm_setup_undo_step *undone(const struct nm_setup_undo *u, const char *path)
{
    for (size_t i = 0; i < u->n; i++)
        if (nm_streq(u->steps[i].entry->path, path))
            return &u->steps[i];
    fail_msg("no step for %s", path);
    return NULL;
}

static void test_the_plan_of_an_undo_restores_the_host(void **state)
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
    struct nm_setup_remaining left[NM_ARRAY_SIZE(entries)] = {
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
    /* this directory contains the manifest with the remaining entries */
    assert_int_equal(undone(&u, "/v")->act, NM_SETUP_STAY);
    assert_non_null(strstr(undone(&u, "/v")->why, "yarn-setup"));
    assert_int_equal(undone(&u, "/l")->act, NM_SETUP_STAY);
    assert_non_null(strstr(undone(&u, "/l")->why, "usercache"));
    assert_int_equal(u.kept.n, 4);
    assert_string_equal(u.kept.conf_dir, "/c");
    assert_non_null(nm_setup_manifest_find(&u.kept, NM_SETUP_MADE_DIR, "/l"));
    assert_non_null(nm_setup_manifest_find(&u.kept, NM_SETUP_CHANGED_DIR, "/d/2"));

    left[3].spot.sha256 = SUM; /* now all entries of the manifest can be undone */
    left[6].spot.mode = 0755;
    left[8].names[0] = NULL;
    assert_int_equal(nm_setup_undo_plan(&m, left, 0, 0, "/v/yarn-setup", &a, &u), 0);
    assert_int_equal(undone(&u, "/v")->act, NM_SETUP_REMOVE); /* the manifest is removed as well */
    assert_int_equal(u.kept.n, 0);
    nm_arena_done(&a);
}

/* An interrupted setup may leave temporary files for a file of the manifest, or for the manifest itself. An undo
 * removes them. */
static void test_temporary_files_are_removed_by_an_undo(void **state)
{
    struct nm_setup_entry entries[] = {
        {.kind = NM_SETUP_WROTE_FILE, .path = "/e/50", .sums = {SUM}},
        {.kind = NM_SETUP_MADE_DIR, .path = "/e"},
        {.kind = NM_SETUP_MADE_DIR, .path = "/v"},
    };
    const char *in_e[] = {".50.new", NULL}, *in_v[] = {"yarn-setup", ".yarn-setup.new", NULL};
    const struct nm_setup_manifest m = {.conf_dir = "/c", .entries = entries, .n = NM_ARRAY_SIZE(entries)};
    struct nm_setup_remaining left[NM_ARRAY_SIZE(entries)] = {
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
    left[0].has_new = false; /* for example, a directory has this name */
    assert_int_equal(nm_setup_undo_plan(&m, left, 0, 0, "/v/yarn-setup", &a, &u), 0);
    assert_int_equal(undone(&u, "/e")->act, NM_SETUP_STAY);
    nm_arena_done(&a);
}

/* The owner of a directory is restored, but not the owners of its contents. The message names these contents, whatever
 * an earlier undo has left. */
static void test_an_undo_names_contents_that_keep_their_owner(void **state)
{
    struct nm_setup_entry e = {.kind = NM_SETUP_CHANGED_DIR, .path = "/d", .uid = 107, .gid = 110, .mode = 0775};
    const char *names[] = {"usercache", "filecache", "nmPrivate", "a", "b", NULL};
    const struct nm_setup_manifest m = {.conf_dir = "/c", .entries = &e, .n = 1};
    struct nm_setup_remaining left = {.spot = {.kind = NM_SETUP_DIR, .mode = 0755}, .names = names};
    struct nm_setup_undo u;
    struct nm_arena a;

    (void)state;
    nm_arena_init(&a, 1 << 20, NULL);
    assert_int_equal(nm_setup_undo_plan(&m, &left, 0, 0, "/v", &a, &u), 0);
    assert_int_equal(u.steps[0].act, NM_SETUP_RESTORE);
    assert_int_equal(u.kept.n, 0);
    assert_non_null(strstr(u.steps[0].why, "(usercache, filecache, nmPrivate, a and more)"));
    assert_non_null(strstr(u.steps[0].why, "chown -R 107:110 /d, or empty it"));
    left.spot = (struct nm_setup_path){.kind = NM_SETUP_DIR, .uid = 107, .gid = 110, .mode = 0775};
    names[4] = NULL;
    assert_int_equal(nm_setup_undo_plan(&m, &left, 0, 0, "/v", &a, &u), 0);
    assert_int_equal(u.steps[0].act, NM_SETUP_GONE);
    assert_non_null(strstr(u.steps[0].why, "(usercache, filecache, nmPrivate, a)"));
    names[0] = NULL;
    assert_int_equal(nm_setup_undo_plan(&m, &left, 0, 0, "/v", &a, &u), 0);
    assert_null(u.steps[0].why);
    e.uid = 0; /* only the mode of the directory was changed */
    left.spot = (struct nm_setup_path){.kind = NM_SETUP_DIR, .mode = 0755};
    names[0] = "usercache";
    assert_int_equal(nm_setup_undo_plan(&m, &left, 0, 0, "/v", &a, &u), 0);
    assert_null(u.steps[0].why);
    nm_arena_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_setup_of_a_new_host_writes_all_files),
        cmocka_unit_test(test_files_with_the_right_contents_are_kept),
        cmocka_unit_test(test_directories_with_the_right_owner_and_mode_are_kept),
        cmocka_unit_test(test_directories_below_a_repaired_directory_can_be_used),
        cmocka_unit_test(test_paths_are_normalized),
        cmocka_unit_test(test_a_shared_directory_keeps_its_owner),
        cmocka_unit_test(test_each_decision_left_to_the_administrator_is_in_the_advice),
        cmocka_unit_test(test_lending_has_conditions_outside_of_the_node),
        cmocka_unit_test(test_a_complete_setup_has_no_advice),
        cmocka_unit_test(test_the_manifest_is_read_as_it_was_written),
        cmocka_unit_test(test_each_change_is_in_the_manifest_before_it_is_made),
        cmocka_unit_test(test_a_file_replaced_by_another_program_is_not_changed),
        cmocka_unit_test(test_the_plan_of_an_undo_restores_the_host),
        cmocka_unit_test(test_temporary_files_are_removed_by_an_undo),
        cmocka_unit_test(test_an_undo_names_contents_that_keep_their_owner),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
