# unit tests of nmscale; test-scale-property judges random clusters
scale_tests = test-scale-choose test-scale-files test-scale-parse test-scale-property
check_PROGRAMS += $(scale_tests)
TESTS += $(scale_tests)

test_scale_choose_SOURCES = %D%/test-scale-choose.c %D%/scale-world.h
test_scale_choose_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_scale_choose_LDADD = libnm-scale.la $(unit_libs)

test_scale_files_SOURCES = %D%/test-scale-files.c %D%/scale-world.h
test_scale_files_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_scale_files_LDADD = libnm-scale.la $(unit_libs)

test_scale_parse_SOURCES = %D%/test-scale-parse.c %D%/scale-world.h
test_scale_parse_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_scale_parse_LDADD = libnm-scale.la $(unit_libs)

test_scale_property_SOURCES = %D%/test-scale-property.c %D%/scale-world.h
test_scale_property_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
test_scale_property_LDADD = libnm-scale.la $(unit_libs)
