# Unit tests and property tests: tests/unit/test-x is made from test-x.c. They need no root. To add a test, add its
# name to the list of the libraries that it is linked with. The rest of this file is for tests that need programs that they start,
# files that they share, or functions that they replace.
util_tests = %D%/test-array %D%/test-autogroup %D%/test-become %D%/test-fair-queue %D%/test-fileio %D%/test-frame \
	%D%/test-inherited %D%/test-json-text %D%/test-lockfile %D%/test-loop %D%/test-option %D%/test-parse %D%/test-peer \
	%D%/test-quota %D%/test-utf8
cgroup_tests = %D%/test-cgroup-choice %D%/test-cgroup-direct %D%/test-cgroup-fake %D%/test-cgroup-files \
	%D%/test-cgroup-nested %D%/test-cgroup-parse %D%/test-cgroup-pass %D%/test-cgroup-procs \
	%D%/test-cgroup-signal %D%/test-cgroup-watch %D%/test-libcg %D%/test-netprio %D%/test-netprio-probe \
	%D%/test-systemd %D%/test-systemd-failures
monitor_tests = %D%/test-cgsample %D%/test-cgsample-kept %D%/test-history %D%/test-link %D%/test-link-failures %D%/test-monitor-parse \
	%D%/test-node %D%/test-pagewalk %D%/test-sampling-failures %D%/test-sampling-many
policy_tests = %D%/test-decision %D%/test-policy-admit %D%/test-policy-breaker %D%/test-policy-pass \
	%D%/test-policy-preempt %D%/test-policy-property %D%/test-policy-reclaim %D%/test-policy-room \
	%D%/test-policy-stall %D%/test-policy-surge %D%/test-policy-time %D%/test-policy-victims
agent_tests = %D%/test-acts %D%/test-admin-script %D%/test-adopt %D%/test-config %D%/test-container %D%/test-durable %D%/test-ends \
	%D%/test-event-file %D%/test-health %D%/test-launch %D%/test-launch-failures \
	%D%/test-launch-nmd-failures %D%/test-launch-output %D%/test-launch-record %D%/test-launch-spawner %D%/test-limits %D%/test-log-dir \
	%D%/test-long-history %D%/test-manager %D%/test-manager-memory %D%/test-manager-settings \
	%D%/test-output-failures %D%/test-output-times %D%/test-over-beta %D%/test-owner %D%/test-owner-steps \
	%D%/test-recorder %D%/test-recovery %D%/test-rerun %D%/test-room-record %D%/test-run-phase %D%/test-session-failures \
	%D%/test-settings %D%/test-shim-list %D%/test-slice %D%/test-snapshot-failures %D%/test-starts \
	%D%/test-store %D%/test-store-backlog %D%/test-store-cost %D%/test-store-damage %D%/test-store-failures \
	%D%/test-store-parts %D%/test-swap-reclaim %D%/test-users
client_tests = %D%/test-client %D%/test-reply
messages_tests = %D%/test-json-scan %D%/test-messages-memory %D%/test-messages-parse
local_tests = %D%/test-local-abuse %D%/test-local-accept %D%/test-local-listen %D%/test-local-logs \
	%D%/test-local-memory %D%/test-local-pages %D%/test-local-server %D%/test-local-start-memory %D%/test-local-streams \
	%D%/test-local-web %D%/test-messages %D%/test-target
openapi_tests = %D%/test-openapi
hadoop_tests = %D%/test-hadoop-abuse %D%/test-hadoop-memory %D%/test-hadoop-packet %D%/test-hadoop-rpc \
	%D%/test-hadoop-sasl %D%/test-hadoop-token
