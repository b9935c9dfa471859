# SPDX-License-Identifier: Apache-2.0
# Built by Maven, not by make: see README there. Whole, so that a new class needs no line here.
EXTRA_DIST += %D%/build %D%/pom.xml %D%/src
