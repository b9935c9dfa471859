# unit tests of nmctl and of its HTTP client
check_PROGRAMS += test-reply test-client
TESTS += test-reply test-client

test_reply_SOURCES = %D%/test-reply.c
test_reply_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_reply_LDADD = libnm-client.la $(unit_libs)

test_client_SOURCES = %D%/test-client.c %D%/fake-nmd.c %D%/fake-nmd.h
test_client_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_client_LDADD = libnm-client.la $(unit_libs)
