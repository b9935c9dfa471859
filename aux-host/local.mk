# SPDX-License-Identifier: Apache-2.0
# Maven builds this folder, not make (see README). src is listed as a whole, so that a new class needs no line here.
EXTRA_DIST += %D%/README %D%/build %D%/pom.xml %D%/src
