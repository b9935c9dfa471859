# unit tests of agent

check_PROGRAMS += test-adopt test-launch test-launch-output test-launch-record
TESTS += test-adopt test-launch test-launch-output test-launch-record

launch_world = %D%/launch-world.c %D%/launch-world.h %D%/remove-tree.h

test_adopt_SOURCES = %D%/test-adopt.c %D%/own-cgroup.h $(launch_world)
test_adopt_CPPFLAGS = $(test_launch_CPPFLAGS)
test_adopt_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_adopt_LDADD = libnm-agent.la $(unit_libs)
EXTRA_test_adopt_DEPENDENCIES = nm-shim$(EXEEXT)

test_launch_SOURCES = %D%/test-launch.c $(launch_world)
test_launch_CPPFLAGS = $(AM_CPPFLAGS) -DNM_TEST_SHIM=\"$(abs_top_builddir)/nm-shim\"
test_launch_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_launch_LDADD = libnm-agent.la $(unit_libs)
EXTRA_test_launch_DEPENDENCIES = nm-shim$(EXEEXT)

test_launch_output_SOURCES = %D%/test-launch-output.c $(launch_world)
test_launch_output_CPPFLAGS = $(test_launch_CPPFLAGS)
test_launch_output_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_launch_output_LDADD = libnm-agent.la $(unit_libs)
EXTRA_test_launch_output_DEPENDENCIES = nm-shim$(EXEEXT)

# nm-shim's own files, whose calls can fail
check_PROGRAMS += failing-shim test-launch-failures
TESTS += test-launch-failures
failing_shim_SOURCES = $(nm_shim_SOURCES) %D%/failing-shim.c $(failing_calls)
failing_shim_CFLAGS = $(AM_CFLAGS) # of its own, as for nm-shim
failing_shim_LDFLAGS = $(AM_LDFLAGS) $(failing_calls_wraps) -Wl,--wrap=open -Wl,--wrap=openat -Wl,--wrap=malloc \
	-Wl,--wrap=calloc -Wl,--wrap=asprintf

test_launch_failures_SOURCES = %D%/test-launch-failures.c $(fail_nth) $(failing_calls) $(launch_world)
test_launch_failures_CPPFLAGS = $(test_launch_CPPFLAGS) -DNM_TEST_FAILING_SHIM=\"$(abs_top_builddir)/failing-shim\"
test_launch_failures_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_launch_failures_LDFLAGS = $(AM_LDFLAGS) $(fail_nth_wraps) $(failing_calls_wraps)
test_launch_failures_LDADD = libnm-agent.la $(unit_libs)
EXTRA_test_launch_failures_DEPENDENCIES = nm-shim$(EXEEXT) failing-shim$(EXEEXT)

test_launch_record_SOURCES = %D%/test-launch-record.c
test_launch_record_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_launch_record_LDADD = libnm-agent.la $(unit_libs)

check_PROGRAMS += test-over-beta test-long-history
TESTS += test-over-beta test-long-history
test_long_history_SOURCES = %D%/test-long-history.c %D%/remove-tree.h
test_long_history_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_long_history_LDADD = libnm-agent.la $(unit_libs)
test_over_beta_SOURCES = %D%/test-over-beta.c
test_over_beta_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_over_beta_LDADD = libnm-agent.la $(unit_libs)
check_PROGRAMS += test-event-file test-output-times test-output-failures
TESTS += test-event-file test-output-times test-output-failures
test_output_failures_SOURCES = %D%/test-output-failures.c $(fail_nth) $(failing_calls) %D%/remove-tree.h
test_output_failures_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_output_failures_LDFLAGS = $(AM_LDFLAGS) $(fail_nth_wraps) $(failing_calls_wraps)
test_output_failures_LDADD = libnm-agent.la $(unit_libs) $(SYSTEMD_LIBS)

test_event_file_SOURCES = %D%/test-event-file.c %D%/remove-tree.h
test_event_file_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_event_file_LDADD = libnm-agent.la $(unit_libs)

# the file itself, whose clock is the test's
test_output_times_SOURCES = %D%/test-output-times.c agent/launch/output-times.c $(failing_calls) %D%/remove-tree.h
test_output_times_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_output_times_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=clock_gettime $(failing_calls_wraps)
test_output_times_LDADD = libnm-agent.la $(unit_libs)

# container, config, settings, users, health
check_PROGRAMS += test-container test-run-phase test-config test-settings test-users test-health
TESTS += test-container test-run-phase test-config test-settings test-users test-health

