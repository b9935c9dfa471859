/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Conversion of text from people and programs to numbers. All functions return 0, -EINVAL (invalid text) or -ERANGE
 * (too large or too small), and leave the output unchanged on failure. Trailing characters are an error.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/macros.h"

/* Returns the value of a hexadecimal digit, or -1. */
static inline int nm_hex_digit(int c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int nm_parse_u64(const char *s, uint64_t *ret);
/* Parses decimal digits that need not end with NUL. */
int nm_parse_sized(const char *s, size_t size, uint64_t *ret);
/* Parses up to n numbers that are separated by blanks. Returns how many numbers there are before the first word that is
 * not a number, or n. Ignores further words, which a newer nmd may write. */
size_t nm_parse_numbers(const char *s, uint64_t *numbers, size_t n);
/* Parses the decimal digits at *s and moves *s past them, so that the caller can check the text after them. */
int nm_parse_digits(const char **s, uint64_t *ret);
/* Parses a file mode as chmod does, such as "755" or "0644". Another number of octal digits is -EINVAL. */
int nm_parse_mode(const char *s, size_t min_digits, size_t max_digits, uint64_t *ret);
int nm_parse_bool(const char *s, bool *ret); /* yes/no, true/false, on/off, 1/0 */

/* Parses a size such as "512M", "2GiB", "1.5G" or "1048576". All units (K, KB, KiB) are powers of 1024. Zero is
 * -ERANGE. */
int nm_parse_size(const char *s, uint64_t *ret_bytes);

/* Parses a duration such as "250ms", "3s", "2min", "1h", "1d" or "500us". A bare number is seconds. Decimals are
 * allowed. */
int nm_parse_duration(const char *s, uint64_t *ret_usec);

/* Parses a share such as "80%" or "0.8", from 0 to 1 inclusive. */
int nm_parse_fraction(const char *s, double *ret);

/* Parses CPU in vcores with at most three decimals, such as "2" or "0.5". Zero is -ERANGE. The result is in
 * thousandths of a vcore. */
int nm_parse_vcores(const char *s, uint32_t *ret_vcores_milli);

/* Returns the index of the name s in the table, or -EINVAL. */
int nm_find_name(const char *const *names, size_t n, const char *s);
/* Sets *ret, whose type is the enum that is the index of the table `names`, to the value with the name s. Returns 0 or
 * -EINVAL. */
#define NM_PARSE_NAME(names, s, ret) \
    ({ \
        int _found = nm_find_name(names, NM_ARRAY_SIZE(names), s); \
        if (_found >= 0) \
            *(ret) = (__typeof__(*(ret)))_found; \
        NM_MIN(_found, 0); \
    })

/* Removes blanks from both ends in place. The caller still owns and frees the original pointer. */
char *nm_strip(char *s);

/* Returns whether s may be used in file names, unit names and on terminals: 1 to 63 of [A-Za-z0-9._-], not beginning
 * with '.' or '-'. */
bool nm_name_is_valid(const char *s);

/* Returns whether s is a login name as account directories and Hadoop accept it, such as "alice@corp.example", "_svc"
 * or "a$": 1 to 63 of [A-Za-z0-9._@-], not beginning with '@' or '-', optionally ending with '$'. Such a name is a
 * single path component. */
bool nm_user_name_is_valid(const char *s);

/* Format a value for people: "1.5 GiB", "3s", "250ms". Return buf. */
const char *nm_format_size(uint64_t bytes, char *buf, size_t size);
/* Formats a size like nm_format_size(), but rounds down, for an amount that must not be exceeded. */
const char *nm_format_size_down(uint64_t bytes, char *buf, size_t size);
const char *nm_format_duration(uint64_t usec, char *buf, size_t size);
/* Returns the plural ending of a noun after a number: "" for exactly 1, else "s". */
const char *nm_plural(double n);
/* Formats a share as "95 %" or "81.2 %". Uses up to three decimals if the text would otherwise equal that of a
 * different share `beside`: 95.04 % next to a limit of 95 % becomes "95.04 %". Returns buf. */
const char *nm_format_percent(double fraction, double beside, char *buf, size_t size);
