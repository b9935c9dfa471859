# packaging/: what an installation has beside the programs.
systemdsystemunit_DATA = %D%/nmd.service
dist_systemdsystemunit_DATA = %D%/nmd.socket %D%/nm.slice
# Read by systemd-sysusers and systemd-tmpfiles; the names in the tree tell what they are, these what they are for.
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

# For people to import into Grafana and to give to Prometheus. tests/integration/75-metrics.sh asks a Prometheus all the
# dashboard's queries, 77-alerts.sh has promtool play what raises each alert.
nmddatadir = $(datadir)/nmd
dist_nmddata_DATA = %D%/nmd-dashboard.json %D%/nmd-alerts.yml
EXTRA_DIST += %D%/nmd-alerts.test.yml

EXTRA_DIST += %D%/nmd.service.in %D%/nmd.sysusers %D%/nmd.tmpfiles %D%/nmd.catalog %D%/build-deb %D%/debian

# Configuration and manuals. nmd.conf and the keys in nmd.conf.5 are made from the table in agent/config/config-keys.c,
# what processes inherit in nmd.8 from that in util/inherited.c; unit tests fail when they are out of date.
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
