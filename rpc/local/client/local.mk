# rpc/local/client/: the client library for nmd's local socket. It links no code of the server.
noinst_LIBRARIES += libnm-client.a
libnm_client_a_SOURCES = \
	%D%/client.c %D%/client.h \
	%D%/reply.c %D%/reply.h \
	%D%/request-body.c %D%/request-body.h
client_libs = libnm-client.a $(json_libs) $(util_libs)
