# rpc/local/client/: what a program needs to talk to nmd's local socket. It links nothing of the server.
noinst_LTLIBRARIES += libnm-client.la
libnm_client_la_SOURCES = \
	%D%/client.c %D%/client.h \
	%D%/reply.c %D%/reply.h
