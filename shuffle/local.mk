# shuffle/: nm-shuffle, which serves map outputs to reducers. All code except main() is a library, for the tests.
noinst_LIBRARIES += libnm-shuffle.a
libnm_shuffle_a_SOURCES = \
	%D%/acceptor.c %D%/acceptor.h \
	%D%/answer.c %D%/answer.h %D%/answer-pay.c %D%/answer-pay.h %D%/answer-plan.c %D%/answer-plan.h \
	%D%/answer-send.c %D%/answer-send.h %D%/answer-state.h %D%/service.h %D%/wait.c %D%/wait.h \
	%D%/capabilities.c %D%/capabilities.h \
	%D%/cli.c %D%/cli.h \
	%D%/command.c %D%/command.h \
	%D%/control.c \
	%D%/idle.c %D%/idle.h \
	%D%/index.c %D%/index.h \
	%D%/index-cache.c %D%/index-cache.h \
	%D%/jobs.c %D%/jobs.h \
	%D%/map-output.c %D%/map-output.h \
	%D%/connection.c %D%/connection.h \
	%D%/connections.c %D%/connections.h \
	%D%/pool.c %D%/pool.h \
	%D%/request.c %D%/request.h \
	%D%/server.c %D%/server.h \
	%D%/share.c %D%/share.h \
	%D%/socket.c %D%/socket.h \
	%D%/task-queue.c %D%/task-queue.h \
	%D%/turns.c %D%/turns.h \
	%D%/user-file.c %D%/user-file.h
shuffle_libs = libnm-shuffle.a $(json_libs) $(NETTLE_LIBS) $(ZLIB_LIBS) $(hadoop_libs)

pkglibexec_PROGRAMS += nm-shuffle
nm_shuffle_SOURCES = %D%/nm-shuffle.c
nm_shuffle_LDADD = $(shuffle_libs)

dist_man_MANS += packaging/nm-shuffle.8
