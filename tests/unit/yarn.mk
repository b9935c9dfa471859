# unit tests of yarn
yarn_tests = test-yarn-conf test-yarn-ids test-yarn-launch test-yarn-launcher
yarn_tests += test-yarn-kept test-yarn-manage test-yarn-token
yarn_tests += test-yarn-report test-yarn-settings test-yarn-state
yarn_tests += test-yarn-proxy test-yarn-exit test-yarn-node test-yarn-again test-yarn-refusals
yarn_tests += test-yarn-launch-parts test-yarn-shuffle test-yarn-proxy-tokens
yarn_tests += test-yarn-memory test-yarn-proxy-stats test-yarn-rest
yarn_tests += test-yarn-allocator test-yarn-allocator-property
yarn_tests += test-yarn-proxy-keep test-yarn-proxying test-yarn-proxy-asks
yarn_tests += test-yarn-launcher-room test-yarn-launcher-failures test-yarn-launch-memory test-yarn-container-dirs
yarn_tests += test-yarn-shuffle-process test-yarn-manage-memory
yarn_tests += test-yarn-executor test-yarn-size test-yarn-health test-yarn-tracker test-yarn-check test-yarn-proxy-failures test-yarn-net
yarn_tests += test-yarn-setup test-yarn-setup-acts test-yarn-setup-facts test-yarn-setup-service
check_PROGRAMS += $(yarn_tests)
TESTS += $(yarn_tests)

test_yarn_conf_SOURCES = %D%/test-yarn-conf.c %D%/remove-tree.h
test_yarn_conf_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_yarn_conf_LDADD = libnm-yarn.la $(JANSSON_LIBS) $(unit_libs)

test_yarn_executor_SOURCES = %D%/test-yarn-executor.c %D%/remove-tree.h
test_yarn_executor_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_yarn_executor_LDADD = libnm-yarn.la $(JANSSON_LIBS) $(unit_libs)

test_yarn_memory_SOURCES = %D%/test-yarn-memory.c $(fail_nth) %D%/remove-tree.h
test_yarn_memory_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_yarn_memory_LDFLAGS = $(AM_LDFLAGS) $(fail_nth_wraps)
test_yarn_memory_LDADD = libnm-yarn.la libnm-agent.la $(JANSSON_LIBS) $(unit_libs)

test_yarn_settings_SOURCES = %D%/test-yarn-settings.c %D%/yarn-default.h
test_yarn_settings_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_yarn_settings_LDADD = libnm-yarn.la $(JANSSON_LIBS) $(unit_libs)

test_yarn_ids_SOURCES = %D%/test-yarn-ids.c
test_yarn_ids_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_yarn_ids_LDADD = libnm-yarn.la $(unit_libs)

test_yarn_report_SOURCES = %D%/test-yarn-report.c
test_yarn_report_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_yarn_report_LDADD = libnm-yarn.la libnm-agent.la $(unit_libs)

test_yarn_state_SOURCES = %D%/test-yarn-state.c
test_yarn_state_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_yarn_state_LDADD = libnm-yarn.la $(unit_libs)

test_yarn_launch_SOURCES = %D%/test-yarn-launch.c %D%/remove-tree.h
test_yarn_launch_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_yarn_launch_LDADD = libnm-yarn.la $(unit_libs)

# it starts the real nm-localizer
launcher_world = %D%/launcher-world.c %D%/launcher-world.h %D%/remove-tree.h
test_yarn_launcher_SOURCES = %D%/test-yarn-launcher.c $(launcher_world)
test_yarn_launcher_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_yarn_launcher_LDADD = libnm-yarn.la libnm-localize.la $(JANSSON_LIBS) $(unit_libs)
test_yarn_launcher_DEPENDENCIES = libnm-yarn.la libnm-localize.la nm-localizer$(EXEEXT)

test_yarn_launcher_room_SOURCES = %D%/test-yarn-launcher-room.c $(launcher_world)
test_yarn_launcher_room_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_yarn_launcher_room_LDADD = libnm-yarn.la libnm-localize.la $(JANSSON_LIBS) $(unit_libs)
test_yarn_launcher_room_DEPENDENCIES = libnm-yarn.la libnm-localize.la nm-localizer$(EXEEXT)

test_yarn_launcher_failures_SOURCES = %D%/test-yarn-launcher-failures.c $(launcher_world) $(fail_nth) $(fail_files)
test_yarn_launcher_failures_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_yarn_launcher_failures_LDFLAGS = $(AM_LDFLAGS) $(fail_nth_wraps) $(fail_files_wraps)
test_yarn_launcher_failures_LDADD = libnm-yarn.la libnm-localize.la $(JANSSON_LIBS) $(unit_libs) $(SYSTEMD_LIBS)
test_yarn_launcher_failures_DEPENDENCIES = libnm-yarn.la libnm-localize.la nm-localizer$(EXEEXT)

