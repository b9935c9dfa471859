# unit tests of nmctl and of its HTTP client
nmctl_tests = test-reply test-client test-nmctl test-nmctl-verbs test-nmctl-parts test-nmctl-top
nmctl_run = %D%/fake-nmd.c %D%/fake-nmd.h %D%/nmctl-run.c %D%/nmctl-run.h
check_PROGRAMS += $(nmctl_tests)
TESTS += $(nmctl_tests)

test_reply_SOURCES = %D%/test-reply.c
test_reply_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_reply_LDADD = libnm-client.la $(unit_libs)

test_client_SOURCES = %D%/test-client.c $(fail_nth) %D%/fake-nmd.c %D%/fake-nmd.h
test_client_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_client_LDFLAGS = $(AM_LDFLAGS) $(fail_nth_wraps) -Wl,--wrap=socket -Wl,--wrap=connect -Wl,--wrap=send \
	-Wl,--wrap=recv -Wl,--wrap=__recv_chk -Wl,--wrap=poll -Wl,--wrap=__poll_chk
test_client_LDADD = libnm-client.la $(SYSTEMD_LIBS) $(unit_libs)

test_nmctl_SOURCES = %D%/test-nmctl.c $(nmctl_run)
test_nmctl_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_nmctl_LDADD = $(unit_libs)
EXTRA_test_nmctl_DEPENDENCIES = nmctl/nmctl

test_nmctl_verbs_SOURCES = %D%/test-nmctl-verbs.c $(nmctl_run)
test_nmctl_verbs_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_nmctl_verbs_LDADD = libnm-nmctl.la $(unit_libs)
EXTRA_test_nmctl_verbs_DEPENDENCIES = nmctl/nmctl

test_nmctl_parts_SOURCES = %D%/test-nmctl-parts.c
test_nmctl_parts_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_nmctl_parts_LDADD = libnm-nmctl.la libnm-agent.la $(unit_libs)

test_nmctl_top_SOURCES = %D%/test-nmctl-top.c
test_nmctl_top_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_nmctl_top_LDADD = libnm-nmctl.la $(unit_libs)

dist_check_SCRIPTS += %D%/test-nmctl-completion.sh %D%/test-zsh-completion.sh
TESTS += %D%/test-nmctl-completion.sh %D%/test-zsh-completion.sh
