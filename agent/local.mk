# agent/: the core.
noinst_LIBRARIES += libnm-agent.a
# headers that all rooms share, and files outside the rooms
libnm_agent_a_SOURCES = \
	%D%/agent.h %D%/caller.h %D%/daemon.h %D%/owners.h %D%/status.h %D%/upstream.h \
	%D%/command.c %D%/command.h \
	%D%/container.c %D%/container.h \
	%D%/counters.c %D%/counters.h \
	%D%/health.c %D%/health.h \
	%D%/admin-script.c %D%/admin-script.h \
	%D%/message-ids.h \
	%D%/priority.c %D%/priority.h \
	%D%/problem.c %D%/problem.h \
	%D%/trace.c %D%/trace.h \
	%D%/types.c %D%/types.h \
	%D%/upstream.c \
	%D%/users.c %D%/users.h
# the rooms, which are layers: see docs/ARCHITECTURE.md
libnm_agent_a_SOURCES += \
	%D%/policy/estimate.c \
	%D%/policy/ordering.c %D%/policy/ordering.h \
	%D%/policy/policy.c %D%/policy/policy.h %D%/policy/policy-types.h \
	%D%/policy/policy-admit.c \
	%D%/policy/policy-check.c \
	%D%/policy/policy-fit.c \
	%D%/policy/policy-growth.c \
	%D%/policy/policy-margin.c \
	%D%/policy/policy-names.c \
	%D%/policy/policy-pass.c \
	%D%/policy/policy-preempt.c \
	%D%/policy/policy-squeeze.c \
	%D%/policy/policy-surges.c \
	%D%/policy/policy-reclaim.c \
	%D%/policy/policy-take.c \
	%D%/policy/round.h \
	%D%/policy/victims.c
libnm_agent_a_SOURCES += \
	%D%/config/config.c %D%/config/config.h \
	%D%/config/config-doc.c \
	%D%/config/config-keys.c %D%/config/config-keys.h \
	%D%/config/config-read.c \
	%D%/config/config-values.c \
	%D%/config/settings.c %D%/config/settings.h
libnm_agent_a_SOURCES += \
	%D%/decision/decision.c %D%/decision/decision.h %D%/decision/decision-internal.h \
	%D%/decision/decision-json.c \
	%D%/decision/decision-text.c \
	%D%/decision/decision-phrases.c
libnm_agent_a_SOURCES += \
	%D%/launch/output-drain.c \
	%D%/launch/launch.c %D%/launch/launch.h %D%/launch/launch-internal.h \
	%D%/launch/launch-probe.c \
	%D%/launch/launch-spawn.c \
	%D%/launch/output.c %D%/launch/output.h \
	%D%/launch/output-read.c %D%/launch/output-read.h \
	%D%/launch/output-times.c %D%/launch/output-times.h \
	%D%/launch/record.c %D%/launch/record.h \
	%D%/launch/accounts.c %D%/launch/spawner.c \
	%D%/launch/shim.h %D%/launch/shim-confine.c %D%/launch/shim-spec.c
libnm_agent_a_SOURCES += \
	%D%/store/container-snapshot.c %D%/store/container-snapshot.h \
	%D%/store/store.h %D%/store/store-internal.h \
	%D%/store/store-columns.c %D%/store/store-columns.h \
	%D%/store/store-connect.c \
	%D%/store/store-json.c %D%/store/store-json.h \
	%D%/store/wal-mark.c %D%/store/wal-mark.h \
	%D%/store/store-pending.c \
	%D%/store/store-salvage.c \
	%D%/store/store-schema.c \
	%D%/store/store-sql.c \
	%D%/store/store-write.c \
	%D%/store/store-container.c \
	%D%/store/store-decision.c \
	%D%/store/store-open.c \
	%D%/store/store-value.c
libnm_agent_a_SOURCES += \
	%D%/state/manager-state.c %D%/state/manager-state.h \
	%D%/state/run-phase.c %D%/state/run-phase.h
libnm_agent_a_SOURCES += \
	%D%/journal/containers.h %D%/journal/journal.h %D%/journal/records.h \
	%D%/journal/decision-record.c %D%/journal/decision-record.h \
	%D%/journal/durable.c \
	%D%/journal/ended-apps.c \
	%D%/journal/event-file.c \
	%D%/journal/event-ring.c \
	%D%/journal/lists.c \
	%D%/journal/long-history.c \
	%D%/journal/saved-history.c \
	%D%/journal/persist.c \
	%D%/journal/slot-file.c %D%/journal/slot-file.h
libnm_agent_a_SOURCES += \
	%D%/node/cgroups.h %D%/node/node-settings.h %D%/node/sampling.h \
	%D%/node/container-limits.c \
	%D%/node/growth-probe.c \
	%D%/node/helper-cgroup.c \
	%D%/node/leftover-cgroups.c \
	%D%/node/manager-settings.c \
	%D%/node/node-slice.c %D%/node/node-slice.h \
	%D%/node/output-share.c \
	%D%/node/over-beta.c %D%/node/over-beta.h \
	%D%/node/preflight.c \
	%D%/node/pressure.c \
	%D%/node/sample.c \
	%D%/node/swap-reclaim.c
libnm_agent_a_SOURCES += \
	%D%/lifecycle/lifecycle.h %D%/lifecycle/lifecycle-internal.h \
	%D%/lifecycle/actions.c \
	%D%/lifecycle/container-end.c \
	%D%/lifecycle/container-events.c \
	%D%/lifecycle/container-freeze.c \
	%D%/lifecycle/container-kill.c \
	%D%/lifecycle/container-reclaim.c \
	%D%/lifecycle/container-start.c
libnm_agent_a_SOURCES += \
	%D%/requests/requests.h %D%/requests/requests-internal.h \
	%D%/requests/access.c \
	%D%/requests/change.c \
	%D%/requests/container-requests.c \
	%D%/requests/drain.c \
	%D%/requests/exec-session.c \
	%D%/requests/owner-requests.c \
	%D%/requests/rerun.c \
	%D%/requests/room-record.c \
	%D%/requests/status.c \
	%D%/requests/submit.c \
	%D%/requests/user-limits.c
libnm_agent_a_SOURCES += \
	%D%/recovery/recovery.c %D%/recovery/recovery.h \
	%D%/recovery/recovery-decide.c \
	%D%/recovery/recovery-limits.c
libnm_agent_a_SOURCES += \
	%D%/manager/manager.c %D%/manager/manager-internal.h \
	%D%/manager/manager-round.c \
	%D%/manager/recorder.c
agent_libs = libnm-agent.a $(json_libs) $(SQLITE_LIBS) $(INIH_LIBS) -lm $(monitor_libs)
