/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The part of `nmctl status` about auxiliary services. */

#include <jansson.h>
#include <stdio.h>

#include "nmctl/term.h"

/* Prints a line for each auxiliary service. services: the member `services` of the upstream's status. */
void nm_aux_services_print(FILE *f, const struct nm_term *term, const json_t *services);
