# localize/: fetches what containers need, and keeps it for others. nm-localizer fetches, a process of the container's user: everything
# but its main() is a library, for the tests. nmd doesn't link it: whoever takes strangers' archives apart shouldn't be nmd.
noinst_LTLIBRARIES += libnm-localizer.la
libnm_localizer_la_SOURCES = \
	%D%/charset.c %D%/charset.h \
	%D%/copy.c %D%/copy.h \
	%D%/fetch.c %D%/fetch.h %D%/fetch-schemes.h \
	%D%/fetch-command.c \
	%D%/fetch-hdfs.c %D%/fetch-hdfs.h \
	%D%/fetch-hdfs-tree.c \
	%D%/fetch-http.c \
	%D%/fetch-local.c \
	%D%/fetch-local-tree.c \
	%D%/fetch-shared.c \
	%D%/fetch-tree.c \
	%D%/http.c %D%/http.h \
	%D%/inside.c %D%/inside.h \
	%D%/listing.c %D%/listing.h \
	%D%/place.c %D%/place.h \
	%D%/report.c %D%/report.h \
	%D%/unpack.c %D%/unpack.h \
	%D%/uri.c %D%/uri.h \
	%D%/webhdfs.c %D%/webhdfs.h \
	%D%/work.c %D%/work.h \
	%D%/worker.c %D%/worker.h
libnm_localizer_la_CFLAGS = $(AM_CFLAGS) $(CURL_CFLAGS) $(ARCHIVE_CFLAGS) $(PCRE2_CFLAGS)
libnm_localizer_la_LIBADD = libnm-pattern.la libnm-util.la $(JANSSON_LIBS) $(CURL_LIBS) $(ARCHIVE_LIBS) $(PCRE2_LIBS)

# Java's regular expressions: nm-localizer matches archive entries by them, and nmd itself user names.
noinst_LTLIBRARIES += libnm-pattern.la
libnm_pattern_la_SOURCES = \
	%D%/java-class.c %D%/java-regex.c %D%/java-regex.h %D%/java-text.c \
	%D%/pattern.c %D%/pattern.h
libnm_pattern_la_CFLAGS = $(AM_CFLAGS) $(PCRE2_CFLAGS)
libnm_pattern_la_LIBADD = libnm-util.la $(PCRE2_LIBS)

pkglibexec_PROGRAMS += nm-localizer
nm_localizer_SOURCES = %D%/nm-localizer.c
nm_localizer_LDADD = libnm-localizer.la

# What nmd has of it: who fetches what, and the cache.
noinst_LTLIBRARIES += libnm-localize.la
libnm_localize_la_SOURCES = \
	%D%/ask.c %D%/ask.h \
	%D%/localizer-state.c \
	%D%/batches.c %D%/batches.h \
	%D%/cache.c %D%/cache.h \
	%D%/cache-file.c %D%/cache-file.h \
	%D%/check.c \
	%D%/job.c %D%/job.h %D%/report.h \
	%D%/layout.c %D%/layout.h \
	%D%/leftovers.c %D%/leftovers.h \
	%D%/line.c %D%/line.h \
	%D%/localizer.c %D%/localizer.h %D%/localizer-state.h \
	%D%/said.c %D%/said.h
libnm_localize_la_LIBADD = libnm-util.la $(JANSSON_LIBS) $(SYSTEMD_LIBS)

dist_man_MANS += packaging/nm-localizer.8
