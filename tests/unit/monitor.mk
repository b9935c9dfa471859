# unit tests of monitor
noinst_HEADERS += %D%/fake-tree.h %D%/remove-tree.h

monitor_tests = test-cgsample test-history test-link test-monitor-parse test-node
check_PROGRAMS += $(monitor_tests)
TESTS += $(monitor_tests)

test_cgsample_SOURCES = %D%/test-cgsample.c %D%/own-cgroup.h
test_cgsample_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_cgsample_LDADD = libnm-monitor.la $(unit_libs)

test_history_SOURCES = %D%/test-history.c
test_history_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_history_LDADD = libnm-monitor.la $(unit_libs)

test_link_SOURCES = %D%/test-link.c
test_link_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_link_LDADD = libnm-monitor.la $(unit_libs)

test_monitor_parse_SOURCES = %D%/test-monitor-parse.c
test_monitor_parse_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_monitor_parse_LDADD = libnm-monitor.la $(unit_libs)

test_node_SOURCES = %D%/test-node.c
test_node_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_node_LDADD = libnm-monitor.la $(unit_libs)
