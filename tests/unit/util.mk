# unit tests of util
check_PROGRAMS += test-parse test-fileio
TESTS += test-parse test-fileio

test_parse_SOURCES = %D%/test-parse.c
test_parse_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_parse_LDADD = libnm-util.la $(unit_libs)

test_fileio_SOURCES = %D%/test-fileio.c %D%/remove-tree.h
test_fileio_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_fileio_LDADD = libnm-util.la $(unit_libs)
