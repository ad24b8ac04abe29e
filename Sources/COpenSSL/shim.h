#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/provider.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/store.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

// SHA-256 by itself. EVP builds tables of everything it knows before it does the first digest, which takes fifty times as
// long as the sum of a disk's header; for one sum in the life of a process that is not worth while.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static inline int copenssl_sha256_init(SHA256_CTX *context) { return SHA256_Init(context); }
static inline int copenssl_sha256_update(SHA256_CTX *context, const void *bytes, size_t count) {
  return SHA256_Update(context, bytes, count);
}
static inline int copenssl_sha256_final(unsigned char *sum, SHA256_CTX *context) { return SHA256_Final(sum, context); }

// Multiples of a group's generator, which make EC_POINT_mul(3) by it six times as quick. There is no other name for it.
static inline int copenssl_precompute(EC_GROUP *group) { return EC_GROUP_precompute_mult(group, NULL); }

// A point as it is kept, which is (X, Y, Z) for x = X / Z^2: to divide takes as long as all else that is done with it.
static inline int copenssl_jacobian(const EC_GROUP *group, const EC_POINT *point, BIGNUM *x, BIGNUM *z, BN_CTX *context) {
  return EC_POINT_get_Jprojective_coordinates_GFp(group, point, x, NULL, z, context);
}
#pragma GCC diagnostic pop
