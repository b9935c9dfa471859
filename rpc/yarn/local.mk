# rpc/yarn/: this node as a NodeManager of YARN's.
noinst_LTLIBRARIES += libnm-yarn.la
libnm_yarn_la_SOURCES = \
	%D%/conf.c %D%/conf.h %D%/conf-set.h \
	%D%/conf-dir.c \
	%D%/conf-expand.c \
	%D%/conf-xml.c \
	%D%/exceptions.h \
	%D%/hosting.c %D%/hosting.h \
	%D%/ids.c %D%/ids.h \
	%D%/launch/afterwards.c %D%/launch/last-words.c %D%/launch/prepare.c %D%/launch/retry.c \
	%D%/launch/as-user.c %D%/launch/as-user.h \
	%D%/launch/claim.c %D%/launch/claim.h \
	%D%/launch/dirs.c %D%/launch/dirs.h \
	%D%/launch/ended.c %D%/launch/ended.h \
	%D%/kept-keys.c %D%/kept-keys.h \
	%D%/keyring.c %D%/keyring.h \
	%D%/launch/env.c %D%/launch/env.h \
	%D%/launch/launcher.c %D%/launch/launcher.h %D%/launch/launcher-state.h \
	%D%/launch/place.c %D%/launch/place.h \
	%D%/launch/resources.c %D%/launch/resources.h \
	%D%/launch/script.c %D%/launch/script.h \
	%D%/launch/shuffle-jobs.c %D%/launch/shuffle-jobs.h \
	%D%/launch/shuffle-process.c %D%/launch/shuffle-process.h \
	%D%/launch/shuffle-service.c %D%/launch/shuffle-service.h \
	%D%/launch/text.c %D%/launch/text.h \
	%D%/launch/user.c %D%/launch/user.h \
	%D%/launch/variables.c %D%/launch/variables.h \
	%D%/manage.c %D%/manage.h \
	%D%/manage-call.c %D%/manage-call.h \
	%D%/manage-ids.c %D%/manage-ids.h \
	%D%/manage-start.c %D%/manage-start.h \
	%D%/message-ids.h \
	%D%/node/exit-code.c %D%/node/exit-code.h \
	%D%/node/item.c %D%/node/item.h \
	%D%/node/node.c %D%/node/node.h %D%/node/node-state.h \
	%D%/node/node-change.c \
	%D%/node/node-end.c \
	%D%/node/node-prepare.c \
	%D%/node/node-recent.c \
	%D%/node/node-report.c \
	%D%/node/node-start.c \
	%D%/orders.c %D%/orders.h \
	%D%/port.c %D%/port.h \
	%D%/properties.c %D%/properties.h \
	%D%/report.c %D%/report.h \
	%D%/resolve.c %D%/resolve.h \
	%D%/settings.c %D%/settings.h \
	%D%/sources.c %D%/sources.h \
	%D%/state.c %D%/state.h \
	%D%/value.c %D%/value.h \
	%D%/token-check.c %D%/token-check.h \
	%D%/trackers.c %D%/trackers.h \
	%D%/used-tokens.c %D%/used-tokens.h \
	%D%/yarn.c %D%/yarn.h
nodist_libnm_yarn_la_SOURCES = $(yarn_wire)
libnm_yarn_la_LIBADD = libnm-hadoop.la libnm-localize.la libnm-util.la $(EXPAT_LIBS) $(JANSSON_LIBS) $(SYSTEMD_LIBS)

yarn_wire = %D%/containers.pb-c.c %D%/containers.pb-c.h %D%/tracker.pb-c.c %D%/tracker.pb-c.h
EXTRA_DIST += %D%/containers.proto %D%/tracker.proto
BUILT_SOURCES += $(yarn_wire)
CLEANFILES += $(yarn_wire)
