# unit tests of shuffle/
shuffle_tests = test-shuffle-control test-shuffle-output test-shuffle-range test-shuffle-request test-shuffle-server
check_PROGRAMS += $(shuffle_tests)
TESTS += $(shuffle_tests)

shuffle_world = %D%/shuffle-world.c %D%/shuffle-world.h %D%/remove-tree.h

test_shuffle_control_SOURCES = %D%/test-shuffle-control.c
test_shuffle_control_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_shuffle_control_LDADD = libnm-shuffle.la $(unit_libs)

test_shuffle_output_SOURCES = %D%/test-shuffle-output.c $(shuffle_world)
test_shuffle_output_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_shuffle_output_LDADD = libnm-shuffle.la $(ZLIB_LIBS) $(unit_libs)

test_shuffle_range_SOURCES = %D%/test-shuffle-range.c $(shuffle_world)
test_shuffle_range_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_shuffle_range_LDADD = libnm-shuffle.la $(NETTLE_LIBS) $(ZLIB_LIBS) $(unit_libs)

test_shuffle_request_SOURCES = %D%/test-shuffle-request.c
test_shuffle_request_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_shuffle_request_LDADD = libnm-shuffle.la $(unit_libs)

test_shuffle_server_SOURCES = %D%/test-shuffle-server.c %D%/refusing-system.h $(shuffle_world)
test_shuffle_server_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_shuffle_server_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=accept4 -Wl,--wrap=pthread_create -Wl,--wrap=poll \
	-Wl,--wrap=sendfile
test_shuffle_server_LDADD = libnm-shuffle.la $(NETTLE_LIBS) $(ZLIB_LIBS) $(unit_libs)
