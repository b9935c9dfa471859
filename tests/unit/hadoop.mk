# unit tests of rpc/hadoop
hadoop_tests = test-hadoop-abuse test-hadoop-memory test-hadoop-packet test-hadoop-rpc test-hadoop-sasl \
	test-hadoop-token
check_PROGRAMS += $(hadoop_tests)
TESTS += $(hadoop_tests)

test_hadoop_packet_SOURCES = %D%/test-hadoop-packet.c
test_hadoop_packet_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_hadoop_packet_LDADD = libnm-hadoop.la $(unit_libs)

test_hadoop_token_SOURCES = %D%/test-hadoop-token.c
test_hadoop_token_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_hadoop_token_LDADD = libnm-hadoop.la $(unit_libs)

test_hadoop_sasl_SOURCES = %D%/test-hadoop-sasl.c
test_hadoop_sasl_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_hadoop_sasl_LDADD = libnm-hadoop.la $(NETTLE_LIBS) $(GSASL_LIBS) $(unit_libs)

hadoop_fixture = %D%/hadoop-fixture.c %D%/hadoop-fixture.h
test_hadoop_rpc_SOURCES = %D%/test-hadoop-rpc.c $(hadoop_fixture)
test_hadoop_rpc_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_hadoop_rpc_LDADD = libnm-hadoop.la $(unit_libs)

test_hadoop_abuse_SOURCES = %D%/test-hadoop-abuse.c $(hadoop_fixture)
test_hadoop_abuse_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_hadoop_abuse_LDADD = libnm-hadoop.la $(unit_libs)

test_hadoop_memory_SOURCES = %D%/test-hadoop-memory.c %D%/open-descriptors.h $(fail_nth) $(hadoop_fixture)
test_hadoop_memory_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_hadoop_memory_LDFLAGS = $(AM_LDFLAGS) $(fail_nth_wraps)
test_hadoop_memory_LDADD = libnm-hadoop.la $(unit_libs)