yarn_tests = %D%/test-yarn-allocator %D%/test-yarn-allocator-property %D%/test-yarn-become %D%/test-yarn-cm-memory \
	%D%/test-yarn-cm-protocol %D%/test-yarn-conf %D%/test-yarn-container-dirs %D%/test-yarn-descriptors %D%/test-yarn-executor \
	%D%/test-yarn-ids %D%/test-yarn-logs %D%/test-yarn-logs-property %D%/test-yarn-logs-uploads \
	%D%/test-yarn-key-store %D%/test-yarn-launch %D%/test-yarn-launch-memory %D%/test-yarn-lending \
	%D%/test-yarn-launch-parts %D%/test-yarn-log-files %D%/test-yarn-launcher %D%/test-yarn-launcher-disks %D%/test-yarn-launcher-failures %D%/test-yarn-launcher-removal \
	%D%/test-yarn-launcher-room %D%/test-yarn-migrate %D%/test-yarn-net %D%/test-yarn-node-dirs %D%/test-yarn-node-rooms %D%/test-yarn-peer \
	%D%/test-yarn-proxy-asks %D%/test-yarn-lend %D%/test-yarn-lend-grant %D%/test-yarn-lend-observe %D%/test-yarn-lend-promote \
	%D%/test-yarn-allocator-lent %D%/test-yarn-lend-answers %D%/test-yarn-lend-keys %D%/test-yarn-lend-limits \
	%D%/test-yarn-lend-property %D%/test-yarn-lend-updates \
	%D%/test-yarn-proxy-store %D%/test-yarn-proxy-tokens %D%/test-yarn-proxying %D%/test-yarn-reader-report %D%/test-yarn-retention %D%/test-yarn-settings \
	%D%/test-yarn-setup %D%/test-yarn-setup-acts %D%/test-yarn-setup-facts %D%/test-yarn-setup-service \
	%D%/test-yarn-shuffle-process %D%/test-yarn-spark-config %D%/test-yarn-state %D%/test-yarn-token
yarn_agent_tests = %D%/test-yarn-check %D%/test-yarn-execution-type %D%/test-yarn-exit %D%/test-yarn-health \
	%D%/test-yarn-gpus %D%/test-yarn-labels %D%/test-yarn-resources \
	%D%/test-yarn-lend-attempts %D%/test-yarn-lend-distribute %D%/test-yarn-lend-history %D%/test-yarn-lend-log \
	%D%/test-yarn-lend-rooms %D%/test-yarn-lend-stage %D%/test-yarn-lend-stage-calls \
	%D%/test-yarn-lend-stage-promotions \
	%D%/test-yarn-lend-untouched %D%/test-yarn-memory %D%/test-yarn-node %D%/test-yarn-proxy \
	%D%/test-yarn-proxy-failures %D%/test-yarn-refusals %D%/test-yarn-reinit %D%/test-yarn-reinit-limits %D%/test-yarn-heartbeat \
	%D%/test-yarn-aux-host %D%/test-yarn-shuffle %D%/test-yarn-shuffle-failures %D%/test-yarn-size %D%/test-yarn-spark %D%/test-yarn-tracker
yarn_local_tests = %D%/test-yarn-lend-view %D%/test-yarn-log-text %D%/test-yarn-node-rest %D%/test-yarn-proxy-stats \
	%D%/test-yarn-rest %D%/test-yarn-web
shuffle_tests = %D%/test-shuffle-control %D%/test-shuffle-idle %D%/test-shuffle-output %D%/test-shuffle-pool \
	%D%/test-shuffle-range \
	%D%/test-shuffle-refusing %D%/test-shuffle-request %D%/test-shuffle-server %D%/test-shuffle-share %D%/test-shuffle-slots \
	%D%/test-shuffle-task-queue %D%/test-shuffle-work
spark_tests = %D%/test-spark-applications %D%/test-spark-auth %D%/test-spark-block %D%/test-spark-block-file \
	%D%/test-spark-block-index %D%/test-spark-control %D%/test-spark-data-files %D%/test-spark-frame %D%/test-spark-guests \
	%D%/test-spark-limits %D%/test-spark-memory %D%/test-spark-message %D%/test-spark-sasl %D%/test-spark-sender %D%/test-spark-server %D%/test-spark-session %D%/test-spark-streams
localize_tests = %D%/test-localize-cache %D%/test-localize-leftovers %D%/test-localize-user-queue %D%/test-localizer \
	%D%/test-localizer-many %D%/test-localizer-trees %D%/test-localizer-users
localizer_tests = %D%/test-localize-parts %D%/test-localize-pattern %D%/test-localize-servers \
	%D%/test-localize-unpack %D%/test-localize-worker %D%/test-remove-tree
