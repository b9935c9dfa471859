# unit tests of util
check_PROGRAMS += test-array test-become test-frame test-inherited test-lockfile test-option test-parse test-fileio test-peer test-quota test-remove-tree test-fair-queue test-utf8
TESTS += test-array test-become test-frame test-inherited test-lockfile test-option test-parse test-fileio test-peer test-quota test-remove-tree test-fair-queue test-utf8

test_array_SOURCES = %D%/test-array.c $(fail_nth)
test_array_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_array_LDFLAGS = $(AM_LDFLAGS) $(fail_nth_wraps)
test_array_LDADD = libnm-util.la $(unit_libs)

test_become_SOURCES = %D%/test-become.c
test_become_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_become_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=getgrouplist
test_become_LDADD = libnm-util.la $(unit_libs)

test_inherited_SOURCES = %D%/test-inherited.c
test_inherited_CPPFLAGS = $(AM_CPPFLAGS) -DNM_TEST_SRCDIR=\"$(abs_top_srcdir)\"
test_inherited_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_inherited_LDADD = libnm-util.la $(unit_libs)

test_lockfile_SOURCES = %D%/test-lockfile.c
test_lockfile_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_lockfile_LDADD = libnm-util.la $(unit_libs)

test_option_SOURCES = %D%/test-option.c
test_option_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_option_LDADD = libnm-util.la $(unit_libs)

test_parse_SOURCES = %D%/test-parse.c
test_parse_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_parse_LDADD = libnm-util.la $(unit_libs)

test_frame_SOURCES = %D%/test-frame.c
test_frame_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_frame_LDADD = libnm-util.la $(unit_libs)

test_fileio_SOURCES = %D%/test-fileio.c %D%/remove-tree.h
test_fileio_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_fileio_LDADD = libnm-util.la $(unit_libs)

test_peer_SOURCES = %D%/test-peer.c
test_peer_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_peer_LDADD = libnm-util.la $(unit_libs)

test_fair_queue_SOURCES = %D%/test-fair-queue.c
test_fair_queue_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_fair_queue_LDADD = libnm-util.la $(unit_libs)
test_quota_SOURCES = %D%/test-quota.c
test_quota_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_quota_LDADD = libnm-util.la $(unit_libs)

test_remove_tree_SOURCES = %D%/test-remove-tree.c %D%/remove-tree.h
test_remove_tree_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_remove_tree_LDADD = libnm-util.la $(unit_libs)

test_utf8_SOURCES = %D%/test-utf8.c
test_utf8_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_utf8_LDADD = libnm-util.la $(unit_libs)
