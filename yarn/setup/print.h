/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Prints the output of a setup. is_done: all steps of the plan were carried out. If it is false, the output describes
 * what the setup would do. */

#include <stdio.h>

#include "yarn/setup/facts.h"
#include "yarn/setup/plan.h"
#include "yarn/setup/undo.h"

void nm_setup_print(FILE *out, const struct nm_setup_request *w, const struct nm_setup_facts *f,
                    const struct nm_setup_service *s, const struct nm_setup_plan *p, bool is_done);
void nm_setup_print_undo(FILE *out, const struct nm_setup_request *w, const struct nm_setup_service *s,
                         const struct nm_setup_manifest *m, const struct nm_setup_undo *u, bool is_done);
