# cgroup/: everything that touches cgroup files and systemd units.
noinst_LTLIBRARIES += libnm-cgroup.la
libnm_cgroup_la_SOURCES = \
	%D%/cgroup.h
libnm_cgroup_la_LIBADD = libnm-util.la $(SYSTEMD_LIBS) $(CGROUP_LIBS)
