# cgroup/: everything that touches cgroup files and systemd units.
noinst_LIBRARIES += libnm-cgroup.a
libnm_cgroup_a_SOURCES = \
	%D%/attr.c %D%/attr.h \
	%D%/backend.c %D%/backend.h \
	%D%/backend-choose.c \
	%D%/backend-direct.c \
	%D%/backend-fake.c %D%/backend-fake.h \
	%D%/backend-systemd.c \
	%D%/cgroup.c %D%/cgroup.h \
	%D%/devices.c %D%/devices.h \
	%D%/drift.c \
	%D%/events.c \
	%D%/kill.c \
	%D%/libcg.c %D%/libcg.h \
	%D%/limits.c %D%/limits.h \
	%D%/mount.c \
	%D%/netprio.c \
	%D%/probe.c \
	%D%/procs.c %D%/procs.h \
	%D%/procs-pass.c \
	%D%/psi.c \
	%D%/sdbus.c %D%/sdbus.h \
	%D%/sdcall.c %D%/sdcall.h \
	%D%/sdoom.c \
	%D%/sdop.c \
	%D%/leftover-procs.c \
	%D%/systemd.h \
	%D%/watch.c
cgroup_libs = libnm-cgroup.a $(CGROUP_LIBS) $(util_libs)
