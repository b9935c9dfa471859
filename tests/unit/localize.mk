# unit tests of localize
localize_tests = test-localize-cache test-localize-leftovers test-localize-line test-localize-parts test-localize-pattern \
	test-localize-servers test-localize-unpack test-localize-worker test-localizer \
	test-localizer-many test-localizer-trees test-localizer-users
check_PROGRAMS += $(localize_tests)
TESTS += $(localize_tests)

test_localize_cache_SOURCES = %D%/test-localize-cache.c %D%/remove-tree.h
test_localize_cache_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_localize_cache_LDADD = libnm-localize.la $(unit_libs)

test_localize_leftovers_SOURCES = %D%/test-localize-leftovers.c
test_localize_leftovers_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_localize_leftovers_LDADD = libnm-localize.la $(unit_libs)

test_localize_line_SOURCES = %D%/test-localize-line.c
test_localize_line_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_localize_line_LDADD = libnm-localize.la $(unit_libs)

test_localize_parts_SOURCES = %D%/test-localize-parts.c
test_localize_parts_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_localize_parts_LDADD = libnm-localizer.la $(unit_libs)

test_localize_pattern_SOURCES = %D%/test-localize-pattern.c
test_localize_pattern_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_localize_pattern_LDADD = libnm-localizer.la $(unit_libs)

test_localize_servers_SOURCES = %D%/test-localize-servers.c %D%/canned-server.h %D%/remove-tree.h %D%/worker-run.h
test_localize_servers_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_localize_servers_LDADD = libnm-localizer.la $(unit_libs)

test_localize_unpack_SOURCES = %D%/test-localize-unpack.c %D%/remove-tree.h
test_localize_unpack_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) $(ARCHIVE_CFLAGS)
test_localize_unpack_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=linkat
test_localize_unpack_LDADD = libnm-localizer.la $(unit_libs)

test_localize_worker_SOURCES = %D%/test-localize-worker.c %D%/remove-tree.h %D%/worker-run.h
test_localize_worker_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) $(ARCHIVE_CFLAGS)
test_localize_worker_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=renameat2 -Wl,--wrap=copy_file_range -Wl,--wrap=sendfile \
	-Wl,--wrap=sendfile64
test_localize_worker_LDADD = libnm-localizer.la $(unit_libs)

# these start the real nm-localizer
localizer_world = %D%/localizer-world.c %D%/localizer-world.h %D%/remove-tree.h %D%/run-until.h
test_localizer_SOURCES = %D%/test-localizer.c $(localizer_world)
test_localizer_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
# whose account has which groups is the test's
test_localizer_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=getgrouplist
test_localizer_LDADD = libnm-localize.la $(unit_libs)
test_localizer_DEPENDENCIES = libnm-localize.la nm-localizer$(EXEEXT)

test_localizer_many_SOURCES = %D%/test-localizer-many.c $(localizer_world)
test_localizer_many_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
# counted
test_localizer_many_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=utimensat -Wl,--wrap=fstatat -Wl,--wrap=unlinkat -Wl,--wrap=fork
test_localizer_many_LDADD = libnm-localize.la $(unit_libs)
test_localizer_many_DEPENDENCIES = libnm-localize.la nm-localizer$(EXEEXT)

test_localizer_trees_SOURCES = %D%/test-localizer-trees.c $(localizer_world)
test_localizer_trees_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
# counted
test_localizer_trees_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=fork
test_localizer_trees_LDADD = libnm-localize.la $(unit_libs)
test_localizer_trees_DEPENDENCIES = libnm-localize.la nm-localizer$(EXEEXT)

test_localizer_users_SOURCES = %D%/test-localizer-users.c $(localizer_world)
test_localizer_users_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
# counted
test_localizer_users_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=nm_worker_reply_parse
test_localizer_users_LDADD = libnm-localize.la $(unit_libs)
test_localizer_users_DEPENDENCIES = libnm-localize.la nm-localizer$(EXEEXT)
