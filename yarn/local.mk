# yarn/: makes this host a NodeManager of a YARN cluster.
noinst_LIBRARIES += libnm-yarn.a
libnm_yarn_a_SOURCES = \
	%D%/exceptions.h \
	%D%/node-services.c %D%/node-services.h \
	%D%/id-messages.h \
	%D%/ids.c %D%/ids.h \
	%D%/listeners.c %D%/listeners.h \
	%D%/master-key.c %D%/master-key.h \
	%D%/state-dir.c %D%/state-dir.h \
	%D%/port.c %D%/port.h \
	%D%/heartbeat.c %D%/heartbeat.h \
	%D%/resolve.c %D%/resolve.h \
	%D%/sign.c %D%/sign.h \
	%D%/state.c %D%/state.h \
	%D%/yarn.c %D%/yarn.h \
	%D%/yarn-connect.c \
	%D%/yarn-aux-services.c \
	%D%/yarn-gpus.c \
	%D%/yarn-labels.c \
	%D%/yarn-requests.c \
	%D%/yarn-jmx.c \
	%D%/yarn-logs.c \
	%D%/yarn-rest.c \
	%D%/yarn-show.c \
	%D%/yarn-state.h \
	%D%/yarn-size.c \
	%D%/yarn-steps.c \
	%D%/yarn-web.c \
	%D%/allocator/allocator.c %D%/allocator/allocator.h \
	%D%/allocator/allocator-state.h \
	%D%/allocator/ask-table.c \
	%D%/allocator/choose-node.c \
	%D%/allocator/names.c \
	%D%/allocator/nodes.c \
	%D%/allocator/pack.c \
	%D%/allocator/placement-reason.c \
	%D%/conf/authority.c \
	%D%/conf/aux-services.c \
	%D%/conf/conf.c %D%/conf/conf.h \
	%D%/conf/conf-expand.c \
	%D%/conf/conf-set.h \
	%D%/conf/conf-xml.c \
	%D%/conf/defaults.c \
	%D%/conf/gpus.c \
	%D%/conf/hadoop-names.c \
	%D%/conf/lending.c %D%/conf/lending.h \
	%D%/conf/properties.c %D%/conf/properties.h \
	%D%/conf/log-aggregation.c \
	%D%/conf/native-services.c %D%/conf/native-services.h \
	%D%/conf/proxying.c \
	%D%/conf/resource-types.c \
	%D%/conf/rules.c %D%/conf/rules.h \
	%D%/conf/settings.c %D%/conf/settings.h %D%/conf/settings-parts.h \
	%D%/conf/executor.c %D%/conf/executor.h \
	%D%/conf/sources.c \
	%D%/conf/spark-site.c %D%/conf/spark-site.h \
	%D%/conf/suggestions.c %D%/conf/suggestions.h \
	%D%/conf/trackers.c \
	%D%/conf/value.c \
	%D%/gpu/discovery.c %D%/gpu/discovery.h \
	%D%/gpu/report.c %D%/gpu/report.h \
	%D%/labels/descriptor-report.c %D%/labels/descriptor-report.h \
	%D%/labels/descriptors.c %D%/labels/descriptors.h \
	%D%/labels/provider.c %D%/labels/provider.h \
	%D%/launch/as-user.c %D%/launch/as-user.h \
	%D%/launch/caches.c %D%/launch/caches.h \
	%D%/launch/certificates.c \
	%D%/launch/dir-id.c %D%/launch/dir-id.h \
	%D%/launch/dirs.c %D%/launch/dirs.h \
	%D%/launch/config-warnings.c %D%/launch/config-warnings.h \
	%D%/launch/cleanup-queue.c %D%/launch/cleanup-queue.h \
	%D%/launch/env.c \
	%D%/launch/fetching.c \
	%D%/launch/diagnostics.c \
	%D%/launch/log-files.c %D%/launch/log-files.h \
	%D%/launch/launcher.c %D%/launch/launcher.h \
	%D%/launch/launcher-dirs.c \
	%D%/launch/launcher-state.h \
	%D%/launch/container-dirs.c %D%/launch/container-dirs.h \
	%D%/launch/prepare.c \
	%D%/launch/rate.h \
	%D%/launch/resources.c %D%/launch/resources.h \
	%D%/launch/retention.c %D%/launch/retention.h \
	%D%/launch/reader-report.c %D%/launch/reader-report.h \
	%D%/launch/retry.c \
	%D%/launch/script.c %D%/launch/script.h \
	%D%/launch/strays.c %D%/launch/strays.h \
	%D%/launch/aux-access.c %D%/launch/aux-access.h \
	%D%/launch/aux-apps.c %D%/launch/aux-apps.h \
	%D%/launch/aux-command.c %D%/launch/aux-command.h \
	%D%/launch/aux-dirs.c %D%/launch/aux-dirs.h \
	%D%/launch/aux-host.c %D%/launch/aux-host.h \
	%D%/launch/aux-server.c %D%/launch/aux-server.h \
	%D%/launch/shuffle-jobs.c %D%/launch/shuffle-jobs.h \
	%D%/launch/shuffle-process.c %D%/launch/shuffle-process.h \
	%D%/launch/shuffle-service.c %D%/launch/shuffle-service.h \
	%D%/launch/spark-service.c %D%/launch/spark-service.h \
	%D%/launch/user.c %D%/launch/user.h \
	%D%/launch/admin-env.c %D%/launch/variables.c %D%/launch/variables.h \
	%D%/lend/lend.c %D%/lend/lend.h \
	%D%/lend/lend-containers.c \
	%D%/lend/lend-grant.c \
	%D%/lend/lend-keys.c \
	%D%/lend/lend-names.c \
	%D%/lend/lend-nodes.c \
	%D%/lend/lend-pack.c \
	%D%/lend/lend-plan.c \
	%D%/lend/lend-promote.c \
	%D%/lend/lend-restore.c \
	%D%/lend/lend-state.h \
	%D%/logs/log-book.c %D%/logs/log-book.h \
	%D%/logs/log-job.c %D%/logs/log-job.h \
	%D%/logs/log-work.c %D%/logs/log-work.h \
	%D%/logs/logs.c %D%/logs/logs.h \
	%D%/logs/logs-show.c \
	%D%/logs/logs-state.h \
	%D%/logs/logs-uploads.c \
	%D%/logs/log-context.c %D%/logs/log-context.h \
	%D%/logs/log-policy.c %D%/logs/log-policy.h \
	%D%/logs/log-reports.c %D%/logs/log-reports.h \
	%D%/logs/log-state.c %D%/logs/log-state.h \
	%D%/logs/log-store.c %D%/logs/log-store.h \
	%D%/cm-protocol/cm-call.c %D%/cm-protocol/cm-call.h \
	%D%/cm-protocol/cm-containers.c \
	%D%/cm-protocol/cm-room.c \
	%D%/cm-protocol/observers.c %D%/cm-protocol/observers.h \
	%D%/cm-protocol/cm-server.c %D%/cm-protocol/cm-server.h \
	%D%/cm-protocol/cm-start.c \
	%D%/cm-protocol/key-store.c %D%/cm-protocol/key-store.h \
	%D%/cm-protocol/keyring.c %D%/cm-protocol/keyring.h \
	%D%/cm-protocol/token-check.c %D%/cm-protocol/token-check.h \
	%D%/cm-protocol/used-tokens.c %D%/cm-protocol/used-tokens.h \
	%D%/node/acl.c %D%/node/acl.h \
	%D%/node/local-groups.c %D%/node/local-groups.h \
	%D%/node/exit-code.c %D%/node/exit-code.h \
	%D%/node/html.c %D%/node/html.h \
	%D%/node/log-text.c %D%/node/log-text.h \
	%D%/node/container-table.c %D%/node/container-table.h \
	%D%/node/node.c %D%/node/node.h \
	%D%/node/node-reinit.c \
	%D%/node/node-change.c \
	%D%/node/node-gpus.c \
	%D%/node/node-waiting.c \
	%D%/node/node-end.c \
	%D%/node/node-figures.c \
	%D%/node/node-find.c \
	%D%/node/node-logs.c \
	%D%/node/node-messages.c \
	%D%/node/node-prepare.c \
	%D%/node/node-store.c \
	%D%/node/node-report.c \
	%D%/node/node-resources.c \
	%D%/node/node-aux-services.c \
	%D%/node/node-room.c \
	%D%/node/node-rest.c \
	%D%/node/node-start.c \
	%D%/node/node-state.h \
	%D%/node/rest.c %D%/node/rest.h \
	%D%/peer/peer.c %D%/peer/peer.h \
	%D%/peer/peer-link.c \
	%D%/peer/peer-nodes.c \
	%D%/peer/peer-rm.c \
	%D%/peer/peer-state.h \
	%D%/proxy/distribute-asks.c \
	%D%/proxy/distribute-grant.c \
	%D%/proxy/distribute-known.c \
	%D%/proxy/distribute-state.h \
	%D%/proxy/lend-answers.c \
	%D%/proxy/lend-asks.c \
	%D%/proxy/lend-log.c %D%/proxy/lend-log.h \
	%D%/proxy/lend-observe.c \
	%D%/proxy/lend-promotions.c \
	%D%/proxy/lend-stage.h \
	%D%/proxy/lend-state.c \
	%D%/proxy/lend-store.c \
	%D%/proxy/lend-view.c %D%/proxy/lend-view.h \
	%D%/proxy/node-rooms.c %D%/proxy/node-rooms.h \
	%D%/proxy/proxy-store.c %D%/proxy/proxy-store.h \
	%D%/proxy/local-tokens.c %D%/proxy/local-tokens.h \
	%D%/proxy/pipeline.c %D%/proxy/pipeline.h \
	%D%/proxy/pipeline-call.c \
	%D%/proxy/pipeline-state.h \
	%D%/proxy/placement-asks.c %D%/proxy/placement-asks.h \
	%D%/proxy/placement-log.c %D%/proxy/placement-log.h \
	%D%/proxy/proxy.c %D%/proxy/proxy.h \
	%D%/proxy/proxy-stats.c %D%/proxy/proxy-stats.h \
	%D%/proxy/slot-log.c %D%/proxy/slot-log.h \
	%D%/proxy/stage.h \
	%D%/proxy/stage-distribute.c \
	%D%/proxy/stage-forward.c \
	%D%/proxy/stage-lend.c \
	%D%/proxy/stages.c \
	%D%/migrate/behaviour.c %D%/migrate/behaviour.h \
	%D%/migrate/gather.c \
	%D%/migrate/migrate.c %D%/migrate/migrate.h \
	%D%/migrate/print.c \
	%D%/migrate/report.c %D%/migrate/report.h \
	%D%/setup/act.c \
	%D%/setup/advice.c \
	%D%/setup/facts.c %D%/setup/facts.h %D%/setup/facts-parts.h \
	%D%/setup/files.c %D%/setup/files.h \
	%D%/setup/manifest.c %D%/setup/manifest.h \
	%D%/setup/options.c \
	%D%/setup/plan.c %D%/setup/plan.h \
	%D%/setup/print.c %D%/setup/print.h \
	%D%/setup/programs.c \
	%D%/setup/reach.c \
	%D%/setup/script-variables.c \
	%D%/setup/setup.c %D%/setup/setup.h \
	%D%/setup/path-facts.c \
	%D%/setup/texts.c \
	%D%/setup/undo.c %D%/setup/undo.h \
	%D%/setup/unit.c %D%/setup/unit.h
