/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Words from people and programs into numbers. All return 0, -EINVAL (not such a word) or -ERANGE (too large or
 * too small to hold), and leave the output untouched on failure. Trailing junk is never accepted.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int nm_parse_u64(const char *s, uint64_t *ret);
int nm_parse_bool(const char *s, bool *ret); /* yes/no, true/false, on/off, 1/0 */

/* "512M", "2GiB", "1.5G", "1048576": powers of 1024 whatever the spelling (K, KB, KiB). Zero is -ERANGE. */
int nm_parse_size(const char *s, uint64_t *ret_bytes);

/* "250ms", "3s", "2min", "1h", "1d", "500us"; a bare number is seconds. Decimals are allowed. */
int nm_parse_duration(const char *s, uint64_t *ret_usec);

/* A share as "80%" or "0.8"; 0 .. 1 inclusive. */
int nm_parse_fraction(const char *s, double *ret);

/* CPU as vcores with at most three decimals: "2", "0.5". Zero is -ERANGE. Result in thousandths of a vcore. */
int nm_parse_vcores(const char *s, uint32_t *ret_vcores_milli);

/* A name that goes into file and unit names and onto terminals: 1 to 63 of [A-Za-z0-9._-], not beginning with
 * '.' or '-'. */
bool nm_name_is_valid(const char *s);

/* A login name as directories of accounts have them, and as Hadoop takes them: "alice@corp.example", "_svc", "a$".
 * 1 to 63 of [A-Za-z0-9._@-], not beginning with '@' or '-', the last perhaps a '$'. It is one part of a path. */
bool nm_user_name_is_valid(const char *s);

/* The other way, for people: "1.5 GiB", "3s", "250ms". The buffer is returned. */
const char *nm_format_size(uint64_t bytes, char *buf, size_t size);
const char *nm_format_duration(uint64_t usec, char *buf, size_t size);
/* The end of a noun behind a figure: "" behind exactly 1, else "s". */
const char *nm_plural(double n);
/* A share, "95 %" or "81.2 %", with up to three decimals if it would otherwise read as another one, `beside`, which it
 * is not: "95.04 %", where the limit is 95 %. */
const char *nm_format_percent(double fraction, double beside, char *buf, size_t size);
