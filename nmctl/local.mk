# nmctl/: the command-line client. It starts often and must start fast: libc and jansson are all it is linked with.
noinst_LTLIBRARIES += libnm-client.la
libnm_client_la_SOURCES = \
	rpc/local/client.c rpc/local/client.h \
	rpc/local/reply.c rpc/local/reply.h
