# unit tests of nmsim; test-sim-property replays every generator under every victim order

check_PROGRAMS += test-sim-trace test-sim-world test-sim-cases test-sim-property
TESTS += test-sim-trace test-sim-world test-sim-cases test-sim-property

test_sim_trace_SOURCES = %D%/test-sim-trace.c
test_sim_trace_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_sim_trace_LDADD = libnm-sim.la $(unit_libs)

test_sim_world_SOURCES = %D%/test-sim-world.c
test_sim_world_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_sim_world_LDADD = libnm-sim.la $(unit_libs)

test_sim_cases_SOURCES = %D%/test-sim-cases.c
test_sim_cases_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_sim_cases_LDADD = libnm-sim.la $(unit_libs)

test_sim_property_SOURCES = %D%/test-sim-property.c
test_sim_property_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_sim_property_LDADD = libnm-sim.la $(unit_libs)

dist_check_SCRIPTS += %D%/test-nmsim-completion.sh %D%/test-documented.sh
TESTS += %D%/test-nmsim-completion.sh %D%/test-documented.sh
