# aggregate/upload-*: the reports of nm-log-uploader, and the names in the remote file system, which nmd needs, too.
noinst_LIBRARIES += libnm-upload.a
libnm_upload_a_SOURCES = \
	aggregate/upload-names.c aggregate/upload-names.h \
	aggregate/upload-protocol.c aggregate/upload-protocol.h
upload_libs = libnm-upload.a $(JANSSON_LIBS) $(util_libs)