test_yarn_launch_memory_SOURCES = %D%/test-yarn-launch-memory.c $(fail_nth) $(fail_files)
test_yarn_launch_memory_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_yarn_launch_memory_LDFLAGS = $(AM_LDFLAGS) $(fail_nth_wraps) $(fail_files_wraps)
test_yarn_launch_memory_LDADD = libnm-yarn.la $(unit_libs) $(SYSTEMD_LIBS)

test_yarn_container_dirs_SOURCES = %D%/test-yarn-container-dirs.c %D%/remove-tree.h $(fail_nth) $(fail_files)
test_yarn_container_dirs_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_yarn_container_dirs_LDFLAGS = $(AM_LDFLAGS) $(fail_nth_wraps) $(fail_files_wraps) -Wl,--wrap=setfsuid
test_yarn_container_dirs_LDADD = libnm-yarn.la libnm-localize.la $(unit_libs) $(SYSTEMD_LIBS)

test_yarn_token_SOURCES = %D%/test-yarn-token.c %D%/yarn-tokens.h
test_yarn_token_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_yarn_token_LDADD = libnm-yarn.la $(unit_libs)

# With a node of its own in the place of node/'s.
test_yarn_manage_SOURCES = %D%/test-yarn-manage.c %D%/message-copy.h %D%/fake-yarn-node.c %D%/fake-yarn-node.h %D%/yarn-tokens.h
test_yarn_manage_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_yarn_manage_LDADD = libnm-yarn.la $(unit_libs)

# With a server of its own in the place of rpc/hadoop's.
test_yarn_manage_memory_SOURCES = %D%/test-yarn-manage-memory.c %D%/fake-yarn-node.c %D%/fake-yarn-node.h %D%/yarn-tokens.h \
	$(fail_nth)
test_yarn_manage_memory_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_yarn_manage_memory_LDFLAGS = $(AM_LDFLAGS) $(fail_nth_wraps)
test_yarn_manage_memory_LDADD = libnm-yarn.la $(unit_libs) $(SYSTEMD_LIBS)

# it starts the real nm-shuffle
test_yarn_shuffle_SOURCES = %D%/test-yarn-shuffle.c $(fail_nth) $(fail_files) %D%/remove-tree.h
test_yarn_shuffle_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_yarn_shuffle_LDFLAGS = $(AM_LDFLAGS) $(fail_nth_wraps) $(fail_files_wraps)
test_yarn_shuffle_LDADD = libnm-yarn.la libnm-hadoop.la libnm-agent.la $(NETTLE_LIBS) $(JANSSON_LIBS) $(unit_libs) $(SYSTEMD_LIBS)
test_yarn_shuffle_DEPENDENCIES = libnm-yarn.la libnm-agent.la nm-shuffle$(EXEEXT)

test_yarn_shuffle_process_SOURCES = %D%/test-yarn-shuffle-process.c $(fail_nth) $(fail_files) %D%/remove-tree.h
test_yarn_shuffle_process_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_yarn_shuffle_process_LDFLAGS = $(AM_LDFLAGS) $(fail_nth_wraps) $(fail_files_wraps)
test_yarn_shuffle_process_LDADD = libnm-yarn.la $(JANSSON_LIBS) $(unit_libs) $(SYSTEMD_LIBS)

test_yarn_proxy_stats_SOURCES = %D%/test-yarn-proxy-stats.c %D%/openapi.c %D%/openapi.h %D%/masters-shown.h \
	%D%/remove-tree.h
test_yarn_proxy_stats_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_yarn_proxy_stats_LDADD = libnm-yarn.la libnm-local.la libnm-agent.la $(JANSSON_LIBS) $(unit_libs)

test_yarn_allocator_SOURCES = %D%/test-yarn-allocator.c
test_yarn_allocator_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_yarn_allocator_LDADD = libnm-yarn.la $(unit_libs)

test_yarn_allocator_property_SOURCES = %D%/test-yarn-allocator-property.c
test_yarn_allocator_property_LDADD = libnm-yarn.la

test_yarn_launch_parts_SOURCES = %D%/test-yarn-launch-parts.c
test_yarn_launch_parts_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_yarn_launch_parts_LDADD = libnm-yarn.la $(JANSSON_LIBS) $(unit_libs)

test_yarn_kept_SOURCES = %D%/test-yarn-kept.c $(fail_nth) $(fail_files) %D%/remove-tree.h %D%/yarn-tokens.h
test_yarn_kept_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_yarn_kept_LDFLAGS = $(AM_LDFLAGS) $(fail_nth_wraps) $(fail_files_wraps)
test_yarn_kept_LDADD = libnm-yarn.la $(unit_libs) $(SYSTEMD_LIBS)

