# unit tests of monitor
noinst_HEADERS += %D%/fake-tree.h %D%/remove-tree.h %D%/run-until.h

monitor_tests = test-cgsample test-sampling-failures test-history test-link test-link-failures test-monitor-parse test-node
check_PROGRAMS += $(monitor_tests)
TESTS += $(monitor_tests)

sample_world = %D%/sample-world.c %D%/sample-world.h
test_cgsample_SOURCES = %D%/test-cgsample.c %D%/own-cgroup.h $(sample_world)
test_cgsample_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_cgsample_LDADD = libnm-monitor.la $(unit_libs)

# $(fail_nth) is in cgroup.mk
test_sampling_failures_SOURCES = %D%/test-sampling-failures.c $(sample_world) $(fail_nth)
test_sampling_failures_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_sampling_failures_LDFLAGS = $(AM_LDFLAGS) $(fail_nth_wraps) -Wl,--wrap=fork -Wl,--wrap=pipe2 -Wl,--wrap=pread \
	-Wl,--wrap=__pread_chk -Wl,--wrap=waitpid
test_sampling_failures_LDADD = libnm-monitor.la $(unit_libs) $(SYSTEMD_LIBS)

test_history_SOURCES = %D%/test-history.c $(fail_nth)
test_history_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_history_LDFLAGS = $(AM_LDFLAGS) $(fail_nth_wraps)
test_history_LDADD = libnm-monitor.la $(unit_libs) $(SYSTEMD_LIBS)

test_link_SOURCES = %D%/test-link.c
test_link_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_link_LDADD = libnm-monitor.la $(unit_libs)

test_link_failures_SOURCES = %D%/test-link-failures.c $(fail_nth)
test_link_failures_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_link_failures_LDFLAGS = $(AM_LDFLAGS) $(fail_nth_wraps) -Wl,--wrap=nl_socket_alloc -Wl,--wrap=nl_connect \
	-Wl,--wrap=nl_socket_set_nonblocking -Wl,--wrap=sendto -Wl,--wrap=recvfrom \
	-Wl,--wrap=nm_read_file_at
test_link_failures_LDADD = libnm-monitor.la $(unit_libs) $(NL_LIBS) $(SYSTEMD_LIBS)

test_monitor_parse_SOURCES = %D%/test-monitor-parse.c
test_monitor_parse_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_monitor_parse_LDADD = libnm-monitor.la $(unit_libs)

test_node_SOURCES = %D%/test-node.c $(fail_nth)
test_node_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_node_LDFLAGS = $(AM_LDFLAGS) $(fail_nth_wraps)
test_node_LDADD = libnm-monitor.la $(unit_libs) $(SYSTEMD_LIBS)
