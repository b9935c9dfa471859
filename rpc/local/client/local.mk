# rpc/local/client/: what a program needs to talk to nmd's local socket. It links nothing of the server.
noinst_LIBRARIES += libnm-client.a
libnm_client_a_SOURCES = \
	%D%/client.c %D%/client.h \
	%D%/reply.c %D%/reply.h
client_libs = libnm-client.a $(JANSSON_LIBS)