test_yarn_exit_SOURCES = %D%/test-yarn-exit.c
test_yarn_exit_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_yarn_exit_LDADD = libnm-yarn.la libnm-agent.la $(unit_libs)

# It has a launcher of its own, in the place of the library's.
fake_launcher = %D%/fake-launcher.c %D%/fake-launcher.h %D%/yarn-tokens.h $(manager_world)

test_yarn_node_SOURCES = %D%/test-yarn-node.c %D%/yarn-starts.h $(fake_launcher) $(fail_nth)
test_yarn_node_CPPFLAGS = $(test_launch_CPPFLAGS)
test_yarn_node_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_yarn_node_LDFLAGS = $(AM_LDFLAGS) $(fail_nth_wraps)
test_yarn_node_LDADD = libnm-yarn.la libnm-agent.la $(unit_libs)
EXTRA_test_yarn_node_DEPENDENCIES = nm-shim$(EXEEXT)

test_yarn_refusals_SOURCES = %D%/test-yarn-refusals.c %D%/yarn-starts.h $(fake_launcher)
test_yarn_refusals_CPPFLAGS = $(test_launch_CPPFLAGS)
test_yarn_refusals_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_yarn_refusals_LDADD = libnm-yarn.la libnm-agent.la $(unit_libs)
EXTRA_test_yarn_refusals_DEPENDENCIES = nm-shim$(EXEEXT)

test_yarn_rest_SOURCES = %D%/test-yarn-rest.c %D%/each-room.h %D%/openapi.c %D%/openapi.h $(fake_launcher) $(fail_nth)
test_yarn_rest_CPPFLAGS = $(test_launch_CPPFLAGS)
test_yarn_rest_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_yarn_rest_LDFLAGS = $(AM_LDFLAGS) $(fail_nth_wraps)
test_yarn_rest_LDADD = libnm-yarn.la libnm-local.la libnm-agent.la $(JANSSON_LIBS) $(unit_libs)
EXTRA_test_yarn_rest_DEPENDENCIES = nm-shim$(EXEEXT)

test_yarn_again_SOURCES = %D%/test-yarn-again.c $(fake_launcher) $(fail_nth)
test_yarn_again_CPPFLAGS = $(test_launch_CPPFLAGS)
test_yarn_again_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_yarn_again_LDFLAGS = $(AM_LDFLAGS) $(fail_nth_wraps)
test_yarn_again_LDADD = libnm-yarn.la libnm-agent.la $(unit_libs)
EXTRA_test_yarn_again_DEPENDENCIES = nm-shim$(EXEEXT)

test_yarn_proxy_tokens_SOURCES = %D%/test-yarn-proxy-tokens.c %D%/yarn-tokens.h
test_yarn_proxy_tokens_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_yarn_proxy_tokens_LDADD = libnm-yarn.la $(unit_libs)

test_yarn_proxy_asks_SOURCES = %D%/test-yarn-proxy-asks.c %D%/each-room.h %D%/remove-tree.h %D%/yarn-tokens.h
test_yarn_proxy_asks_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_yarn_proxy_asks_LDADD = libnm-yarn.la $(unit_libs)
test_yarn_proxy_keep_SOURCES = %D%/test-yarn-proxy-keep.c %D%/remove-tree.h %D%/yarn-tokens.h
test_yarn_proxy_keep_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_yarn_proxy_keep_LDADD = libnm-yarn.la $(unit_libs)

test_yarn_proxying_SOURCES = %D%/test-yarn-proxying.c
test_yarn_proxying_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_yarn_proxying_LDADD = libnm-yarn.la $(unit_libs)

proxy_world = %D%/proxy-world.c %D%/proxy-world.h %D%/message-copy.h %D%/remove-tree.h %D%/yarn-tokens.h %D%/loopback.h
test_yarn_proxy_SOURCES = %D%/test-yarn-proxy.c $(proxy_world)
test_yarn_proxy_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_yarn_proxy_LDADD = libnm-yarn.la libnm-agent.la $(JANSSON_LIBS) $(unit_libs)

test_yarn_proxy_failures_SOURCES = %D%/test-yarn-proxy-failures.c $(proxy_world) %D%/open-descriptors.h $(fail_nth)
test_yarn_proxy_failures_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_yarn_proxy_failures_LDFLAGS = $(AM_LDFLAGS) $(fail_nth_wraps)
test_yarn_proxy_failures_LDADD = libnm-yarn.la libnm-agent.la $(JANSSON_LIBS) $(unit_libs)

# a whole node, with the real nm-localizer and nm-shuffle, and a ResourceManager of its own
test_yarn_tracker_SOURCES = %D%/test-yarn-tracker.c %D%/tracker-world.c %D%/tracker-world.h %D%/loopback.h \
	%D%/open-descriptors.h %D%/yarn-tokens.h $(fail_nth) $(manager_world)
