# nmctl/: the command-line client. It is started often and must start fast, so it is linked only with libc and jansson, and
# statically with musl where configure can do so.
noinst_LIBRARIES += libnm-nmctl.a
nmctl_sources = \
	%D%/api.c %D%/api.h \
	%D%/args.c \
	%D%/aux-services.c %D%/aux-services.h \
	%D%/attach.c %D%/attach.h \
	%D%/bar.c \
	%D%/cli.c %D%/cli.h \
	%D%/container-json.c %D%/container-json.h \
	%D%/docker-hints.c \
	%D%/help.c \
	%D%/queue-reason.c \
	%D%/json.c %D%/json.h \
	%D%/log-uploads.c %D%/log-uploads.h \
	%D%/masters.c %D%/masters.h \
	%D%/progress.c %D%/progress.h \
	%D%/nmctl.h \
	%D%/message.c %D%/message.h \
	%D%/session.c %D%/session.h \
	%D%/screen.c %D%/screen.h \
	%D%/table.c \
	%D%/term.c %D%/term.h \
	%D%/top.c %D%/top.h \
	%D%/verb-act.c \
	%D%/verb-complete.c \
	%D%/verb-exec.c \
	%D%/verb-explain.c \
	%D%/verb-list.c \
	%D%/verb-logs.c \
	%D%/verb-node.c \
	%D%/verb-run.c \
	%D%/verb-show.c \
	%D%/verb-status.c \
	%D%/verb-top.c \
	%D%/verb-wait.c \
	%D%/verbs.c \
	%D%/wait.c %D%/wait.h
libnm_nmctl_a_SOURCES = $(nmctl_sources)
nmctl_libs = libnm-nmctl.a $(json_libs) $(client_libs) $(util_libs)

bin_PROGRAMS += nmctl/nmctl
if NMCTL_MUSL
# The program has its own compiler flags, so all sources are compiled separately for it. The tests link the library.
nmctl_nmctl_SOURCES = %D%/nmctl.c %D%/fortify.c $(nmctl_sources) \
	rpc/local/client/client.c \
	rpc/local/client/reply.c \
	rpc/local/client/request-body.c \
	util/become.c \
	util/error.c \
	util/fault.c \
	util/fileio.c \
	util/frame.c \
	util/inherited.c \
	util/json-text.c \
	util/option.c \
	util/parse.c
nmctl_nmctl_LDADD = $(NMCTL_JANSSON)
else
nmctl_nmctl_SOURCES = %D%/nmctl.c
nmctl_nmctl_LDADD = $(nmctl_libs)
endif
# Automake replaces the general flags by these in both cases.
nmctl_nmctl_CFLAGS = $(AM_CFLAGS) $(NMCTL_CFLAGS)
nmctl_nmctl_LDFLAGS = $(AM_LDFLAGS) $(NMCTL_LDFLAGS)
DISTCLEANFILES = nmctl.specs

# Manual and completions. bash finds a completion by the command's name, so the file is installed as "nmctl".
dist_man_MANS += packaging/nmctl.1
dist_zshcompletion_DATA = packaging/completion/_nmctl
bashcompletion_DATA = packaging/completion/nmctl
packaging/completion/nmctl: packaging/completion/nmctl.bash
	$(AM_V_GEN)$(MKDIR_P) packaging/completion && cp "$(srcdir)/packaging/completion/nmctl.bash" $@
CLEANFILES += packaging/completion/nmctl
EXTRA_DIST += packaging/completion/nmctl.bash
