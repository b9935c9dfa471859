# unit tests of agent

check_PROGRAMS += test-launch test-launch-record
TESTS += test-launch test-launch-record

test_launch_SOURCES = %D%/test-launch.c
test_launch_CPPFLAGS = $(AM_CPPFLAGS) -DNM_TEST_SHIM=\"$(abs_top_builddir)/nm-shim\"
test_launch_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_launch_LDADD = libnm-agent.la $(unit_libs)
EXTRA_test_launch_DEPENDENCIES = nm-shim$(EXEEXT)

test_launch_record_SOURCES = %D%/test-launch-record.c
test_launch_record_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_launch_record_LDADD = libnm-agent.la $(unit_libs)
