# unit tests of rpc
rpc_tests = test-requests test-target test-messages test-local-server \
	test-local-abuse test-local-streams
check_PROGRAMS += $(rpc_tests)
TESTS += $(rpc_tests)

test_requests_SOURCES = %D%/test-requests.c
test_requests_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_requests_LDADD = libnm-messages.la $(unit_libs)

test_target_SOURCES = %D%/test-target.c
test_target_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_target_LDADD = libnm-local.la $(unit_libs)

test_messages_SOURCES = %D%/test-messages.c %D%/fake-manager.c %D%/fake-manager.h
test_messages_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_messages_LDADD = libnm-local.la $(unit_libs)

http_fixture = %D%/http-fixture.c %D%/http-fixture.h %D%/fake-manager.c %D%/fake-manager.h
test_local_server_SOURCES = %D%/test-local-server.c $(http_fixture)
test_local_server_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_local_server_LDADD = libnm-local.la $(unit_libs)

test_local_abuse_SOURCES = %D%/test-local-abuse.c $(http_fixture)
test_local_abuse_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_local_abuse_LDADD = libnm-local.la $(unit_libs)

test_local_streams_SOURCES = %D%/test-local-streams.c $(http_fixture)
test_local_streams_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_local_streams_LDADD = libnm-local.la $(unit_libs)
