# unit tests of the policy and of decisions

# 100,000 random histories; takes --histories N and --seed S.
check_PROGRAMS += test-policy-property
TESTS += test-policy-property
test_policy_property_SOURCES = %D%/test-policy-property.c \
	%D%/policy-oracle.c %D%/policy-oracle.h \
	%D%/policy-world.c %D%/policy-world.h
test_policy_property_LDADD = libnm-agent.la -lm
