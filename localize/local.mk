# localize/: fetches the resources of containers, and caches them. nm-localizer fetches, in a process of the container's user. All of
# its code except main() is in a library, so that tests can call it. nmd doesn't link this library, because it unpacks untrusted archives.
noinst_LIBRARIES += libnm-localizer.a
libnm_localizer_a_SOURCES = \
	%D%/worker/ca.c \
	%D%/worker/copy.c \
	%D%/worker/entry-name.c %D%/worker/entry-name.h \
	%D%/worker/fetch.c %D%/worker/fetch.h \
	%D%/worker/fetch-command.c \
	%D%/worker/fetch-hdfs.c \
	%D%/worker/fetch-hdfs-tree.c \
	%D%/worker/fetch-local.c \
	%D%/worker/fetch-shared.c \
	%D%/worker/fetch-tree.c \
	%D%/worker/listing.c \
	%D%/worker/install.c %D%/worker/install.h \
	%D%/worker/remove-tree.c %D%/worker/remove-tree.h \
	%D%/worker/unpack.c %D%/worker/unpack.h \
	%D%/worker/work.c %D%/worker/work.h \
	%D%/worker/worker.c %D%/worker/worker.h \
	%D%/worker/worker-report.c %D%/worker/worker-report.h
libnm_localizer_a_CFLAGS = $(AM_CFLAGS) $(CURL_CFLAGS) $(ARCHIVE_CFLAGS) $(PCRE2_CFLAGS)
localizer_libs = libnm-localizer.a $(hdfs_libs) $(JANSSON_LIBS) $(CURL_LIBS) $(ARCHIVE_LIBS) $(PCRE2_LIBS) $(curl_libs) $(pattern_libs)

# HDFS through WebHDFS: nm-localizer reads, and nm-log-uploader writes.
noinst_LIBRARIES += libnm-hdfs.a
libnm_hdfs_a_SOURCES = \
	%D%/name-nodes.h \
	%D%/worker/hdfs.c %D%/worker/hdfs.h \
	%D%/worker/http.c %D%/worker/http.h \
	%D%/worker/report-line.c %D%/worker/report-line.h \
	%D%/worker/uri.c %D%/worker/uri.h \
	%D%/worker/webhdfs.c %D%/worker/webhdfs.h
libnm_hdfs_a_CFLAGS = $(AM_CFLAGS) $(CURL_CFLAGS)
hdfs_libs = libnm-hdfs.a $(JANSSON_LIBS) $(curl_libs) $(util_libs)

# Java's regular expressions: nm-localizer matches archive entries with them, and nmd matches user names.
noinst_LIBRARIES += libnm-pattern.a
libnm_pattern_a_SOURCES = \
	%D%/pattern/java-class.c %D%/pattern/java-regex.c %D%/pattern/java-regex.h %D%/pattern/java-text.c \
	%D%/pattern/pattern.c %D%/pattern/pattern.h
libnm_pattern_a_CFLAGS = $(AM_CFLAGS) $(PCRE2_CFLAGS)
pattern_libs = libnm-pattern.a $(PCRE2_LIBS) $(util_libs)

pkglibexec_PROGRAMS += nm-localizer
nm_localizer_SOURCES = %D%/worker/nm-localizer.c
nm_localizer_LDADD = $(localizer_libs)

# The part that nmd links: the scheduling of fetches, and the cache.
noinst_LIBRARIES += libnm-localize.a
libnm_localize_a_SOURCES = \
	%D%/localizer-request.c %D%/localizer-request.h \
	%D%/batches.c %D%/batches.h \
	%D%/cache.c %D%/cache.h \
	%D%/cache-file.c \
	%D%/check.c \
	%D%/job.c %D%/job.h \
	%D%/layout.c %D%/layout.h \
	%D%/leftovers.c %D%/leftovers.h \
	%D%/retain.c \
	%D%/user-queue.c %D%/user-queue.h \
	%D%/localizer.c %D%/localizer.h %D%/localizer-state.h \
	%D%/worker-process.c %D%/worker-process.h \
	%D%/worker-protocol.c %D%/worker-protocol.h
localize_libs = libnm-localize.a $(json_libs) $(util_libs)

dist_man_MANS += packaging/nm-localizer.8
