/* SPDX-License-Identifier: Apache-2.0 */

/* See sasl.h. */

#include "spark/sasl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include <nettle/base16.h>
#include <nettle/base64.h>
#include <nettle/md5.h>
#include <nettle/memops.h>

#include "util/macros.h"

#define USER "c3BhcmtTYXNsVXNlcg==" /* "sparkSaslUser" */
#define REALM "default"
#define URI "null/default"
#define NONCE_BYTES 30u
#define LINE_CHARACTERS 76u
#define HEX_SIZE (2 * NM_SPARK_MD5_SIZE)

int nm_spark_sasl_begin(struct nm_spark_sasl *s, bool must_encrypt, char ret[static NM_SPARK_CHALLENGE_SIZE])
{
    uint8_t random[NONCE_BYTES];

    if (getrandom(random, sizeof random, 0) != sizeof random)
        return -EIO;
    base64_encode_raw(s->nonce, sizeof random, random);
    s->nonce[NM_SPARK_NONCE_SIZE - 1] = '\0';
    s->must_encrypt = must_encrypt;
    (void)snprintf(ret, NM_SPARK_CHALLENGE_SIZE,
                   "realm=\"" REALM "\",nonce=\"%s\",qop=\"%s\",charset=utf-8,cipher=\"3des,rc4\",algorithm=md5-sess",
                   s->nonce, must_encrypt ? "auth-conf" : "auth-conf,auth");
    return 0;
}

/* ---- parsing ------------------------------------------------------------------------------ */

/* The directives that matter. A directive that is missing is empty. */
enum { USERNAME, REALM_OF, NONCE, CNONCE, NC, QOP, DIGEST_URI, RESPONSE, CIPHER, N_DIRECTIVES };

static const char *const names[N_DIRECTIVES] = {
    [USERNAME] = "username", [REALM_OF] = "realm",        [NONCE] = "nonce",       [CNONCE] = "cnonce", [NC] = "nc",
    [QOP] = "qop",           [DIGEST_URI] = "digest-uri", [RESPONSE] = "response", [CIPHER] = "cipher",
};

/* Removes the bytes up to one of the characters, or all. */
static struct nm_bytes take_until(struct nm_bytes *from, const char *characters)
{
    size_t n = 0;

    while (n < from->size && (!from->data[n] || !strchr(characters, from->data[n])))
        n++;
    return nm_bytes_take(from, n);
}

/* Removes a value from the text, with or without quotes. Refuses a value with a backslash, because Spark sends none. */
static int take_value(struct nm_bytes *from, struct nm_bytes *ret)
{
    const bool is_quoted = from->size > 0 && *from->data == '"';

    if (is_quoted)
        (void)nm_bytes_take(from, 1);
    *ret = take_until(from, is_quoted ? "\"\\" : ",\"\\");
    if (is_quoted && (from->size == 0 || *nm_bytes_take(from, 1).data != '"'))
        return -EACCES;
    return 0;
}

static int take_directive(struct nm_bytes *from, struct nm_bytes *values)
{
    const struct nm_bytes name = take_until(from, "=,");
    struct nm_bytes value;

    if (from->size == 0 || *nm_bytes_take(from, 1).data != '=' || take_value(from, &value) < 0 ||
        (from->size > 0 && *nm_bytes_take(from, 1).data != ','))
        return -EACCES;
    for (unsigned i = 0; i < N_DIRECTIVES; i++)
        if (nm_bytes_equal(name, nm_bytes_of(names[i]))) {
            if (values[i].data)
                return -EACCES; /* twice */
            values[i] = value;
        }
    return 0;
}

static bool is(struct nm_bytes value, const char *expected)
{
    return value.data && nm_bytes_equal(value, nm_bytes_of(expected));
}

/* Returns the cipher that the client has chosen. */
static int find_cipher(const struct nm_spark_sasl *s, const struct nm_bytes *values, enum nm_spark_sasl_cipher *ret)
{
    *ret = NM_SPARK_SASL_NONE;
    if (!values[QOP].data || is(values[QOP], "auth"))
        return s->must_encrypt ? -EACCES : 0;
    if (!is(values[QOP], "auth-conf"))
        return -EACCES;
    *ret = is(values[CIPHER], "3des") ? NM_SPARK_SASL_3DES : NM_SPARK_SASL_RC4;
    return is(values[CIPHER], "3des") || is(values[CIPHER], "rc4") ? 0 : -EACCES;
}

/* ---- digests ------------------------------------------------------------------------------ */

static void add(struct md5_ctx *md5, struct nm_bytes bytes)
{
    md5_update(md5, bytes.size, bytes.data);
}

static void add_text(struct md5_ctx *md5, const char *text)
{
    add(md5, nm_bytes_of(text));
}