log_uploader_tests = %D%/test-log-upload-parts %D%/test-log-uploader %D%/test-log-uploader-again
nmctl_tests = %D%/test-nmctl %D%/test-nmctl-lending %D%/test-nmctl-top %D%/test-nmctl-verbs
nmctl_agent_tests = %D%/test-nmctl-parts
sim_tests = %D%/test-sim-cases %D%/test-sim-property %D%/test-sim-trace %D%/test-sim-node
scale_tests = %D%/test-scale-choose %D%/test-scale-files %D%/test-scale-parse %D%/test-scale-property
log_format_tests = %D%/test-log-format %D%/test-log-meta
unit_tests = $(util_tests) $(cgroup_tests) $(monitor_tests) $(policy_tests) $(agent_tests) $(client_tests) \
	$(messages_tests) $(local_tests) $(openapi_tests) $(hadoop_tests) $(yarn_tests) $(yarn_agent_tests) \
	$(yarn_local_tests) $(shuffle_tests) $(spark_tests) $(localize_tests) $(localizer_tests) $(log_uploader_tests) \
	$(nmctl_tests) \
	$(nmctl_agent_tests) $(sim_tests) $(scale_tests) $(log_format_tests)
scripts_tests = %D%/test-nmctl-completion.sh %D%/test-zsh-completion.sh %D%/test-nmsim-completion.sh %D%/test-documented.sh
check_PROGRAMS += $(unit_tests)
dist_check_SCRIPTS += $(scripts_tests)
TESTS += $(unit_tests) $(scripts_tests)

# ./check --changed asks for some of these lists by their names.
all_tests = $(TESTS)
print-tests:
	@echo $(foreach list,$(LISTS),$($(list)_tests) $($(list)_fuzz))

# The libraries are prerequisites, and the link takes them from there: a change in nmctl/ links nmctl's tests alone.
# $(call archives,LIBRARY) is this library and the libraries that it needs.
archives = $(filter %.a,$($(1)_libs))
$(util_tests) $(util_fuzz): $(call archives,util) $(call archives,json)
$(cgroup_tests) $(cgroup_fuzz): $(call archives,cgroup)
$(monitor_tests) $(monitor_fuzz): $(call archives,monitor)
$(policy_tests): $(call archives,agent)
$(agent_tests) $(agent_fuzz): $(call archives,agent) | nm-shim
$(client_tests) $(client_fuzz): $(call archives,client)
$(messages_tests) $(messages_fuzz): $(call archives,messages) $(call archives,client)
$(local_tests) $(local_fuzz): $(call archives,local)
$(openapi_tests): $(call archives,local) $(call archives,yarn)
$(hadoop_tests) $(hadoop_fuzz): $(call archives,hadoop)
$(yarn_tests) $(yarn_fuzz): $(call archives,yarn) | nm-localizer nm-shim
$(yarn_agent_tests) $(yarn_agent_fuzz): $(call archives,yarn) $(call archives,agent) | nm-shim nm-localizer nm-shuffle nm-spark-shuffle
$(yarn_local_tests): $(call archives,yarn) $(call archives,local) $(call archives,agent) | nm-shim
$(shuffle_tests) $(shuffle_fuzz): $(call archives,shuffle)
$(spark_tests) $(spark_fuzz): $(call archives,spark)
$(localize_tests) $(localize_fuzz): $(call archives,localize) | nm-localizer
$(localizer_tests) $(localizer_fuzz): $(call archives,localizer)
$(log_uploader_tests) $(log_uploader_fuzz): $(call archives,log_uploader)
$(nmctl_tests): $(call archives,nmctl) | nmctl/nmctl
$(nmctl_agent_tests): $(call archives,nmctl) $(call archives,agent)
$(sim_tests) $(sim_fuzz): $(call archives,sim)
$(scale_tests) $(scale_fuzz): $(call archives,scale)
$(log_format_tests) $(log_format_fuzz): $(call archives,log_format)

# A program is linked from the objects and libraries among its prerequisites. make lists each library once, so the linker searches
# the libraries as a group. The linker leaves out libraries of the system that a test does not need.
unit_programs = $(unit_tests) $(fuzz_programs)
$(unit_programs): private LINK = $(CCLD) $(AM_CFLAGS) $(CFLAGS) $(AM_LDFLAGS) $(LDFLAGS) $(unit_wraps) -o $@
$(unit_programs): private LDADD = $(filter-out $@.o,$(filter %.o,$^)) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group \
	$(unit_system_libs)
