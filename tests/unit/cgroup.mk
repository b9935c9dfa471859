# unit tests of cgroup
cgroup_tests = test-cgroup-parse test-cgroup-fake test-cgroup-direct test-cgroup-procs test-netprio
check_PROGRAMS += $(cgroup_tests)
TESTS += $(cgroup_tests)

test_cgroup_parse_SOURCES = %D%/test-cgroup-parse.c
test_cgroup_parse_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_cgroup_parse_LDADD = libnm-cgroup.la $(unit_libs)

test_netprio_SOURCES = %D%/test-netprio.c %D%/own-cgroup.h
test_netprio_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_netprio_LDADD = libnm-cgroup.la $(unit_libs)

test_cgroup_fake_SOURCES = %D%/test-cgroup-fake.c %D%/fake-tree.h $(fail_nth)
test_cgroup_fake_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_cgroup_fake_LDFLAGS = $(AM_LDFLAGS) $(fail_nth_wraps)
test_cgroup_fake_LDADD = libnm-cgroup.la $(unit_libs) $(SYSTEMD_LIBS)

# needs a cgroup2 mount that it may write to, else it skips
test_cgroup_direct_SOURCES = %D%/test-cgroup-direct.c
test_cgroup_direct_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_cgroup_direct_LDADD = libnm-cgroup.la $(unit_libs)

test_cgroup_procs_SOURCES = %D%/test-cgroup-procs.c %D%/fake-tree.h
test_cgroup_procs_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_cgroup_procs_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=nm_read_file_at -Wl,--wrap=read -Wl,--wrap=fdopendir \
	-Wl,--wrap=syscall
test_cgroup_procs_LDADD = libnm-cgroup.la $(unit_libs)

# Deadlines of a minute aren't waited for; both root's manager and a user's are tried.
systemd_world = %D%/systemd-world.c %D%/systemd-world.h %D%/fake-systemd.c %D%/fake-systemd.h %D%/fake-tree.h
systemd_wraps = -Wl,--wrap=clock_gettime -Wl,--wrap=geteuid -Wl,--wrap=sd_booted
# of fail-nth.c
fail_nth = %D%/fail-nth.c %D%/fail-nth.h
fail_nth_wraps = -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc -Wl,--wrap=reallocarray -Wl,--wrap=strdup \
	-Wl,--wrap=strndup -Wl,--wrap=asprintf -Wl,--wrap=__asprintf_chk -Wl,--wrap=sd_bus_new \
	-Wl,--wrap=sd_bus_set_address -Wl,--wrap=sd_bus_start -Wl,--wrap=sd_bus_attach_event \
	-Wl,--wrap=sd_bus_match_signal -Wl,--wrap=sd_bus_match_signal_async -Wl,--wrap=sd_bus_add_match_async \
	-Wl,--wrap=sd_bus_message_new_method_call -Wl,--wrap=sd_bus_message_open_container \
	-Wl,--wrap=sd_bus_message_close_container -Wl,--wrap=sd_bus_message_set_expect_reply \
	-Wl,--wrap=sd_bus_call_async -Wl,--wrap=sd_bus_send -Wl,--wrap=sd_bus_path_encode \
	-Wl,--wrap=sd_bus_message_append -Wl,--wrap=sd_bus_call_method_async -Wl,--wrap=sd_event_add_io -Wl,--wrap=sd_event_add_time \
	-Wl,--wrap=sd_event_add_time_relative -Wl,--wrap=sd_event_add_inotify -Wl,--wrap=sd_event_add_defer \
	-Wl,--wrap=sd_event_add_child -Wl,--wrap=open -Wl,--wrap=openat
# and of fail-files.c
fail_files = %D%/fail-files.c
fail_files_wraps = -Wl,--wrap=access -Wl,--wrap=mkdir -Wl,--wrap=mkdirat -Wl,--wrap=fstat -Wl,--wrap=fstatat \
	-Wl,--wrap=chmod -Wl,--wrap=fchmod -Wl,--wrap=fchmodat -Wl,--wrap=fchown -Wl,--wrap=renameat \
	-Wl,--wrap=unlinkat -Wl,--wrap=symlinkat -Wl,--wrap=fstatvfs -Wl,--wrap=pread -Wl,--wrap=write \
	-Wl,--wrap=fdopendir -Wl,--wrap=opendir -Wl,--wrap=fcntl -Wl,--wrap=pipe2 -Wl,--wrap=fork \
	-Wl,--wrap=pidfd_open -Wl,--wrap=dup2 -Wl,--wrap=dup3 -Wl,--wrap=chdir -Wl,--wrap=open_memstream \
	-Wl,--wrap=fclose -Wl,--wrap=fstat64 -Wl,--wrap=fstatat64 -Wl,--wrap=fstatvfs64 -Wl,--wrap=pread64 \
	-Wl,--wrap=fcntl64 -Wl,--wrap=open64 -Wl,--wrap=openat64

