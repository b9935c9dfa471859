# nmscale/: lists the nodes of a YARN cluster that can be given back, and gives them back. All code except main() is in
# a library, so that tests can call it.
noinst_LIBRARIES += libnm-scale.a
libnm_scale_a_SOURCES = \
	%D%/apply.c %D%/apply.h \
	%D%/apply-plan.c \
	%D%/choose.c %D%/choose.h \
	%D%/run-command.c \
	%D%/exclude.c %D%/exclude.h \
	%D%/file.c %D%/system.h \
	%D%/http.c %D%/http.h \
	%D%/memory.c %D%/memory.h \
	%D%/memory-file.c \
	%D%/model.c %D%/model.h \
	%D%/options.c %D%/options.h \
	%D%/parse.c %D%/parse.h \
	%D%/poll-loop.c \
	%D%/print.c %D%/print.h \
	%D%/rm.c %D%/rm.h
libnm_scale_a_CFLAGS = $(AM_CFLAGS) $(CURL_CFLAGS)
scale_libs = libnm-scale.a $(json_libs) $(curl_libs) $(util_libs)

bin_PROGRAMS += nmscale/nmscale
nmscale_nmscale_SOURCES = %D%/nmscale.c
nmscale_nmscale_LDADD = $(scale_libs)

# Manual and completions. bash finds a completion by the command's name.
dist_man_MANS += packaging/nmscale.1
dist_zshcompletion_DATA += packaging/completion/_nmscale
bashcompletion_DATA += packaging/completion/nmscale
packaging/completion/nmscale: packaging/completion/nmscale.bash
	$(AM_V_GEN)$(MKDIR_P) packaging/completion && cp "$(srcdir)/packaging/completion/nmscale.bash" $@
CLEANFILES += packaging/completion/nmscale
EXTRA_DIST += packaging/completion/nmscale.bash