test_container_SOURCES = %D%/test-container.c
test_container_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_container_LDADD = libnm-agent.la $(unit_libs)

test_run_phase_SOURCES = %D%/test-run-phase.c
test_run_phase_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_run_phase_LDADD = libnm-agent.la $(unit_libs)

test_config_SOURCES = %D%/test-config.c %D%/remove-tree.h
test_config_CPPFLAGS = $(AM_CPPFLAGS) -DNM_TEST_SRCDIR=\"$(abs_top_srcdir)\"
test_config_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_config_LDADD = libnm-agent.la $(unit_libs)

test_settings_SOURCES = %D%/test-settings.c
test_settings_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_settings_LDADD = libnm-agent.la $(unit_libs)

test_users_SOURCES = %D%/test-users.c $(fail_nth)
test_users_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_users_LDFLAGS = $(AM_LDFLAGS) $(fail_nth_wraps) -Wl,--wrap=getpwnam_r -Wl,--wrap=getgrnam_r
test_users_LDADD = libnm-agent.la $(SYSTEMD_LIBS) $(unit_libs)

test_health_SOURCES = %D%/test-health.c %D%/remove-tree.h $(fail_nth)
test_health_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_health_LDFLAGS = $(AM_LDFLAGS) $(fail_nth_wraps)
test_health_LDADD = libnm-agent.la $(SYSTEMD_LIBS) $(unit_libs)

check_PROGRAMS += test-slice test-swap-reclaim
TESTS += test-slice test-swap-reclaim

test_slice_SOURCES = %D%/test-slice.c %D%/remove-tree.h
test_slice_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_slice_LDADD = libnm-agent.la $(unit_libs)
test_swap_reclaim_SOURCES = %D%/test-swap-reclaim.c %D%/remove-tree.h
test_swap_reclaim_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_swap_reclaim_LDADD = libnm-agent.la $(unit_libs)

check_PROGRAMS += test-store test-store-damage test-store-backlog test-store-failures test-store-parts
TESTS += test-store test-store-damage test-store-backlog test-store-failures test-store-parts

store_world = %D%/store-world.c %D%/store-world.h %D%/remove-tree.h

test_store_damage_SOURCES = %D%/test-store-damage.c $(store_world)
test_store_damage_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_store_damage_LDADD = libnm-agent.la $(unit_libs) $(SQLITE_LIBS)

test_store_backlog_SOURCES = %D%/test-store-backlog.c $(store_world)
test_store_backlog_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_store_backlog_LDADD = libnm-agent.la $(unit_libs) $(SQLITE_LIBS)

test_store_failures_SOURCES = %D%/test-store-failures.c $(fail_nth) $(failing_calls) $(store_world)
test_store_failures_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_store_failures_LDFLAGS = $(AM_LDFLAGS) $(fail_nth_wraps) $(failing_calls_wraps)
test_store_failures_LDADD = libnm-agent.la $(unit_libs) $(SQLITE_LIBS) $(JANSSON_LIBS)

test_store_parts_SOURCES = %D%/test-store-parts.c $(store_world)
test_store_parts_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_store_parts_LDADD = libnm-agent.la $(unit_libs) $(SQLITE_LIBS) $(JANSSON_LIBS)

test_store_SOURCES = %D%/test-store.c $(store_world)
test_store_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_store_LDADD = libnm-agent.la $(unit_libs) $(SQLITE_LIBS)

check_PROGRAMS += test-limits test-manager-settings
TESTS += test-limits test-manager-settings

manager_world = %D%/manager-world.c %D%/manager-world.h %D%/fake-tree.h

test_limits_SOURCES = %D%/test-limits.c $(manager_world)
test_limits_CPPFLAGS = $(test_launch_CPPFLAGS)
test_limits_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_limits_LDADD = libnm-agent.la $(unit_libs)
EXTRA_test_limits_DEPENDENCIES = nm-shim$(EXEEXT)

check_PROGRAMS += test-manager
TESTS += test-manager

test_manager_SOURCES = %D%/test-manager.c $(manager_world)
test_manager_CPPFLAGS = $(test_launch_CPPFLAGS)
test_manager_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_manager_LDADD = libnm-agent.la $(unit_libs)
EXTRA_test_manager_DEPENDENCIES = nm-shim$(EXEEXT)

check_PROGRAMS += test-owner
TESTS += test-owner

test_owner_SOURCES = %D%/test-owner.c $(manager_world)
test_owner_CPPFLAGS = $(test_launch_CPPFLAGS)
test_owner_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_owner_LDADD = libnm-agent.la $(unit_libs)
EXTRA_test_owner_DEPENDENCIES = nm-shim$(EXEEXT)

