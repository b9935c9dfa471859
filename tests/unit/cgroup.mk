# unit tests of cgroup
cgroup_tests = test-cgroup-parse test-cgroup-fake test-cgroup-direct test-netprio
check_PROGRAMS += $(cgroup_tests)
TESTS += $(cgroup_tests)

test_cgroup_parse_SOURCES = %D%/test-cgroup-parse.c
test_cgroup_parse_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_cgroup_parse_LDADD = libnm-cgroup.la $(unit_libs)

test_netprio_SOURCES = %D%/test-netprio.c %D%/own-cgroup.h
test_netprio_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_netprio_LDADD = libnm-cgroup.la $(unit_libs)

test_cgroup_fake_SOURCES = %D%/test-cgroup-fake.c
test_cgroup_fake_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_cgroup_fake_LDADD = libnm-cgroup.la $(unit_libs)

# needs a cgroup2 mount that it may write to, else it skips
test_cgroup_direct_SOURCES = %D%/test-cgroup-direct.c
test_cgroup_direct_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_cgroup_direct_LDADD = libnm-cgroup.la $(unit_libs)

# the fake's thread needs pthread; deadlines of a minute aren't waited for; root's manager and a user's
check_PROGRAMS += test-systemd
TESTS += test-systemd
test_systemd_SOURCES = %D%/test-systemd.c %D%/systemd-world.c %D%/systemd-world.h %D%/fake-systemd.c %D%/fake-systemd.h \
	%D%/fake-tree.h
test_systemd_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_systemd_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=clock_gettime -Wl,--wrap=geteuid -Wl,--wrap=sd_booted
test_systemd_LDADD = libnm-cgroup.la $(unit_libs)

# for tests/vm/suites/05-cgroup.sh: no cmocka, as the guest has none
check_PROGRAMS += vm-cgroup-backend
vm_cgroup_backend_SOURCES = tests/vm/cgroup-backend.c
vm_cgroup_backend_LDADD = libnm-cgroup.la
