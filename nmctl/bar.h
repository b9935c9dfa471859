/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Horizontal bars that show use relative to capacity, with marks for thresholds. */

#include <stdio.h>

#include "nmctl/term.h"

enum nm_bar_part { NM_BAR_GUARANTEED, NM_BAR_OPPORTUNISTIC, NM_BAR_RESERVED, NM_BAR_OTHERS, NM_BAR_PARTS };

struct nm_bar {
    double parts[NM_BAR_PARTS]; /* shares of capacity, drawn one after the other */
    double alpha, beta;         /* shares of capacity; 0: no mark */
    double top;                 /* share of capacity that the right end represents, 1 or more */
    unsigned width;             /* number of columns */
};

void nm_bar_print(const struct nm_bar *b, FILE *f, const struct nm_term *term);
/* Prints the line above bars that labels the marks: "a" and "b" (alpha and beta), and capacity if it isn't the right
 * end. */
void nm_bar_print_scale(const struct nm_bar *b, FILE *f, const struct nm_term *term);
/* Prints a legend of the bar's parts. */
void nm_bar_print_legend(FILE *f, const struct nm_term *term);
