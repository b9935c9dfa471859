# aggregate/upload-*: the reports of nm-log-uploader, and the names in the remote file system, which nmd needs, too.
noinst_LIBRARIES += libnm-upload.a
libnm_upload_a_SOURCES = \
	aggregate/upload-names.c aggregate/upload-names.h \
	aggregate/upload-protocol.c aggregate/upload-protocol.h
upload_libs = libnm-upload.a $(JANSSON_LIBS) $(util_libs)

# nm-log-uploader uploads the logs of an application, in a process of the application's user. All of its code except main() is in a
# library, so that tests can call it.
noinst_LIBRARIES += libnm-log-uploader.a
libnm_log_uploader_a_SOURCES = \
	%D%/indexed.c %D%/indexed.h \
	%D%/remote-dirs.c %D%/remote-dirs.h \
	%D%/target.h \
	%D%/target-file.c \
	%D%/target-hdfs.c \
	%D%/upload.c %D%/upload.h \
	%D%/upload-memory.c %D%/upload-memory.h \
	%D%/upload-plan.c %D%/upload-plan.h \
	%D%/upload-report.c %D%/upload-report.h \
	%D%/upload-select.c %D%/upload-select.h \
	%D%/upload-stream.c %D%/upload-stream.h \
	%D%/upload-work.c %D%/upload-work.h \
	%D%/uploader.c %D%/uploader.h
libnm_log_uploader_a_CFLAGS = $(AM_CFLAGS) $(CURL_CFLAGS)
log_uploader_libs = libnm-log-uploader.a $(log_format_libs) $(upload_libs) $(hdfs_libs) $(pattern_libs)

pkglibexec_PROGRAMS += nm-log-uploader
nm_log_uploader_SOURCES = %D%/nm-log-uploader.c
nm_log_uploader_LDADD = $(log_uploader_libs)

dist_man_MANS += packaging/nm-log-uploader.8
