# unit tests of rpc
rpc_tests = test-requests test-json-scan test-target test-messages test-local-accept test-local-server \
	test-local-abuse test-local-web test-local-listen test-local-logs test-local-memory test-local-streams test-openapi
check_PROGRAMS += $(rpc_tests) openapi-check
TESTS += $(rpc_tests)

test_requests_SOURCES = %D%/test-requests.c
test_requests_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_requests_LDADD = libnm-messages.la $(unit_libs)

test_json_scan_SOURCES = %D%/test-json-scan.c %D%/counted-memory.h
test_json_scan_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_json_scan_LDADD = libnm-messages.la $(JANSSON_LIBS) $(unit_libs)

test_target_SOURCES = %D%/test-target.c
test_target_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_target_LDADD = libnm-local.la $(unit_libs)

test_messages_SOURCES = %D%/test-messages.c %D%/fake-manager.c %D%/fake-manager.h
test_messages_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_messages_LDADD = libnm-local.la $(unit_libs)

http_fixture = %D%/http-fixture.c %D%/http-fixture.h %D%/fake-manager.c %D%/fake-manager.h
test_local_accept_SOURCES = %D%/test-local-accept.c $(http_fixture)
test_local_accept_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_local_accept_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=accept4
test_local_accept_LDADD = libnm-local.la $(unit_libs)

test_local_server_SOURCES = %D%/test-local-server.c $(http_fixture)
test_local_server_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_local_server_LDADD = libnm-local.la $(unit_libs)

test_local_abuse_SOURCES = %D%/test-local-abuse.c $(http_fixture)
test_local_abuse_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_local_abuse_LDADD = libnm-local.la $(unit_libs)
test_local_web_SOURCES = %D%/test-local-web.c %D%/far-hosts.h $(http_fixture)
test_local_web_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_local_web_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=accept4
test_local_web_LDADD = libnm-local.la $(unit_libs)

test_local_listen_SOURCES = %D%/test-local-listen.c $(fail_nth) %D%/remove-tree.h
test_local_listen_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_local_listen_LDFLAGS = $(AM_LDFLAGS) $(fail_nth_wraps) -Wl,--wrap=socket -Wl,--wrap=listen -Wl,--wrap=chmod \
	-Wl,--wrap=getsockopt -Wl,--wrap=setsockopt
test_local_listen_LDADD = libnm-local.la $(unit_libs)

test_local_logs_SOURCES = %D%/test-local-logs.c $(http_fixture)
test_local_logs_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_local_logs_LDADD = libnm-local.la $(unit_libs)

# what fails there beside fail-nth.c's
local_memory_wraps = -Wl,--wrap=open_memstream -Wl,--wrap=MHD_create_response_from_buffer \
	-Wl,--wrap=MHD_create_response_from_buffer_with_free_callback_cls -Wl,--wrap=MHD_create_response_from_callback \
	-Wl,--wrap=MHD_create_response_for_upgrade -Wl,--wrap=MHD_add_response_header
test_local_memory_SOURCES = %D%/test-local-memory.c $(fail_nth) $(http_fixture)
test_local_memory_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_local_memory_LDFLAGS = $(AM_LDFLAGS) $(fail_nth_wraps) $(local_memory_wraps)
test_local_memory_LDADD = libnm-local.la $(MHD_LIBS) $(unit_libs)

test_local_streams_SOURCES = %D%/test-local-streams.c %D%/counted-memory.h $(http_fixture)
test_local_streams_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_local_streams_LDADD = libnm-local.la $(unit_libs)

test_openapi_SOURCES = %D%/test-openapi.c %D%/openapi.c %D%/openapi.h $(http_fixture)
test_openapi_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_openapi_LDADD = libnm-local.la libnm-yarn.la $(unit_libs)

# For tests/integration: against a running nmd.
openapi_check_SOURCES = %D%/openapi-check.c %D%/openapi.c %D%/openapi.h
openapi_check_LDADD = libnm-client.la $(JANSSON_LIBS)
