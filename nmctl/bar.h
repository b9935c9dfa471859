/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Horizontal bars of use against capacity, with marks on them. */

#include <stdio.h>

#include "nmctl/term.h"

enum nm_bar_part { NM_BAR_GUARANTEED, NM_BAR_OPPORTUNISTIC, NM_BAR_RESERVED, NM_BAR_OTHERS, NM_BAR_PARTS };

struct nm_bar {
    double parts[NM_BAR_PARTS]; /* shares of capacity, drawn one after the other */
    double alpha, beta;         /* shares of capacity; 0: no mark */
    double top;                 /* share of capacity at the right end, 1 or more */
    unsigned width;             /* columns */
};

void nm_bar_print(const struct nm_bar *b, FILE *f, const struct nm_term *term);
/* The line above bars that says where the marks are: "a" and "b" (alpha and beta), and capacity if
 * it isn't the end. */
void nm_bar_print_scale(const struct nm_bar *b, FILE *f, const struct nm_term *term);
/* What the parts look like. */
void nm_bar_print_legend(FILE *f, const struct nm_term *term);
