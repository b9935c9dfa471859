# agent/: the core. nmd.c is the one main() that knows every folder; launch/shim.c is a program of its own.
noinst_LTLIBRARIES += libnm-agent.la
# what all of its rooms share, and what stands beside them
libnm_agent_la_SOURCES = \
	%D%/agent.h \
	%D%/command.h \
	%D%/container.c %D%/container.h \
	%D%/health.c %D%/health.h \
	%D%/health-script.c %D%/health-script.h \
	%D%/message-ids.h \
	%D%/priority.c %D%/priority.h \
	%D%/problem.c %D%/problem.h \
	%D%/trace.c %D%/trace.h \
	%D%/types.c %D%/types.h \
	%D%/users.c %D%/users.h
# the rooms, from the ground up: none uses one below it in this list
libnm_agent_la_SOURCES += \
	%D%/policy/estimate.c \
	%D%/policy/ordering.c %D%/policy/ordering.h \
	%D%/policy/policy.c %D%/policy/policy.h %D%/policy/policy-internal.h \
	%D%/policy/policy-admit.c \
	%D%/policy/policy-check.c \
	%D%/policy/policy-names.c \
	%D%/policy/policy-preempt.c \
	%D%/policy/policy-squeeze.c \
	%D%/policy/victims.c
libnm_agent_la_SOURCES += \
	%D%/config/config.c %D%/config/config.h \
	%D%/config/config-doc.c \
	%D%/config/config-keys.c %D%/config/config-keys.h \
	%D%/config/config-read.c \
	%D%/config/config-values.c \
	%D%/config/settings.c %D%/config/settings.h
libnm_agent_la_SOURCES += \
	%D%/decision/decision.c %D%/decision/decision.h %D%/decision/decision-internal.h \
	%D%/decision/decision-json.c \
	%D%/decision/decision-words.c
libnm_agent_la_SOURCES += \
	%D%/launch/launch.c %D%/launch/launch.h %D%/launch/launch-internal.h \
	%D%/launch/launch-account.c \
	%D%/launch/launch-spawn.c \
	%D%/launch/record.c %D%/launch/record.h \
	%D%/launch/shim.h %D%/launch/shim-spec.c
libnm_agent_la_SOURCES += \
	%D%/store/copy.c %D%/store/copy.h \
	%D%/store/store.c %D%/store/store.h %D%/store/store-internal.h \
	%D%/store/store-columns.c %D%/store/store-columns.h \
	%D%/store/store-container.c \
	%D%/store/store-json.c %D%/store/store-json.h \
	%D%/store/store-open.c \
	%D%/store/store-pending.c \
	%D%/store/store-salvage.c
libnm_agent_la_SOURCES += \
	%D%/manager/container-files.c \
	%D%/manager/glance.c \
	%D%/manager/manager.c %D%/manager/manager.h \
	%D%/manager/manager-act.c \
	%D%/manager/manager-life.c \
	%D%/manager/manager-memory.c \
	%D%/manager/manager-record.c \
	%D%/manager/manager-request.c \
	%D%/manager/manager-round.c \
	%D%/manager/manager-status.c \
	%D%/manager/recorder.c \
	%D%/manager/recovery.c \
	%D%/manager/recovery-decide.c
libnm_agent_la_LIBADD = libnm-monitor.la libnm-cgroup.la libnm-util.la \
	$(SYSTEMD_LIBS) $(JANSSON_LIBS) $(SQLITE_LIBS) $(INIH_LIBS)

# The shim is one process per container: no library but libc (musl where configure finds it), and of ours only what it
# calls.
pkglibexec_PROGRAMS += nm-shim
nm_shim_SOURCES = \
	%D%/launch/record.c \
	%D%/launch/shim.c %D%/launch/shim.h \
	%D%/launch/shim-cgroup.c \
	%D%/launch/shim-child.c \
	%D%/launch/shim-spec.c \
	util/fault.c \
	util/fileio.c \
	util/parse.c
# flags of its own, so that the shared sources are compiled for it apart from the libtool objects
nm_shim_CFLAGS = $(AM_CFLAGS) $(SHIM_CFLAGS)
# not by libtool, which has a meaning of its own for -static
nm_shim_LINK = $(CC) $(nm_shim_CFLAGS) $(CFLAGS) $(AM_LDFLAGS) $(LDFLAGS) $(SHIM_LDFLAGS) -o $@

# The daemon. GNU ld wants the libraries in order of use: the interface before the core that it calls.
sbin_PROGRAMS += nmd
nmd_SOURCES = %D%/nmd.c
nmd_LDADD = libnm-local.la libnm-agent.la $(MHD_LIBS)
