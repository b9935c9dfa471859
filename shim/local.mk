# shim/: nm-shim, which starts a container's command, waits for it and records how it ended.
# Each container has a shim process, so the shim links no library but libc (musl if configure finds it), and only those
# sources of nmd that it calls.
pkglibexec_PROGRAMS += nm-shim
nm_shim_SOURCES = \
	agent/launch/output.c \
	agent/launch/output-times.c \
	agent/launch/record.c \
	agent/launch/shim.h \
	%D%/shim.c %D%/shim-internal.h \
	%D%/shim-cgroup.c \
	%D%/shim-child.c \
	agent/launch/shim-confine.c \
	%D%/shim-env.c \
	%D%/shim-input.c \
	%D%/shim-list.c \
	%D%/shim-namespaces.c \
	%D%/shim-output.c \
	%D%/shim-session.c \
	agent/launch/shim-spec.c \
	%D%/shim-spawner.c \
	%D%/shim-stdio.c \
	util/become.c \
	util/fault.c \
	util/fileio.c \
	util/frame.c \
	util/parse.c
# nm-shim has its own compiler flags, so the shared sources are compiled separately for it.
nm_shim_CFLAGS = $(AM_CFLAGS) $(SHIM_CFLAGS)
nm_shim_LDFLAGS = $(AM_LDFLAGS) $(SHIM_LDFLAGS)