test_yarn_tracker_CPPFLAGS = $(test_launch_CPPFLAGS)
test_yarn_tracker_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_yarn_tracker_LDFLAGS = $(AM_LDFLAGS) $(fail_nth_wraps)
test_yarn_tracker_LDADD = libnm-yarn.la libnm-agent.la $(JANSSON_LIBS) $(unit_libs)
test_yarn_tracker_DEPENDENCIES = libnm-yarn.la libnm-agent.la nm-localizer$(EXEEXT) nm-shuffle$(EXEEXT)
EXTRA_test_yarn_tracker_DEPENDENCIES = nm-shim$(EXEEXT)

test_yarn_check_SOURCES = %D%/test-yarn-check.c %D%/tracker-world.c %D%/tracker-world.h %D%/loopback.h \
	%D%/open-descriptors.h %D%/yarn-tokens.h $(fail_nth) $(manager_world)
test_yarn_check_CPPFLAGS = $(test_yarn_tracker_CPPFLAGS)
test_yarn_check_CFLAGS = $(test_yarn_tracker_CFLAGS)
test_yarn_check_LDFLAGS = $(test_yarn_tracker_LDFLAGS)
test_yarn_check_LDADD = $(test_yarn_tracker_LDADD)
test_yarn_check_DEPENDENCIES = $(test_yarn_tracker_DEPENDENCIES)
EXTRA_test_yarn_check_DEPENDENCIES = nm-shim$(EXEEXT)

test_yarn_size_SOURCES = %D%/test-yarn-size.c %D%/tracker-world.c %D%/tracker-world.h %D%/loopback.h \
	%D%/yarn-tokens.h $(fail_nth) $(manager_world)
test_yarn_size_CPPFLAGS = $(test_launch_CPPFLAGS)
test_yarn_size_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_yarn_size_LDFLAGS = $(AM_LDFLAGS) $(fail_nth_wraps)
test_yarn_size_LDADD = libnm-yarn.la libnm-agent.la $(JANSSON_LIBS) $(unit_libs)
test_yarn_size_DEPENDENCIES = libnm-yarn.la libnm-agent.la nm-localizer$(EXEEXT) nm-shuffle$(EXEEXT)
EXTRA_test_yarn_size_DEPENDENCIES = nm-shim$(EXEEXT)

test_yarn_health_SOURCES = %D%/test-yarn-health.c %D%/tracker-world.c %D%/tracker-world.h %D%/loopback.h \
	%D%/yarn-starts.h %D%/yarn-tokens.h $(fail_nth) $(manager_world)
test_yarn_health_CPPFLAGS = $(test_launch_CPPFLAGS)
test_yarn_health_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_yarn_health_LDFLAGS = $(AM_LDFLAGS) $(fail_nth_wraps)
test_yarn_health_LDADD = libnm-yarn.la libnm-agent.la $(JANSSON_LIBS) $(unit_libs)
test_yarn_health_DEPENDENCIES = libnm-yarn.la libnm-agent.la nm-localizer$(EXEEXT) nm-shuffle$(EXEEXT)
EXTRA_test_yarn_health_DEPENDENCIES = nm-shim$(EXEEXT)

test_yarn_net_SOURCES = %D%/test-yarn-net.c %D%/loopback.h %D%/open-descriptors.h $(fail_nth)
test_yarn_net_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_yarn_net_LDFLAGS = $(AM_LDFLAGS) $(fail_nth_wraps)
test_yarn_net_LDADD = libnm-yarn.la $(unit_libs)

test_yarn_setup_SOURCES = %D%/test-yarn-setup.c %D%/setup-settings.h
test_yarn_setup_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_yarn_setup_LDADD = libnm-yarn.la $(JANSSON_LIBS) $(unit_libs)

test_yarn_setup_facts_SOURCES = %D%/test-yarn-setup-facts.c %D%/setup-settings.h
test_yarn_setup_facts_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_yarn_setup_facts_LDADD = libnm-yarn.la $(JANSSON_LIBS) $(unit_libs)

test_yarn_setup_service_SOURCES = %D%/test-yarn-setup-service.c %D%/setup-root.h %D%/setup-settings.h %D%/remove-tree.h
test_yarn_setup_service_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_yarn_setup_service_LDADD = libnm-yarn.la $(JANSSON_LIBS) $(unit_libs)

test_yarn_setup_acts_SOURCES = %D%/test-yarn-setup-acts.c $(fail_nth) $(fail_files) %D%/setup-root.h %D%/setup-settings.h %D%/remove-tree.h
test_yarn_setup_acts_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_yarn_setup_acts_LDFLAGS = $(AM_LDFLAGS) $(fail_nth_wraps) $(fail_files_wraps)
test_yarn_setup_acts_LDADD = libnm-yarn.la $(JANSSON_LIBS) $(unit_libs)