libnm_yarn_a_SOURCES += \
	%D%/web/beans.c %D%/web/beans.h \
	%D%/web/conf-dump.c %D%/web/conf-dump.h \
	%D%/web/object-name.c %D%/web/object-name.h \
	%D%/web/page.c %D%/web/page.h
nodist_libnm_yarn_a_SOURCES = $(yarn_wire)
yarn_libs = libnm-yarn.a $(EXPAT_LIBS) $(json_libs) $(NETTLE_LIBS) $(PCRE2_LIBS) -lm $(upload_libs) $(localize_libs) $(pattern_libs) $(hadoop_libs)

yarn_wire = %D%/containers.pb-c.c %D%/containers.pb-c.h %D%/tracker.pb-c.c %D%/tracker.pb-c.h \
	%D%/allocator/asks.pb-c.c %D%/allocator/asks.pb-c.h \
	%D%/lend/lend.pb-c.c %D%/lend/lend.pb-c.h \
	%D%/logs/logs.pb-c.c %D%/logs/logs.pb-c.h \
	%D%/peer/peer.pb-c.c %D%/peer/peer.pb-c.h \
	%D%/proxy/proxy-store.pb-c.c %D%/proxy/proxy-store.pb-c.h \
	%D%/proxy/masters.pb-c.c %D%/proxy/masters.pb-c.h
EXTRA_DIST += %D%/containers.proto %D%/tracker.proto %D%/allocator/asks.proto %D%/lend/lend.proto \
	%D%/logs/logs.proto %D%/peer/peer.proto %D%/proxy/proxy-store.proto %D%/proxy/masters.proto
BUILT_SOURCES += $(yarn_wire)
CLEANFILES += $(yarn_wire)
