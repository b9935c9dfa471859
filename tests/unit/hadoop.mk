# unit tests of rpc/hadoop
hadoop_tests = test-hadoop-packet test-hadoop-token
check_PROGRAMS += $(hadoop_tests)
TESTS += $(hadoop_tests)

test_hadoop_packet_SOURCES = %D%/test-hadoop-packet.c
test_hadoop_packet_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_hadoop_packet_LDADD = libnm-hadoop.la $(unit_libs)

test_hadoop_token_SOURCES = %D%/test-hadoop-token.c
test_hadoop_token_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_hadoop_token_LDADD = libnm-hadoop.la $(unit_libs)