unit_system_libs = $(CMOCKA_LIBS) $(MHD_LIBS) $(EXPAT_LIBS) $(CURL_LIBS) $(ARCHIVE_LIBS) $(PCRE2_LIBS) $(PROTOBUF_C_LIBS) \
	$(GSASL_LIBS) $(HOGWEED_LIBS) $(NETTLE_LIBS) $(NL_LIBS) $(CGROUP_LIBS) $(SYSTEMD_LIBS) $(JANSSON_LIBS) $(SQLITE_LIBS) $(INIH_LIBS) \
	$(ZLIB_LIBS) -lm
# x_y_wraps, below, lists the functions that the file x-y.c replaces with ld's --wrap.
unit_wraps = $(addprefix -Wl$(comma)--wrap=,$(foreach o,$(filter %.o,$^),$($(subst -,_,$(basename $(notdir $(o))))_wraps)))
comma = ,
%D%/%.o tests/fuzz/%.o: private AM_CFLAGS += $(CMOCKA_CFLAGS) $(ARCHIVE_CFLAGS)
%D%/%.o: private AM_CPPFLAGS += -DNM_TEST_SRCDIR=\"$(abs_top_srcdir)\" \
	-DNM_TEST_SHIM=\"$(abs_top_builddir)/nm-shim\" -DNM_TEST_FAILING_SHIM=\"$(abs_top_builddir)/failing-shim\"

# ---- files that tests share ----
# $(call fixture,FILES,TESTS): these tests use these files. If a fixture uses other fixtures, FILES has all of them, and its
# header includes their headers. So a test includes one fixture and is in one row for it. The library only tells automake of
# the files; it is not built.
fixture = $(eval $(2:%=%D%/test-%): $(1:%=%D%/%.o))
EXTRA_LIBRARIES = %D%/libfixtures.a
%C%_libfixtures_a_SOURCES = %D%/aux-service-fixture.c %D%/direct-fixture.c %D%/dirs-fixture.c %D%/fail-files.c %D%/fail-nth.c %D%/failing-calls.c \
	%D%/failing-launch.c %D%/fake-launcher.c %D%/fake-libcgroup.c %D%/fake-manager.c %D%/fake-netlink.c \
	%D%/fake-nmd.c %D%/fake-processes.c %D%/fake-systemd.c %D%/fake-yarn-node.c %D%/hadoop-fixture.c \
	%D%/health-fixture.c %D%/http-fixture.c %D%/persistent-cgroups.c %D%/launch-fixture.c %D%/launcher-fixture.c \
	%D%/lend-fixture.c %D%/lend-model.c %D%/lend-model-books.c %D%/localizer-fixture.c %D%/log-uploader-fixture.c %D%/manager-fixture.c %D%/nmctl-run.c %D%/openapi.c \
	%D%/policy-fixture.c %D%/policy-oracle-facts.c %D%/policy-oracle-pass.c %D%/policy-oracle.c %D%/policy-simulation.c \
	%D%/proxy-fixture.c %D%/lend-stage-fixture.c \
	%D%/refused-requests.c %D%/reinit-fixture.c %D%/sample-fixture.c %D%/shuffle-client.c \
	%D%/shuffle-service-fixture.c %D%/shuffle-fixture.c %D%/spark-client.c %D%/spark-fixture.c \
	%D%/sqlite-failures.c %D%/store-fixture.c %D%/systemd-fixture.c \
	%D%/tracker-fixture.c