/* Adds the base64 of a secret. */
static void add_password(struct md5_ctx *md5, struct nm_bytes secret)
{
    struct base64_encode_ctx base64;
    unsigned n = 0;
    char out[BASE64_ENCODE_LENGTH(3) + BASE64_ENCODE_FINAL_LENGTH];

    base64_encode_init(&base64);
    while (secret.size > 0) {
        const struct nm_bytes some = nm_bytes_take(&secret, NM_MIN(secret.size, (size_t)3));
        size_t size = base64_encode_update(&base64, out, some.size, some.data);

        if (secret.size == 0)
            size += base64_encode_final(&base64, out + size);
        if (n > 0 && n % LINE_CHARACTERS == 0)
            add_text(md5, "\n");
        add(md5, (struct nm_bytes){(const uint8_t *)out, size});
        n += (unsigned)size;
    }
    explicit_bzero(out, sizeof out);
    explicit_bzero(&base64, sizeof base64);
}

/* Computes H(A1): A1 = MD5(user:realm:password):nonce:cnonce */
static void make_session_key(const struct nm_spark_sasl *s, const struct nm_bytes *values, struct nm_bytes secret,
                             uint8_t ret[static NM_SPARK_MD5_SIZE])
{
    struct md5_ctx md5;

    md5_init(&md5);
    add_text(&md5, USER ":" REALM ":");
    add_password(&md5, secret);
    md5_digest(&md5, NM_SPARK_MD5_SIZE, ret);
    md5_update(&md5, NM_SPARK_MD5_SIZE, ret);
    add_text(&md5, ":");
    add_text(&md5, s->nonce);
    add_text(&md5, ":");
    add(&md5, values[CNONCE]);
    md5_digest(&md5, NM_SPARK_MD5_SIZE, ret);
}

static void to_hex(const uint8_t digest[static NM_SPARK_MD5_SIZE], char ret[static HEX_SIZE])
{
    base16_encode_update(ret, NM_SPARK_MD5_SIZE, digest);
}

/* Computes HEX(H(HEX(H(A1)):nonce:nc:cnonce:qop:HEX(H(A2)))). A2 = method:URI, with zeros if the cipher encrypts. */
static void make_response(const struct nm_spark_sasl *s, const struct nm_bytes *values,
                          const struct nm_spark_sasl_result *result, const char *method, char ret[static HEX_SIZE])
{
    const bool encrypts = result->cipher != NM_SPARK_SASL_NONE;
    struct md5_ctx md5;
    uint8_t digest[NM_SPARK_MD5_SIZE];
    char key[HEX_SIZE], a2[HEX_SIZE];

    md5_init(&md5);
    add_text(&md5, method);
    add_text(&md5, ":" URI);
    if (encrypts)
        add_text(&md5, ":00000000000000000000000000000000");
    md5_digest(&md5, sizeof digest, digest);
    to_hex(digest, a2);
    to_hex(result->session_key, key);
    add(&md5, (struct nm_bytes){(uint8_t *)key, sizeof key});
    add_text(&md5, ":");
    add_text(&md5, s->nonce);
    add_text(&md5, ":00000001:");
    add(&md5, values[CNONCE]);
    add_text(&md5, encrypts ? ":auth-conf:" : ":auth:");
    add(&md5, (struct nm_bytes){(uint8_t *)a2, sizeof a2});
    md5_digest(&md5, sizeof digest, digest);
    to_hex(digest, ret);
}

/* ---- the response ------------------------------------------------------------------------- */

static int parse(const struct nm_spark_sasl *s, struct nm_bytes response, struct nm_bytes *values,
                 enum nm_spark_sasl_cipher *ret_cipher)
{
    while (response.size > 0)
        if (take_directive(&response, values) < 0)
            return -EACCES;
    if (!is(values[USERNAME], USER) || !is(values[REALM_OF], REALM) || !is(values[NONCE], s->nonce) ||
        !is(values[NC], "00000001") || !is(values[DIGEST_URI], URI) || !values[CNONCE].data ||
        values[RESPONSE].size != HEX_SIZE)
        return -EACCES;
    return find_cipher(s, values, ret_cipher);
}

int nm_spark_sasl_verify(const struct nm_spark_sasl *s, struct nm_bytes response, struct nm_bytes secret,
                         struct nm_spark_sasl_result *ret, char ret_rspauth[static NM_SPARK_RSPAUTH_SIZE])
{
    struct nm_bytes values[N_DIRECTIVES] = {};
    struct nm_spark_sasl_result result = {};
    char expected[HEX_SIZE], rspauth[HEX_SIZE];

    if (!*s->nonce || secret.size == 0 || parse(s, response, values, &result.cipher) < 0)
        return -EACCES;
    make_session_key(s, values, secret, result.session_key);
    make_response(s, values, &result, "AUTHENTICATE", expected);
    if (!memeql_sec(expected, values[RESPONSE].data, HEX_SIZE))
        return -EACCES;
    make_response(s, values, &result, "", rspauth);
    *ret = result;
    explicit_bzero(&result, sizeof result);
    (void)snprintf(ret_rspauth, NM_SPARK_RSPAUTH_SIZE, "rspauth=%.*s", (int)sizeof rspauth, rspauth);
    return 0;
}
