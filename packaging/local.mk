# packaging/: all installed files except for the programs.
systemdsystemunit_DATA = %D%/nmd.service
dist_systemdsystemunit_DATA = %D%/nmd.socket %D%/nm.slice
# systemd-sysusers and systemd-tmpfiles read these files. They are installed under the package's name, and the names in the tree
# show their kind.
install-data-hook: install-system-files
install-system-files:
	$(MKDIR_P) "$(DESTDIR)$(prefix)/lib/sysusers.d" "$(DESTDIR)$(prefix)/lib/tmpfiles.d" \
		"$(DESTDIR)$(prefix)/lib/systemd/catalog"
	$(INSTALL_DATA) "$(srcdir)/%D%/nmd.sysusers" "$(DESTDIR)$(prefix)/lib/sysusers.d/nmd.conf"
	$(INSTALL_DATA) "$(srcdir)/%D%/nmd.tmpfiles" "$(DESTDIR)$(prefix)/lib/tmpfiles.d/nmd.conf"
	$(INSTALL_DATA) "$(srcdir)/%D%/nmd.catalog" "$(DESTDIR)$(prefix)/lib/systemd/catalog/nmd.catalog"
uninstall-hook: uninstall-system-files
uninstall-system-files:
	rm -f "$(DESTDIR)$(prefix)/lib/sysusers.d/nmd.conf" "$(DESTDIR)$(prefix)/lib/tmpfiles.d/nmd.conf" \
		"$(DESTDIR)$(prefix)/lib/systemd/catalog/nmd.catalog"
.PHONY: install-system-files uninstall-system-files

%D%/nmd.service: %D%/nmd.service.in Makefile
	$(AM_V_GEN)$(MKDIR_P) %D% && sed 's|@sbindir[@]|$(sbindir)|g' "$(srcdir)/%D%/nmd.service.in" >$@.tmp && mv $@.tmp $@
CLEANFILES += %D%/nmd.service

# Users import the dashboard into Grafana, and give the alerts to Prometheus. tests/integration/75-metrics.sh runs all queries
# of the dashboard on a Prometheus. 77-alerts.sh lets promtool simulate the cause of each alert.
nmddatadir = $(datadir)/nmd
dist_nmddata_DATA = %D%/nmd-dashboard.json %D%/nmd-alerts.yml
EXTRA_DIST += %D%/nmd-alerts.test.yml

EXTRA_DIST += %D%/nmd.service.in %D%/nmd.sysusers %D%/nmd.tmpfiles %D%/nmd.catalog %D%/build-deb %D%/debian

# Configuration and manuals. nmd.conf and the keys in nmd.conf.5 are generated from the table in agent/config/config-keys.c. The
# inherited attributes in nmd.8 are generated from the table in util/inherited.c. Unit tests fail if these files are out of
# date.
nmdconfdir = $(sysconfdir)/nmd
dist_nmdconf_DATA = %D%/nmd.conf
dist_man_MANS += %D%/nmd.conf.5 %D%/nmd.8

EXTRA_PROGRAMS += print-config-docs
print_config_docs_SOURCES = %D%/print-config-docs.c
print_config_docs_LDADD = $(agent_libs)
CLEANFILES += print-config-docs$(EXEEXT) config-keys.tmp inherited.tmp

.PHONY: update-config-docs
update-config-docs: print-config-docs
	./print-config-docs conf > $(srcdir)/%D%/nmd.conf
	./print-config-docs man > config-keys.tmp
	sed -i -e '/^\.\\" keys: begin/r config-keys.tmp' \
		-e '/^\.\\" keys: begin/,/^\.\\" keys: end/{/^\.\\" keys: /!d;}' $(srcdir)/%D%/nmd.conf.5
	./print-config-docs inherited > inherited.tmp
	sed -i -e '/^\.\\" inherited: begin/r inherited.tmp' \
		-e '/^\.\\" inherited: begin/,/^\.\\" inherited: end/{/^\.\\" inherited: /!d;}' $(srcdir)/%D%/nmd.8
	rm -f config-keys.tmp inherited.tmp
