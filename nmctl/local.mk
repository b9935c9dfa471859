# nmctl/: the command-line client. It is started often and must start fast, so it is linked only with libc and jansson.
noinst_LIBRARIES += libnm-nmctl.a
libnm_nmctl_a_SOURCES = \
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
nmctl_libs = libnm-nmctl.a $(json_libs) $(client_libs) $(util_libs)

bin_PROGRAMS += nmctl/nmctl
nmctl_nmctl_SOURCES = %D%/nmctl.c
nmctl_nmctl_LDADD = $(nmctl_libs)

# Manual and completions. bash finds a completion by the command's name, so the file is installed as "nmctl".
dist_man_MANS += packaging/nmctl.1
dist_zshcompletion_DATA = packaging/completion/_nmctl
bashcompletion_DATA = packaging/completion/nmctl
packaging/completion/nmctl: packaging/completion/nmctl.bash
	$(AM_V_GEN)$(MKDIR_P) packaging/completion && cp "$(srcdir)/packaging/completion/nmctl.bash" $@
CLEANFILES += packaging/completion/nmctl
EXTRA_DIST += packaging/completion/nmctl.bash
