# rpc/local/: HTTP and JSON on the UNIX socket. nmctl links only client/.
noinst_LIBRARIES += libnm-messages.a libnm-local.a
libnm_messages_a_SOURCES = \
	%D%/messages.c %D%/messages.h \
	%D%/json-make.c %D%/json-make.h \
	%D%/messages-record.c \
	%D%/json-scan.c %D%/json-scan.h \
	%D%/messages-base.c \
	%D%/messages-parse.c
messages_libs = libnm-messages.a $(json_libs) -lm $(agent_libs)

libnm_local_a_SOURCES = \
	%D%/answer-text.c %D%/answer-text.h \
	%D%/answer-xml.c %D%/answer-xml.h \
	%D%/call.c %D%/call.h \
	%D%/claimed-user.c %D%/claimed-user.h \
	%D%/connections.c %D%/connections.h \
	%D%/handle-containers.c \
	%D%/embedded.h \
	%D%/handle-exec.c \
	%D%/gate.c \
	%D%/handlers.h \
	%D%/head.c %D%/head.h \
	%D%/local-state.h \
	%D%/listen.c %D%/listen.h \
	%D%/log-reader.c %D%/log-reader.h \
	%D%/metrics.c %D%/metrics.h \
	%D%/host-names.c %D%/host-names.h \
	%D%/handle-node.c \
	%D%/routes.c %D%/routes.h \
	%D%/server.c %D%/server.h \
	%D%/stream.c %D%/stream.h \
	%D%/stream-events.c \
	%D%/stream-history.c \
	%D%/stream-logs.c \
	%D%/stream-page.c \
	%D%/route-table.c
nodist_libnm_local_a_SOURCES = %D%/embedded.c
local_libs = libnm-local.a $(MHD_LIBS) $(messages_libs)

page_parts = %D%/page.css %D%/page-base.js %D%/page-charts.js %D%/page-lanes.js %D%/page-detail.js %D%/page-list.js \
	%D%/page-node.js %D%/page.js
embedded_files = %D%/openapi.json %D%/page.html $(page_parts)
EXTRA_DIST += $(embedded_files) %D%/embed.sh
CLEANFILES += %D%/embedded.c %D%/page-whole.html
# The page is one file for the browser. It includes its parts and the library for charts, from Debian's libjs-dygraphs.
%D%/page-whole.html: %D%/page.html $(page_parts)
	$(AM_V_GEN)$(MKDIR_P) %D% && awk -v parts='$(srcdir)/%D%' -v dir='$(dygraphsdir)' \
		'match($$0, /\/\*@[a-z.-]+@\*\//) { \
			name = substr($$0, RSTART + 3, RLENGTH - 6); \
			file = parts "/" name; \
			printf "%s", substr($$0, 1, RSTART - 1); \
			if ((more = (getline line < file)) < 0) \
				more = (getline line < (file = dir "/" name)); \
			if (more < 0) { print file ": missing" > "/dev/stderr"; exit 1 } \
			for (; more > 0; more = (getline line < file)) \
				if (line !~ /sourceMappingURL/) print line; \
			print substr($$0, RSTART + RLENGTH); next } \
		{ print }' $(srcdir)/%D%/page.html > $@.new && mv $@.new $@
%D%/embedded.c: %D%/openapi.json %D%/page-whole.html %D%/embed.sh
	$(AM_V_GEN)$(MKDIR_P) %D% && $(srcdir)/%D%/embed.sh openapi $(srcdir)/%D%/openapi.json \
		page %D%/page-whole.html > $@.new && mv $@.new $@
