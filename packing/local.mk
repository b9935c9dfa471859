# SPDX-License-Identifier: Apache-2.0
# Built by Maven, not by make: see README there. The sources whole, so that a new class needs no line here.
EXTRA_DIST += %D%/README %D%/build %D%/pom.xml %D%/src %D%/capacity-scheduler.xml.example %D%/nmd-packing.7
