# agent/: the core. nmd.c is the one main() that knows every folder; launch/shim.c is a program of its own.
noinst_LTLIBRARIES += libnm-agent.la
# what all of its rooms share, and what stands beside them
libnm_agent_la_SOURCES = \
	%D%/agent.h \
	%D%/command.c %D%/command.h \
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
	%D%/policy/policy.c %D%/policy/policy.h %D%/policy/policy-types.h \
	%D%/policy/policy-admit.c \
	%D%/policy/policy-check.c \
	%D%/policy/policy-fit.c \
	%D%/policy/policy-margin.c \
	%D%/policy/policy-names.c \
	%D%/policy/policy-pass.c \
	%D%/policy/policy-preempt.c \
	%D%/policy/policy-squeeze.c \
	%D%/policy/policy-reclaim.c \
	%D%/policy/policy-stall.c \
	%D%/policy/policy-take.c \
	%D%/policy/round.c %D%/policy/round.h \
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
	%D%/decision/decision-text.c \
	%D%/decision/decision-words.c
libnm_agent_la_SOURCES += \
	%D%/launch/last-words.c %D%/launch/last-words.h \
	%D%/launch/launch.c %D%/launch/launch.h %D%/launch/launch-internal.h \
	%D%/launch/launch-account.c \
	%D%/launch/launch-probe.c \
	%D%/launch/launch-spawn.c \
	%D%/launch/output.c %D%/launch/output.h \
	%D%/launch/output-read.c %D%/launch/output-read.h \
	%D%/launch/output-times.c %D%/launch/output-times.h \
	%D%/launch/record.c %D%/launch/record.h \
	%D%/launch/shim.h %D%/launch/shim-confine.c %D%/launch/shim-spec.c
libnm_agent_la_SOURCES += \
	%D%/store/copy.c %D%/store/copy.h \
	%D%/store/store.h %D%/store/store-state.h \
	%D%/store/store-columns.c %D%/store/store-columns.h \
	%D%/store/store-connect.c %D%/store/store-connect.h \
	%D%/store/store-json.c %D%/store/store-json.h \
	%D%/store/store-mark.c %D%/store/store-mark.h \
	%D%/store/store-pending.c %D%/store/store-pending.h \
	%D%/store/store-salvage.c %D%/store/store-salvage.h \
	%D%/store/store-schema.c %D%/store/store-schema.h \
	%D%/store/store-sql.c %D%/store/store-sql.h \
	%D%/store/store-write.c %D%/store/store-write.h \
	%D%/store/store-container.c \
	%D%/store/store-decision.c \
	%D%/store/store-open.c \
	%D%/store/store-value.c
