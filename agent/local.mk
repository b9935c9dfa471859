# agent/: the core. nmd.c is the one main() that knows every folder; shim.c is a program of its own.
noinst_LTLIBRARIES += libnm-agent.la
libnm_agent_la_SOURCES = \
	%D%/agent.h \
	%D%/config.c %D%/config.h \
	%D%/config-doc.c \
	%D%/config-keys.c %D%/config-keys.h \
	%D%/config-read.c \
	%D%/config-values.c \
	%D%/container.c %D%/container.h \
	%D%/decision.c %D%/decision.h %D%/decision-internal.h \
	%D%/decision-json.c \
	%D%/decision-words.c \
	%D%/glance.c \
	%D%/health.c %D%/health.h \
	%D%/health-script.c %D%/health-script.h \
	%D%/message-ids.h \
	%D%/estimate.c \
	%D%/ordering.c %D%/ordering.h \
	%D%/policy.c %D%/policy.h %D%/policy-internal.h \
	%D%/policy-admit.c \
	%D%/policy-check.c \
	%D%/policy-names.c \
	%D%/policy-preempt.c \
	%D%/policy-squeeze.c \
	%D%/victims.c \
	%D%/manager.c %D%/manager.h \
	%D%/manager-act.c \
	%D%/manager-life.c \
	%D%/manager-memory.c \
	%D%/manager-record.c \
	%D%/manager-request.c \
	%D%/manager-round.c \
	%D%/manager-status.c \
	%D%/container-files.c \
	%D%/copy.c %D%/copy.h \
	%D%/priority.c %D%/priority.h \
	%D%/problem.c %D%/problem.h \
	%D%/recorder.c \
	%D%/recovery.c \
	%D%/recovery-decide.c \
	%D%/settings.c %D%/settings.h \
	%D%/trace.c %D%/trace.h \
	%D%/types.c %D%/types.h \
	%D%/users.c %D%/users.h
libnm_agent_la_LIBADD = libnm-monitor.la libnm-cgroup.la libnm-util.la \
	$(SYSTEMD_LIBS) $(JANSSON_LIBS) $(SQLITE_LIBS) $(INIH_LIBS)

libnm_agent_la_SOURCES += \
	%D%/launch.c %D%/launch.h %D%/launch-internal.h \
	%D%/launch-spawn.c \
	%D%/record.c \
	%D%/shim.h %D%/shim-spec.c \
	%D%/store.c %D%/store.h %D%/store-internal.h \
	%D%/store-columns.c %D%/store-columns.h \
	%D%/store-container.c \
	%D%/store-json.c %D%/store-json.h \
	%D%/store-open.c \
	%D%/store-pending.c \
	%D%/store-salvage.c

# The shim is one process per container: no library but libc, and of ours only what it calls.
pkglibexec_PROGRAMS += nm-shim
nm_shim_SOURCES = \
	%D%/record.c \
	%D%/shim.c %D%/shim.h \
	%D%/shim-account.c \
	%D%/shim-cgroup.c \
	%D%/shim-child.c \
	%D%/shim-spec.c \
	util/fault.c \
	util/fileio.c \
	util/parse.c
# flags of its own, so that the shared sources are compiled for it apart from the libtool objects
nm_shim_CFLAGS = $(AM_CFLAGS)

# The daemon. GNU ld wants the libraries in order of use: the interface before the core that it calls.
sbin_PROGRAMS += nmd
nmd_SOURCES = %D%/nmd.c
nmd_LDADD = libnm-local.la libnm-agent.la $(MHD_LIBS)
