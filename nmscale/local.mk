# nmscale/: names the nodes of a YARN cluster that can be given back, and gives them back. Everything but main() is a
# library, for the tests.
noinst_LTLIBRARIES += libnm-scale.la
libnm_scale_la_SOURCES = \
	%D%/apply.c %D%/apply.h \
	%D%/choose.c %D%/choose.h \
	%D%/command.c \
	%D%/exclude.c %D%/exclude.h \
	%D%/file.c %D%/system.h \
	%D%/http.c %D%/http.h \
	%D%/memory.c %D%/memory.h \
	%D%/memory-file.c \
	%D%/model.c %D%/model.h \
	%D%/options.c %D%/options.h \
	%D%/parse.c %D%/parse.h \
	%D%/plan.c \
	%D%/print.c %D%/print.h \
	%D%/rm.c %D%/rm.h \
	%D%/run.c
libnm_scale_la_CFLAGS = $(AM_CFLAGS) $(CURL_CFLAGS)
libnm_scale_la_LIBADD = libnm-curl.la libnm-util.la $(JANSSON_LIBS)

bin_PROGRAMS += nmscale/nmscale
nmscale_nmscale_SOURCES = %D%/nmscale.c
nmscale_nmscale_LDADD = libnm-scale.la

# Its manual and completions; bash wants a file with the command's name.
dist_man_MANS += packaging/nmscale.1
dist_zshcompletion_DATA += packaging/completion/_nmscale
bashcompletion_DATA += packaging/completion/nmscale
packaging/completion/nmscale: packaging/completion/nmscale.bash
	$(AM_V_GEN)$(MKDIR_P) packaging/completion && cp "$(srcdir)/packaging/completion/nmscale.bash" $@
CLEANFILES += packaging/completion/nmscale
EXTRA_DIST += packaging/completion/nmscale.bash
