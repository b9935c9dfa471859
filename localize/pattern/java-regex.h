/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Translates regular expressions of java.util.regex into expressions that PCRE2 reads the same way. Constructs that the
 * two read differently are spelled out (line ends, (?i), unions and intersections of classes). Constructs are refused
 * if PCRE2 has no equivalent, or if versions of Java disagree. Each construct is handled as follows:
 *
 *   alternatives, groups, names, lookaround, (?>..), \Q..\E, quantifiers    the same; Java's syntax errors are errors
 *   . $ \Z ^                         with all of Java's line ends; $, \Z and ^ only at the ends of a name
 *   [..], [..[..]], [..&&[..]], [^..]  as Java 9 and later; [^..] with && or a class in it: refused, Java 8 disagrees
 *   \d \w \s \h \v, \p of ASCII, \p{Lu} and the other general categories  the same
 *   \b \B                            for names in ASCII only, because Java 19 changed the meaning for others
 *   (?i) (?s) (?is-is:..)            (?i) for the letters of ASCII, as in Java; refused with \p{Lu}, \1 and the like
 *   \1 to \9                         for groups that are closed
 *   (?d) (?m) (?u) (?x) (?U), \R \X \N{..} \k<..>, \p of scripts, blocks and java..., \b{g}    refused
 */

#include <stdbool.h>
#include <stdio.h>

/* Translates text (UTF-8) for PCRE2 with PCRE2_UTF and without PCRE2_UCP. The caller frees *ret. *ret_is_ascii: the
 * translation is valid only for names in ASCII. -EINVAL with the end of a sentence: Java would reject the expression,
 * or PCRE2 has no equivalent. */
int nm_java_regex_translate(const char *text, char **ret, bool *ret_is_ascii, char **ret_message);

/* ---- within the java-*.c files ---- */

struct nm_java_regex {
    const char *text, *at;
    FILE *out;
    char **message;
    bool is_quoting;             /* between \Q and \E */
    bool ignores_case, dots_all; /* (?i), (?s) */
    bool is_ascii;
    unsigned depth, class_depth, n_groups;
    bool is_closed[10]; /* whether the groups 1 to 9 are closed */
};

/* An escape stands for one character, or for a set of characters. */
struct nm_java_escape {
    const char *set; /* PCRE2 syntax for the set, valid within a class; NULL: the escape is c */
    unsigned c;
    char buf[128];
};

/* Sets the message and returns -EINVAL. */
int nm_java_refuse(const struct nm_java_regex *r, const char *why);
/* Reads an escape after its backslash, of the kinds that are also valid within a class. */
int nm_java_escape(struct nm_java_regex *r, struct nm_java_escape *ret);

/* Skips \Q and \E. */
void nm_java_skip_marks(struct nm_java_regex *r);
/* Returns whether this text comes next and is not quoted. */
bool nm_java_is_at(const struct nm_java_regex *r, const char *text);
/* Takes the next character literally. Must not be called at the end. */
unsigned nm_java_take(struct nm_java_regex *r);
/* Writes the character in PCRE2 syntax that is valid within and outside classes. */
void nm_java_put(FILE *out, unsigned c);
/* Returns an ASCII letter in the other case, any other character unchanged. */
unsigned nm_java_other_case(unsigned c);

/* Translates a class whose '[' was taken, and writes it to r->out. */
int nm_java_class(struct nm_java_regex *r);
