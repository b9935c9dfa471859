# The shell suites, and the files of the machine on which some of them run. Whole folders are listed, so that a new suite needs
# no line here.
EXTRA_DIST += .ci/run %D%/.shellcheckrc %D%/demo %D%/deps %D%/docs %D%/downloads %D%/tap.sh %D%/progress.sh %D%/suites.sh %D%/query.sh %D%/changed %D%/changed.table \
	%D%/style %D%/fresh %D%/coverage %D%/package %D%/vm %D%/integration %D%/packing

# configure.ac passes this file's name to the linker, so the file must exist before a program is linked.
if ENABLE_COVERAGE
BUILT_SOURCES += %D%/coverage/hooks.o
CLEANFILES += %D%/coverage/hooks.o
endif
%D%/coverage/hooks.o: %D%/coverage/hooks.c
	@$(MKDIR_P) %D%/coverage
	$(AM_V_CC)$(CC) $(CFLAGS) -c -o $@ $<

if ENABLE_TESTS
include tests/unit/local.mk
include tests/fuzz/local.mk
endif
# part of the .PHONY of tests/fuzz and tests/unit, because automake accepts .PHONY under one condition only
.PHONY: fuzz print-tests
include tests/yarn/local.mk
include tests/bench/local.mk

# ./check has the name of a target. If it were in EXTRA_DIST, make would run all tests to update it.
# Automake also copies a directory in EXTRA_DIST from the build tree. Object files must not be in the distribution.
dist-hook:
	cp -p $(srcdir)/check $(distdir)/check
	find $(distdir)/tests \( -name '*.o' -o -name '*.lo' -o -name .deps -o -name .dirstamp \) \
		-prune -exec rm -rf {} +