failing_calls = %D%/failing-calls.c %D%/failing-calls.h
failing_calls_wraps = -Wl,--wrap=chdir -Wl,--wrap=dup2 -Wl,--wrap=dup3 -Wl,--wrap=fchdir -Wl,--wrap=fchown \
	-Wl,--wrap=fcntl -Wl,--wrap=fork -Wl,--wrap=fstat -Wl,--wrap=fstatfs -Wl,--wrap=fsync -Wl,--wrap=ftruncate \
	-Wl,--wrap=getresuid -Wl,--wrap=getrlimit -Wl,--wrap=ioctl -Wl,--wrap=memfd_create -Wl,--wrap=mount \
	-Wl,--wrap=pidfd_open -Wl,--wrap=pipe2 -Wl,--wrap=poll -Wl,--wrap=prctl -Wl,--wrap=pread \
	-Wl,--wrap=pwrite -Wl,--wrap=read -Wl,--wrap=recv -Wl,--wrap=renameat -Wl,--wrap=send -Wl,--wrap=setgroups \
	-Wl,--wrap=setns -Wl,--wrap=setresgid -Wl,--wrap=setresuid -Wl,--wrap=setsid -Wl,--wrap=signalfd \
	-Wl,--wrap=socketpair -Wl,--wrap=syscall -Wl,--wrap=unlinkat -Wl,--wrap=unshare -Wl,--wrap=wait4 \
	-Wl,--wrap=waitpid -Wl,--wrap=write

check_PROGRAMS += test-systemd test-systemd-failures test-cgroup-choice
TESTS += test-systemd test-systemd-failures test-cgroup-choice

test_systemd_SOURCES = %D%/test-systemd.c %D%/own-cgroup.h $(systemd_world)
test_systemd_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_systemd_LDFLAGS = $(AM_LDFLAGS) $(systemd_wraps)
test_systemd_LDADD = libnm-cgroup.la $(unit_libs)

test_cgroup_choice_SOURCES = %D%/test-cgroup-choice.c $(systemd_world)
test_cgroup_choice_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_cgroup_choice_LDFLAGS = $(AM_LDFLAGS) $(systemd_wraps) -Wl,--wrap=nm_mount_find
test_cgroup_choice_LDADD = libnm-cgroup.la $(unit_libs)

test_systemd_failures_SOURCES = %D%/test-systemd-failures.c $(fail_nth) $(systemd_world)
test_systemd_failures_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_systemd_failures_LDFLAGS = $(AM_LDFLAGS) $(systemd_wraps) $(fail_nth_wraps)
test_systemd_failures_LDADD = libnm-cgroup.la $(unit_libs) $(SYSTEMD_LIBS)

direct_world = %D%/direct-world.c %D%/direct-world.h %D%/fake-tree.h
check_PROGRAMS += test-cgroup-files test-cgroup-nested test-cgroup-watch test-libcg
TESTS += test-cgroup-files test-cgroup-nested test-cgroup-watch test-libcg
test_cgroup_files_SOURCES = %D%/test-cgroup-files.c $(direct_world) $(fail_nth)
test_cgroup_files_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_cgroup_files_LDFLAGS = $(AM_LDFLAGS) $(fail_nth_wraps) -Wl,--wrap=nm_procs_is_member -Wl,--wrap=nm_write_file_at
test_cgroup_files_LDADD = libnm-cgroup.la $(unit_libs) $(SYSTEMD_LIBS)

# who isn't root, and the kernel's rule about processes in inner cgroups
test_cgroup_nested_SOURCES = %D%/test-cgroup-nested.c $(direct_world) $(fail_nth)
test_cgroup_nested_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_cgroup_nested_LDFLAGS = $(AM_LDFLAGS) $(fail_nth_wraps) -Wl,--wrap=geteuid -Wl,--wrap=access \
	-Wl,--wrap=nm_mount_own_cgroup -Wl,--wrap=nm_write_file_at
test_cgroup_nested_LDADD = libnm-cgroup.la $(unit_libs) $(SYSTEMD_LIBS)

test_cgroup_watch_SOURCES = %D%/test-cgroup-watch.c %D%/fake-tree.h %D%/own-cgroup.h $(fail_nth)
test_cgroup_watch_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_cgroup_watch_LDFLAGS = $(AM_LDFLAGS) $(fail_nth_wraps) -Wl,--wrap=write
test_cgroup_watch_LDADD = libnm-cgroup.la $(unit_libs) $(SYSTEMD_LIBS)

# libcgroup where it has the controllers that this host may not have
test_libcg_SOURCES = %D%/test-libcg.c $(direct_world)
test_libcg_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_libcg_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=cgroup_init -Wl,--wrap=cgroup_set_logger \
	-Wl,--wrap=cgroup_get_subsys_mount_point -Wl,--wrap=cgroup_new_cgroup -Wl,--wrap=cgroup_add_controller \
	-Wl,--wrap=cgroup_set_value_string -Wl,--wrap=cgroup_modify_cgroup -Wl,--wrap=cgroup_create_cgroup \
	-Wl,--wrap=cgroup_delete_cgroup_ext -Wl,--wrap=cgroup_get_last_errno
test_libcg_LDADD = libnm-cgroup.la $(unit_libs) $(CGROUP_LIBS)

# for tests/vm/suites/05-cgroup.sh: no cmocka, as the guest has none
check_PROGRAMS += vm-cgroup-backend
vm_cgroup_backend_SOURCES = tests/vm/cgroup-backend.c
vm_cgroup_backend_LDADD = libnm-cgroup.la