noinst_HEADERS += %D%/aux-service-fixture.h %D%/canned-server.h %D%/cgroup-answer.h %D%/counted-memory.h %D%/described.h %D%/direct-fixture.h \
	%D%/dirs-fixture.h %D%/each-arena-size.h %D%/fail-nth.h %D%/failing-calls.h %D%/failing-launch.h %D%/failure.h \
	%D%/fake-launcher.h %D%/fake-libcgroup.h %D%/fake-manager.h %D%/fake-netlink.h %D%/fake-nmd.h \
	%D%/fake-processes.h %D%/fake-systemd.h %D%/fake-tree.h %D%/fake-yarn-node.h %D%/far-hosts.h %D%/hadoop-fixture.h \
	%D%/health-fixture.h %D%/http-fixture.h %D%/launch-fixture.h %D%/launcher-fixture.h %D%/lend-fixture.h \
	%D%/lend-model.h %D%/limit-files.h %D%/localizer-fixture.h %D%/log-uploader-fixture.h %D%/loopback.h %D%/manager-fixture.h %D%/message-copy.h \
	%D%/nmctl-run.h %D%/lend-stage-fixture.h \
	%D%/open-descriptors.h %D%/openapi.h %D%/own-cgroup.h %D%/persistent-cgroups.h %D%/policy-fixture.h \
	%D%/policy-oracle-facts.h %D%/policy-oracle.h %D%/policy-simulation.h %D%/proxy-fixture.h \
	%D%/proxy-stats-expected.h %D%/refused-requests.h %D%/refusing-system.h %D%/reinit-fixture.h %D%/remove-tree.h \
	%D%/run-until.h %D%/sample-fixture.h %D%/scale-model.h %D%/setup-root.h %D%/setup-settings.h %D%/shuffle-client.h \
	%D%/shuffle-fixture.h %D%/shuffle-service-fixture.h %D%/spark-bytes.h %D%/spark-client.h %D%/spark-fixture.h \
	%D%/sqlite-failures.h %D%/store-fixture.h \
	%D%/systemd-fixture.h %D%/tracker-fixture.h %D%/worker-run.h %D%/yarn-default.h %D%/yarn-starts.h \
	%D%/yarn-tokens.h

$(call fixture,direct-fixture,cgroup-files cgroup-nested)
$(call fixture,dirs-fixture,yarn-become yarn-node-dirs yarn-container-dirs)
$(call fixture,fake-launcher manager-fixture,yarn-node yarn-node-rest yarn-refusals)
$(call fixture,fake-libcgroup direct-fixture,libcg)
$(call fixture,fake-manager,messages)
$(call fixture,fake-netlink,link-failures)
$(call fixture,fake-nmd,client)
$(call fixture,fake-processes,cgroup-procs cgroup-signal cgroup-pass netprio-probe)
$(call fixture,fake-yarn-node,yarn-cm-memory yarn-cm-protocol yarn-peer yarn-node-rooms)
$(call fixture,failing-launch launch-fixture,launch-failures launch-nmd-failures session-failures)
$(call fixture,hadoop-fixture,hadoop-abuse hadoop-memory hadoop-rpc)
$(call fixture,health-fixture,admin-script health)
$(call fixture,http-fixture fake-manager,local-abuse local-accept local-logs local-server local-start-memory \
	local-pages local-streams local-web openapi)
$(call fixture,launch-fixture,adopt launch launch-output launch-spawner)
$(call fixture,launcher-fixture,yarn-log-files yarn-launcher yarn-launcher-disks yarn-launcher-failures yarn-launcher-removal \
	yarn-launcher-room yarn-logs-uploads yarn-retention)
$(call fixture,lend-fixture,yarn-lend yarn-lend-answers yarn-lend-grant yarn-lend-keys yarn-lend-limits yarn-lend-observe \
	yarn-lend-promote yarn-lend-updates)
$(call fixture,lend-model lend-model-books,yarn-lend-property)
$(call fixture,lend-stage-fixture proxy-fixture fail-nth,yarn-lend-history yarn-lend-stage \
	yarn-lend-attempts yarn-lend-stage-calls yarn-lend-stage-promotions yarn-lend-untouched yarn-lend-distribute yarn-lend-rooms)
$(call fixture,localizer-fixture,localizer localizer-many localizer-trees localizer-users)
$(call fixture,log-uploader-fixture,log-uploader log-uploader-again)
$(call fixture,manager-fixture,acts durable ends limits log-dir manager manager-settings owner owner-steps recorder \
	rerun starts)
$(call fixture,nmctl-run fake-nmd,nmctl nmctl-lending nmctl-verbs)
$(call fixture,openapi,openapi yarn-lend-view yarn-log-text yarn-node-rest yarn-proxy-stats yarn-rest yarn-web)
$(call fixture,persistent-cgroups manager-fixture,manager-memory recovery)
$(call fixture,policy-fixture,policy-admit policy-breaker policy-pass policy-preempt policy-reclaim policy-room \
	policy-stall policy-surge policy-time policy-victims)
