/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Regular expressions as java.util.regex reads them, in words that PCRE2 reads the same way. What the two disagree on
 * is written out (line ends, (?i), unions and intersections of classes) or, where it has no such form or Java's own
 * versions disagree, refused. Decided for each construct:
 *
 *   alternatives, groups, names, lookaround, (?>..), \Q..\E, quantifiers    the same, with Java's mistakes as mistakes
 *   . $ \Z ^                         with all of Java's line ends; only at the ends of a name
 *   [..], [..[..]], [..&&[..]], [^..]  as Java 9 and later; [^..] with && or a class in it: refused, Java 8 disagrees
 *   \d \w \s \h \v, \p of ASCII, \p{Lu} and the other general categories  the same
 *   \b \B                            for names in ASCII; others can't be told, since Java 19 reads them anew
 *   (?i) (?s) (?is-is:..)            (?i) for the letters of ASCII, as in Java; not with \p{Lu}, \1 and their like
 *   \1 to \9                         of groups that are closed
 *   (?d) (?m) (?u) (?x) (?U), \R \X \N{..} \k<..>, \p of scripts, blocks and java..., \b{g}    refused
 */

#include <stdbool.h>
#include <stdio.h>

/* For PCRE2 with PCRE2_UTF and without PCRE2_UCP; *ret is the caller's to free. is_ascii: it holds for names that are
 * in ASCII. text is UTF-8. -EINVAL and a sentence's end: Java wouldn't take it, or it has no such form. */
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
    bool is_closed[10]; /* the first nine groups, from 1 */
};

/* A character, or what stands for several. */
struct nm_java_escape {
    const char *set; /* PCRE2's own words for it, of which each may stand in a class; NULL: it is c */
    unsigned c;
    char buf[128];
};

/* Both return -EINVAL and leave the sentence. */
int nm_java_refuse(const struct nm_java_regex *r, const char *why);
/* After a backslash: all that may stand in a class as well. */
int nm_java_escape(struct nm_java_regex *r, struct nm_java_escape *ret);

/* Passes over \Q and \E. */
void nm_java_skip_marks(struct nm_java_regex *r);
/* Is there this text, and isn't it quoted? */
bool nm_java_is_at(const struct nm_java_regex *r, const char *text);
/* The next character as it stands there; not at the end. */
unsigned nm_java_take(struct nm_java_regex *r);
/* As PCRE2 has it, within classes and without. */
void nm_java_put(FILE *out, unsigned c);
/* In other case, if it is a letter of ASCII; else itself. */
unsigned nm_java_other_case(unsigned c);

/* The class whose '[' was taken, to r->out. */
int nm_java_class(struct nm_java_regex *r);
