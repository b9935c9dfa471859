# aggregate/: uploads the logs of containers. aggregate/format/ has the formats of the uploaded files.
noinst_LIBRARIES += libnm-log-format.a
libnm_log_format_a_SOURCES = \
	%D%/format/indexed-file.c %D%/format/indexed-file.h \
	%D%/format/java-stream.c %D%/format/java-stream.h \
	%D%/format/log-buffer.c %D%/format/log-buffer.h \
	%D%/format/log-meta.c %D%/format/log-meta.h \
	%D%/format/log-state.c %D%/format/log-state.h \
	%D%/format/log-writer.c %D%/format/log-writer.h \
	%D%/format/tfile.c %D%/format/tfile.h
log_format_libs = libnm-log-format.a $(NETTLE_LIBS) $(util_libs)
