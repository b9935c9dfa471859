# unit tests of the policy and of decisions

# 100,000 random histories; takes --histories N and --seed S.
check_PROGRAMS += test-policy-property
TESTS += test-policy-property
test_policy_property_SOURCES = %D%/test-policy-property.c \
	%D%/policy-oracle.c %D%/policy-oracle.h %D%/policy-oracle-pass.c \
	%D%/policy-oracle-facts.c %D%/policy-oracle-facts.h \
	%D%/policy-world.c %D%/policy-world.h
test_policy_property_LDADD = libnm-agent.la -lm

policy_fixture = %D%/policy-fixture.c %D%/policy-fixture.h
check_PROGRAMS += test-policy-admit
TESTS += test-policy-admit
test_policy_admit_SOURCES = %D%/test-policy-admit.c $(policy_fixture)
test_policy_admit_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_policy_admit_LDADD = libnm-agent.la $(unit_libs)

check_PROGRAMS += test-policy-preempt
TESTS += test-policy-preempt
test_policy_preempt_SOURCES = %D%/test-policy-preempt.c $(policy_fixture)
test_policy_preempt_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_policy_preempt_LDADD = libnm-agent.la $(unit_libs)

check_PROGRAMS += test-policy-reclaim
TESTS += test-policy-reclaim
test_policy_reclaim_SOURCES = %D%/test-policy-reclaim.c $(policy_fixture)
test_policy_reclaim_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_policy_reclaim_LDADD = libnm-agent.la $(unit_libs)

check_PROGRAMS += test-policy-hold
TESTS += test-policy-hold
test_policy_hold_SOURCES = %D%/test-policy-hold.c $(policy_fixture)
test_policy_hold_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_policy_hold_LDADD = libnm-agent.la $(unit_libs)

check_PROGRAMS += test-policy-stall
TESTS += test-policy-stall
test_policy_stall_SOURCES = %D%/test-policy-stall.c $(policy_fixture)
test_policy_stall_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_policy_stall_LDADD = libnm-agent.la $(unit_libs)

check_PROGRAMS += test-policy-victims
TESTS += test-policy-victims
test_policy_victims_SOURCES = %D%/test-policy-victims.c $(policy_fixture)
test_policy_victims_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_policy_victims_LDADD = libnm-agent.la $(unit_libs)

check_PROGRAMS += test-decision
TESTS += test-decision
test_decision_SOURCES = %D%/test-decision.c
test_decision_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_decision_LDADD = libnm-agent.la $(unit_libs)

check_PROGRAMS += test-policy-room
TESTS += test-policy-room
test_policy_room_SOURCES = %D%/test-policy-room.c $(policy_fixture)
test_policy_room_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_policy_room_LDADD = libnm-agent.la $(unit_libs)

check_PROGRAMS += test-policy-time
TESTS += test-policy-time
test_policy_time_SOURCES = %D%/test-policy-time.c $(policy_fixture)
test_policy_time_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_policy_time_LDADD = libnm-agent.la $(unit_libs)

check_PROGRAMS += test-policy-pass
TESTS += test-policy-pass
test_policy_pass_SOURCES = %D%/test-policy-pass.c $(policy_fixture)
test_policy_pass_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_policy_pass_LDADD = libnm-agent.la $(unit_libs)