$(call fixture,policy-oracle policy-oracle-facts policy-oracle-pass policy-simulation,policy-property)
$(call fixture,proxy-fixture,yarn-proxy yarn-proxy-failures)
$(call fixture,refused-requests http-fixture fake-manager fail-nth,local-memory)
$(call fixture,reinit-fixture fake-launcher manager-fixture,yarn-execution-type yarn-reinit yarn-reinit-limits)
$(call fixture,sample-fixture,cgsample cgsample-kept pagewalk sampling-failures sampling-many)
$(call fixture,shuffle-client shuffle-fixture,shuffle-pool shuffle-refusing shuffle-server shuffle-task-queue \
	shuffle-work)
$(call fixture,shuffle-fixture,shuffle-output shuffle-range)
$(call fixture,shuffle-service-fixture aux-service-fixture fail-files fail-nth,yarn-shuffle yarn-shuffle-failures)
$(call fixture,aux-service-fixture fail-files fail-nth,yarn-spark)
$(call fixture,spark-client spark-fixture,spark-limits spark-server)
$(call fixture,spark-fixture,spark-applications spark-auth spark-block-file spark-block-index spark-control spark-session)
$(call fixture,sqlite-failures store-fixture failing-calls fail-nth,snapshot-failures store-failures)
$(call fixture,store-fixture,store store-backlog store-cost store-damage store-parts)
$(call fixture,systemd-fixture fake-systemd,cgroup-choice systemd systemd-failures)
$(call fixture,tracker-fixture manager-fixture,yarn-check yarn-gpus yarn-health yarn-labels yarn-resources yarn-size \
	yarn-tracker)

# tools that make calls fail
$(call fixture,fail-files fail-nth,manager-memory yarn-container-dirs yarn-key-store yarn-launch-memory \
	yarn-launcher-failures yarn-launcher-removal yarn-node-dirs yarn-setup-acts yarn-shuffle-process)
$(call fixture,fail-nth,yarn-logs yarn-logs-uploads admin-script array cgroup-fake cgroup-files cgroup-nested cgroup-watch client hadoop-memory health \
	history json-text link-failures local-listen local-start-memory log-format log-meta messages-memory node \
	sampling-failures sampling-many systemd-failures users yarn-become yarn-check yarn-cm-memory yarn-lend yarn-lend-grant \
	yarn-memory yarn-net yarn-node yarn-node-rest yarn-proxy-failures yarn-reinit-limits yarn-tracker)
$(call fixture,failing-calls,output-times)
$(call fixture,failing-calls fail-nth,launch-nmd-failures output-failures)

# ---- functions that are replaced ----
fail_nth_wraps = malloc calloc realloc reallocarray strdup strndup asprintf __asprintf_chk sd_bus_new \
	sd_bus_set_address sd_bus_start sd_bus_attach_event sd_bus_match_signal sd_bus_match_signal_async \
	sd_bus_add_match_async sd_bus_message_new_method_call sd_bus_message_open_container \
	sd_bus_message_close_container sd_bus_message_set_expect_reply sd_bus_call_async sd_bus_send \
	sd_bus_path_encode sd_bus_message_append sd_bus_call_method_async sd_event_add_io sd_event_add_time \
	sd_event_add_time_relative sd_event_add_inotify sd_event_add_defer sd_event_add_child open openat
fail_files_wraps = access mkdir mkdirat fstat fstatat chmod fchmod fchmodat fchown renameat unlinkat symlinkat \
	fstatvfs pread write fdopendir opendir fcntl pipe2 fork pidfd_open dup2 dup3 chdir open_memstream fclose \
	fstat64 fstatat64 fstatvfs64 pread64 fcntl64 open64 openat64
failing_calls_wraps = chdir dup2 dup3 fchdir fchown fcntl fork fstat fstatfs fsync ftruncate getresuid getrlimit \
	ioctl linkat memfd_create mount pidfd_open pipe2 poll prctl pread pwrite read recv renameat send sendmsg setgroups setns \
	setresgid setresuid setsid setsockopt signalfd socketpair syscall unlinkat unshare wait4 waitpid write
