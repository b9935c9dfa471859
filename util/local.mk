# util/: code that several folders need. It depends on no other folder.
noinst_LIBRARIES += libnm-util.a
libnm_util_a_SOURCES = \
	%D%/accept.h \
	%D%/autogroup.c %D%/autogroup.h \
	%D%/become.c %D%/become.h \
	%D%/clock.c %D%/clock.h \
	%D%/error.c %D%/error.h \
	%D%/fault.c %D%/fault.h \
	%D%/fileio.c %D%/fileio.h \
	%D%/host.c %D%/host.h \
	%D%/inherited.c %D%/inherited.h \
	%D%/lockfile.c %D%/lockfile.h \
	%D%/log.c %D%/log.h \
	%D%/loop.c %D%/loop.h \
	%D%/fnv1a.h \
	%D%/frame.c %D%/frame.h \
	%D%/groups.c \
	%D%/array.h \
	%D%/macros.h \
	%D%/option.c %D%/option.h \
	%D%/parse.c %D%/parse.h \
	%D%/quota.c %D%/quota.h \
	%D%/fair-queue.c %D%/fair-queue.h \
	%D%/utf8.c %D%/utf8.h
util_libs = libnm-util.a $(SYSTEMD_LIBS)

# for programs that write JSON: nm-localizer and nm-shim don't link it
noinst_LIBRARIES += libnm-json.a
libnm_json_a_SOURCES = %D%/json-text.c %D%/json-text.h
json_libs = libnm-json.a $(JANSSON_LIBS)

# for programs that fetch over HTTP: no other program links libcurl
noinst_LIBRARIES += libnm-curl.a
libnm_curl_a_SOURCES = %D%/curl.c %D%/curl.h
libnm_curl_a_CFLAGS = $(AM_CFLAGS) $(CURL_CFLAGS)
curl_libs = libnm-curl.a $(CURL_LIBS)
