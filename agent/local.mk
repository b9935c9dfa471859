# agent/: the core. nmd.c is the one main() that knows every folder; shim.c is a program of its own.
noinst_LTLIBRARIES += libnm-agent.la
libnm_agent_la_SOURCES = \
	%D%/agent.h \
	%D%/config.h \
	%D%/container.c %D%/container.h \
	%D%/decision.h \
	%D%/launch.h \
	%D%/policy.h \
	%D%/store.h \
	%D%/types.c %D%/types.h
libnm_agent_la_LIBADD = libnm-monitor.la libnm-cgroup.la libnm-util.la \
	$(SYSTEMD_LIBS) $(JANSSON_LIBS) $(SQLITE_LIBS) $(INIH_LIBS)