persistent_cgroups_wraps = nm_cgroup_backend_new
# The tests put the clock forward instead of waiting for deadlines of a minute. They test root's service manager and a user's.
systemd_fixture_wraps = clock_gettime geteuid sd_booted
lend_stage_fixture_wraps = clock_gettime nm_lender_enlist nm_lend_each_key nm_peers_ask_application nm_peers_ask_room \
	nm_peers_update nm_peers_forget
test_become_wraps = getgrouplist
test_cgroup_choice_wraps = nm_mount_find
test_cgroup_files_wraps = nm_procs_is_member nm_write_file_at
test_cgroup_nested_wraps = geteuid access nm_mount_own_cgroup nm_write_file_at
fake_processes_wraps = nm_read_file_at read fdopendir syscall
test_cgroup_watch_wraps = write
test_client_wraps = socket connect send recv __recv_chk poll __poll_chk
fake_libcgroup_wraps = cgroup_init cgroup_set_logger cgroup_get_subsys_mount_point cgroup_new_cgroup \
	cgroup_add_controller cgroup_set_value_string cgroup_modify_cgroup cgroup_create_cgroup \
	cgroup_delete_cgroup_ext cgroup_get_last_errno
fake_netlink_wraps = nl_socket_alloc nl_connect nl_socket_set_nonblocking sendto recvfrom nm_read_file_at
test_health_wraps = kill
test_local_accept_wraps = accept4
test_local_listen_wraps = socket listen chmod getsockopt setsockopt
refused_requests_wraps = open_memstream MHD_create_response_from_buffer \
	MHD_create_response_from_buffer_with_free_callback_cls MHD_create_response_from_callback \
	MHD_create_response_for_upgrade MHD_add_response_header
test_local_web_wraps = accept4
test_localize_unpack_wraps = linkat
test_localize_worker_wraps = renameat2 copy_file_range sendfile sendfile64
test_localizer_wraps = getgrouplist
test_localizer_many_wraps = utimensat fstatat unlinkat fork
test_localizer_trees_wraps = fork
test_localizer_users_wraps = nm_worker_reply_parse
test_output_times_wraps = clock_gettime
test_pagewalk_wraps = fork waitpid
test_yarn_launcher_wraps = clock_gettime
test_yarn_retention_wraps = clock_gettime
test_swap_reclaim_wraps = nm_cgroup_reclaim
test_sampling_many_wraps = fork
test_sampling_failures_wraps = fork pipe2 pread __pread_chk
test_shuffle_task_queue_wraps = syscall
test_shuffle_refusing_wraps = accept4 pthread_create poll posix_fadvise preadv2 sendfile
test_spark_sender_wraps = clock_gettime
test_spark_limits_wraps = syscall
test_spark_server_wraps = pread pread64 send sendfile sendfile64 syscall
test_users_wraps = getpwnam_r getgrnam_r
test_yarn_container_dirs_wraps = setfsuid

# ---- programs that are not tests ----
# failing-shim is made from nm-shim's own files, in which a test makes a call fail. Like nm-shim it has its own flags.
check_PROGRAMS += failing-shim
failing_shim_SOURCES = $(nm_shim_SOURCES) %D%/failing-shim.c %D%/failing-calls.c
failing_shim_CFLAGS = $(AM_CFLAGS)
failing_shim_LDFLAGS = $(AM_LDFLAGS) \
	$(addprefix -Wl$(comma)--wrap=,$(failing_calls_wraps) open openat malloc calloc asprintf)
$(eval %D%/test-launch-failures %D%/test-launch-nmd-failures %D%/test-session-failures: | failing-shim)

# Programs for other suites. tests/integration runs openapi-check against a running nmd. tests/vm runs vm-cgroup-backend, which
# does not use cmocka, because the guest does not have it.
check_PROGRAMS += openapi-check vm-cgroup-backend
openapi_check_SOURCES = %D%/openapi-check.c %D%/openapi.c
openapi_check_LDADD = $(client_libs)
vm_cgroup_backend_SOURCES = tests/vm/cgroup-backend.c
vm_cgroup_backend_LDADD = $(cgroup_libs)