check_PROGRAMS += test-owner-steps
TESTS += test-owner-steps

test_owner_steps_SOURCES = %D%/test-owner-steps.c $(manager_world)
test_owner_steps_CPPFLAGS = $(test_launch_CPPFLAGS)
test_owner_steps_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_owner_steps_LDADD = libnm-agent.la $(unit_libs)
EXTRA_test_owner_steps_DEPENDENCIES = nm-shim$(EXEEXT)

check_PROGRAMS += test-rerun
TESTS += test-rerun

test_rerun_SOURCES = %D%/test-rerun.c $(manager_world)
test_rerun_CPPFLAGS = $(test_launch_CPPFLAGS)
test_rerun_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_rerun_LDADD = libnm-agent.la $(unit_libs)
EXTRA_test_rerun_DEPENDENCIES = nm-shim$(EXEEXT)

check_PROGRAMS += test-log-dir
TESTS += test-log-dir

test_log_dir_SOURCES = %D%/test-log-dir.c $(manager_world)
test_log_dir_CPPFLAGS = $(test_launch_CPPFLAGS)
test_log_dir_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_log_dir_LDADD = libnm-agent.la $(unit_libs)

test_manager_settings_SOURCES = %D%/test-manager-settings.c $(manager_world)
test_manager_settings_CPPFLAGS = $(test_launch_CPPFLAGS)
test_manager_settings_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_manager_settings_LDADD = libnm-agent.la $(unit_libs)
EXTRA_test_manager_settings_DEPENDENCIES = nm-shim$(EXEEXT)

check_PROGRAMS += test-acts
TESTS += test-acts

test_acts_SOURCES = %D%/test-acts.c $(manager_world)
test_acts_CPPFLAGS = $(test_launch_CPPFLAGS)
test_acts_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_acts_LDADD = libnm-agent.la $(unit_libs)

# of kept-cgroups.c
kept_cgroups = %D%/kept-cgroups.c %D%/kept-cgroups.h
kept_cgroups_wraps = -Wl,--wrap=nm_cgroup_backend_new

check_PROGRAMS += test-manager-memory
TESTS += test-manager-memory

test_manager_memory_SOURCES = %D%/test-manager-memory.c $(manager_world) $(kept_cgroups) $(fail_nth) $(fail_files)
test_manager_memory_CPPFLAGS = $(test_launch_CPPFLAGS)
test_manager_memory_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_manager_memory_LDFLAGS = $(AM_LDFLAGS) $(kept_cgroups_wraps) $(fail_nth_wraps) $(fail_files_wraps)
test_manager_memory_LDADD = libnm-agent.la $(JANSSON_LIBS) $(SYSTEMD_LIBS) $(unit_libs)
EXTRA_test_manager_memory_DEPENDENCIES = nm-shim$(EXEEXT)

check_PROGRAMS += test-ends
TESTS += test-ends

test_ends_SOURCES = %D%/test-ends.c $(manager_world)
test_ends_CPPFLAGS = $(test_launch_CPPFLAGS)
test_ends_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_ends_LDADD = libnm-agent.la $(unit_libs)

check_PROGRAMS += test-recovery
TESTS += test-recovery

test_recovery_SOURCES = %D%/test-recovery.c $(manager_world) $(kept_cgroups)
test_recovery_CPPFLAGS = $(test_launch_CPPFLAGS)
test_recovery_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_recovery_LDFLAGS = $(AM_LDFLAGS) $(kept_cgroups_wraps)
test_recovery_LDADD = libnm-agent.la $(unit_libs)

check_PROGRAMS += test-recorder
TESTS += test-recorder

test_recorder_SOURCES = %D%/test-recorder.c $(manager_world)
test_recorder_CPPFLAGS = $(test_launch_CPPFLAGS)
test_recorder_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_recorder_LDADD = libnm-agent.la $(unit_libs)

check_PROGRAMS += test-starts
TESTS += test-starts

test_starts_SOURCES = %D%/test-starts.c $(manager_world)
test_starts_CPPFLAGS = $(test_launch_CPPFLAGS)
test_starts_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_starts_LDADD = libnm-agent.la $(unit_libs)
EXTRA_test_starts_DEPENDENCIES = nm-shim$(EXEEXT)

check_PROGRAMS += test-durable
TESTS += test-durable

test_durable_SOURCES = %D%/test-durable.c $(manager_world)
test_durable_CPPFLAGS = $(test_launch_CPPFLAGS)
test_durable_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_durable_LDADD = libnm-agent.la $(unit_libs)