# who may use whom in there: manager-state.h
libnm_agent_la_SOURCES += \
	%D%/manager/container-files.c %D%/manager/container-files.h \
	%D%/manager/glance.c %D%/manager/glance.h \
	%D%/manager/long-history.c %D%/manager/long-history.h \
	%D%/manager/manager.c \
	%D%/manager/run-phase.c %D%/manager/run-phase.h \
	%D%/manager/manager-access.c %D%/manager/manager-access.h \
	%D%/manager/manager-act.c %D%/manager/manager-act.h \
	%D%/manager/manager-drain.c %D%/manager/manager-drain.h \
	%D%/manager/manager-durable.c %D%/manager/manager-durable.h \
	%D%/manager/manager-end.c %D%/manager/manager-end.h \
	%D%/manager/manager-freeze.c %D%/manager/manager-freeze.h \
	%D%/manager/manager-journal.c %D%/manager/manager-journal.h \
	%D%/manager/manager-keep.c %D%/manager/manager-keep.h \
	%D%/manager/manager-kick.c %D%/manager/manager-kick.h \
	%D%/manager/manager-kill.c %D%/manager/manager-kill.h \
	%D%/manager/manager-life.c %D%/manager/manager-life.h \
	%D%/manager/slice-claim.c %D%/manager/slice-claim.h \
	%D%/manager/slice-note.c %D%/manager/slice-note.h \
	%D%/manager/slot-file.c %D%/manager/slot-file.h \
	%D%/manager/manager-slice.c %D%/manager/manager-slice.h \
	%D%/manager/manager-helper.c %D%/manager/manager-helper.h \
	%D%/manager/manager-limits.c %D%/manager/manager-limits.h \
	%D%/manager/manager-lists.c %D%/manager/manager-lists.h \
	%D%/manager/manager-output.c %D%/manager/manager-output.h \
	%D%/manager/manager-owner.c \
	%D%/manager/manager-pressure.c %D%/manager/manager-pressure.h \
	%D%/manager/manager-ready.c %D%/manager/manager-ready.h \
	%D%/manager/manager-reclaim.c %D%/manager/manager-reclaim.h \
	%D%/manager/over-beta.c %D%/manager/over-beta.h \
	%D%/manager/push-out.c %D%/manager/push-out.h \
	%D%/manager/ended-apps.c %D%/manager/ended-apps.h \
	%D%/manager/event-file.c %D%/manager/event-file.h \
	%D%/manager/manager-events.c %D%/manager/manager-events.h \
	%D%/manager/manager-past.c %D%/manager/manager-past.h \
	%D%/manager/manager-record.c %D%/manager/manager-record.h \
	%D%/manager/manager-removable.c %D%/manager/manager-removable.h \
	%D%/manager/manager-change.c %D%/manager/manager-change.h \
	%D%/manager/manager-again.c %D%/manager/manager-again.h \
	%D%/manager/manager-request.c \
	%D%/manager/manager-round.c %D%/manager/manager-round.h \
	%D%/manager/manager-sample.c %D%/manager/manager-sample.h \
	%D%/manager/manager-session.c %D%/manager/manager-session.h \
	%D%/manager/manager-settings.c %D%/manager/manager-settings.h \
	%D%/manager/manager-share.c %D%/manager/manager-share.h \
	%D%/manager/manager-start.c %D%/manager/manager-start.h \
	%D%/manager/manager-state.h \
	%D%/manager/manager-status.c \
	%D%/manager/manager-submit.c %D%/manager/manager-submit.h \
	%D%/manager/manager-use.c %D%/manager/manager-use.h \
	%D%/manager/recorder.c %D%/manager/recorder.h \
	%D%/manager/recovery.c %D%/manager/recovery.h \
	%D%/manager/recovery-decide.c %D%/manager/recovery-decide.h
libnm_agent_la_LIBADD = libnm-monitor.la libnm-cgroup.la libnm-util.la \
	$(SYSTEMD_LIBS) $(JANSSON_LIBS) $(SQLITE_LIBS) $(INIH_LIBS)

# The shim is one process per container: no library but libc (musl where configure finds it), and of ours only what it
# calls.
pkglibexec_PROGRAMS += nm-shim
nm_shim_SOURCES = \
	%D%/launch/output.c \
	%D%/launch/output-times.c \
	%D%/launch/record.c \
	%D%/launch/shim.c %D%/launch/shim.h \
	%D%/launch/shim-cgroup.c \
	%D%/launch/shim-child.c \
	%D%/launch/shim-confine.c \
	%D%/launch/shim-env.c \
	%D%/launch/shim-input.c \
	%D%/launch/shim-output.c \
	%D%/launch/shim-session.c \
	%D%/launch/shim-spec.c \
	%D%/launch/shim-start.c \
	%D%/launch/shim-stdio.c \
	util/become.c \
	util/fault.c \
	util/fileio.c \
	util/frame.c \
	util/parse.c
# flags of its own, so that the shared sources are compiled for it apart from the libtool objects
nm_shim_CFLAGS = $(AM_CFLAGS) $(SHIM_CFLAGS)
# not by libtool, which has a meaning of its own for -static
nm_shim_LINK = $(CC) $(nm_shim_CFLAGS) $(CFLAGS) $(AM_LDFLAGS) $(LDFLAGS) $(SHIM_LDFLAGS) -o $@

# The daemon. GNU ld wants the libraries in order of use: the interface before the core that it calls.
sbin_PROGRAMS += nmd
nmd_SOURCES = %D%/nmd.c %D%/instance.c %D%/instance.h
nmd_LDADD = libnm-local.la libnm-yarn.la libnm-agent.la $(MHD_LIBS)
