#define _GNU_SOURCE
#include "CTPM.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#if __has_include(<tss2/tss2_esys.h>) && __has_include(<tss2/tss2_tctildr.h>)
#include <tss2/tss2_esys.h>
#include <tss2/tss2_tctildr.h>

struct ctpm {
  void *esys_library;
  void *tctildr_library;
  TSS2_TCTI_CONTEXT *tcti;
  ESYS_CONTEXT *esys;
  __typeof__(Tss2_TctiLdr_Initialize) *tcti_initialize;
  __typeof__(Tss2_TctiLdr_Finalize) *tcti_finalize;
  __typeof__(Esys_Initialize) *initialize;
  __typeof__(Esys_Finalize) *finalize;
  __typeof__(Esys_GetCapability) *get_capability;
  __typeof__(Esys_CreatePrimary) *create_primary;
  __typeof__(Esys_Create) *create;
  __typeof__(Esys_Load) *load;
  __typeof__(Esys_Unseal) *unseal;
  __typeof__(Esys_TR_SetAuth) *set_auth;
  __typeof__(Esys_FlushContext) *flush;
  __typeof__(Esys_Free) *release;
};

static bool find(void *library, const char *name, void *function) {
  void *symbol = library ? dlsym(library, name) : NULL;
  memcpy(function, &symbol, sizeof symbol);
  return symbol != NULL;
}

static bool load_library(ctpm *t) {
  t->esys_library = dlopen("libtss2-esys.so.0", RTLD_NOW | RTLD_LOCAL);
  t->tctildr_library = dlopen("libtss2-tctildr.so.0", RTLD_NOW | RTLD_LOCAL);
  return find(t->tctildr_library, "Tss2_TctiLdr_Initialize", &t->tcti_initialize) &&
         find(t->tctildr_library, "Tss2_TctiLdr_Finalize", &t->tcti_finalize) &&
         find(t->esys_library, "Esys_Initialize", &t->initialize) &&
         find(t->esys_library, "Esys_Finalize", &t->finalize) &&
         find(t->esys_library, "Esys_GetCapability", &t->get_capability) &&
         find(t->esys_library, "Esys_CreatePrimary", &t->create_primary) &&
         find(t->esys_library, "Esys_Create", &t->create) && find(t->esys_library, "Esys_Load", &t->load) &&
         find(t->esys_library, "Esys_Unseal", &t->unseal) &&
         find(t->esys_library, "Esys_TR_SetAuth", &t->set_auth) &&
         find(t->esys_library, "Esys_FlushContext", &t->flush) && find(t->esys_library, "Esys_Free", &t->release);
}

uint32_t ctpm_open(const char *tcti, ctpm **opened) {
  /* The libraries write every refused command to standard error; a wrong PIN is meant to be refused. */
  setenv("TSS2_LOG", "all+NONE", 0);
  ctpm *t = calloc(1, sizeof *t);
  if (!t) return CTPM_NO_LIBRARY;
  uint32_t rc = 0;
  if (!load_library(t)) rc = CTPM_NO_LIBRARY;
  else if (t->tcti_initialize(tcti, &t->tcti) != TSS2_RC_SUCCESS) rc = CTPM_NO_DEVICE;
  else rc = t->initialize(&t->esys, t->tcti, NULL);
  if (rc) {
    ctpm_close(t);
    return rc;
  }
  *opened = t;
  return 0;
}

void ctpm_close(ctpm *t) {
  if (t->esys) t->finalize(&t->esys);
  if (t->tcti) t->tcti_finalize(&t->tcti);
  if (t->esys_library) dlclose(t->esys_library);
  if (t->tctildr_library) dlclose(t->tctildr_library);
  free(t);
}

uint32_t ctpm_owner_auth(ctpm *t, bool *is_set) {
  TPMI_YES_NO more = TPM2_NO;
  TPMS_CAPABILITY_DATA *data = NULL;
  TSS2_RC rc = t->get_capability(t->esys, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, TPM2_CAP_TPM_PROPERTIES,
                                 TPM2_PT_PERMANENT, 1, &more, &data);
  if (rc) return rc;
  TPML_TAGGED_TPM_PROPERTY *list = &data->data.tpmProperties;
  *is_set = list->count > 0 && list->tpmProperty[0].property == TPM2_PT_PERMANENT &&
            (list->tpmProperty[0].value & TPMA_PERMANENT_OWNERAUTHSET);
  t->release(data);
  return 0;
}

static uint32_t make_primary(ctpm *t, bool owner, ESYS_TR *primary) {
  TPM2B_SENSITIVE_CREATE sensitive = {0};
  TPM2B_DATA outside = {0};
  TPML_PCR_SELECTION pcrs = {0};
  TPM2B_PUBLIC public = {
      .publicArea = {
          .type = TPM2_ALG_ECC,
          .nameAlg = TPM2_ALG_SHA256,
          .objectAttributes = TPMA_OBJECT_RESTRICTED | TPMA_OBJECT_DECRYPT | TPMA_OBJECT_FIXEDTPM |
                              TPMA_OBJECT_FIXEDPARENT | TPMA_OBJECT_SENSITIVEDATAORIGIN | TPMA_OBJECT_USERWITHAUTH |
                              TPMA_OBJECT_NODA,
          .parameters.eccDetail = {.symmetric = {.algorithm = TPM2_ALG_AES, .keyBits.aes = 128, .mode.aes = TPM2_ALG_CFB},
                                   .scheme.scheme = TPM2_ALG_NULL,
                                   .curveID = TPM2_ECC_NIST_P256,
                                   .kdf.scheme = TPM2_ALG_NULL}}};
  return t->create_primary(t->esys, owner ? ESYS_TR_RH_OWNER : ESYS_TR_RH_NULL, ESYS_TR_PASSWORD, ESYS_TR_NONE,
                           ESYS_TR_NONE, &sensitive, &public, &outside, &pcrs, primary, NULL, NULL, NULL, NULL);
}

static uint32_t seal(ctpm *t, ESYS_TR primary, const TPM2B_SENSITIVE_CREATE *sensitive, ESYS_TR *object) {
  TPM2B_DATA outside = {0};
  TPML_PCR_SELECTION pcrs = {0};
  TPM2B_PUBLIC public = {.publicArea = {.type = TPM2_ALG_KEYEDHASH,
                                        .nameAlg = TPM2_ALG_SHA256,
                                        .objectAttributes = TPMA_OBJECT_FIXEDTPM | TPMA_OBJECT_FIXEDPARENT |
                                                            TPMA_OBJECT_USERWITHAUTH | TPMA_OBJECT_NODA,
                                        .parameters.keyedHashDetail.scheme.scheme = TPM2_ALG_NULL}};
  TPM2B_PRIVATE *made_private = NULL;
  TPM2B_PUBLIC *made_public = NULL;
  TSS2_RC rc = t->create(t->esys, primary, ESYS_TR_PASSWORD, ESYS_TR_NONE, ESYS_TR_NONE, sensitive, &public, &outside,
                         &pcrs, &made_private, &made_public, NULL, NULL, NULL);
  if (rc) return rc;
  rc = t->load(t->esys, primary, ESYS_TR_PASSWORD, ESYS_TR_NONE, ESYS_TR_NONE, made_private, made_public, object);
  t->release(made_private);
  t->release(made_public);
  return rc;
}

static uint32_t unseal(ctpm *t, ESYS_TR object, const TPM2B_AUTH *auth, const TPM2B_SENSITIVE_DATA *want, bool *matches) {
  TPM2B_SENSITIVE_DATA *data = NULL;
  TSS2_RC rc = t->set_auth(t->esys, object, auth);
  if (rc == TSS2_RC_SUCCESS)
    rc = t->unseal(t->esys, object, ESYS_TR_PASSWORD, ESYS_TR_NONE, ESYS_TR_NONE, &data);
  if (rc) return rc;
  *matches = data->size == want->size && memcmp(data->buffer, want->buffer, want->size) == 0;
  explicit_bzero(data->buffer, data->size);
  t->release(data);
  return 0;
}

static bool is_auth_refusal(uint32_t rc) {
  /* Parameter, handle and session numbers stand in bits 6 and 8 to 11 of a format-one code. */
  uint32_t code = rc & 0xBF;
  return (rc >> 16) == 0 && (code == TPM2_RC_BAD_AUTH || code == TPM2_RC_AUTH_FAIL);
}

uint32_t ctpm_seal_round_trip(ctpm *t, bool owner, const uint8_t *secret, size_t secret_size, const uint8_t *pin,
                              size_t pin_size, struct ctpm_seal *outcome) {
  TPM2B_SENSITIVE_CREATE sensitive = {0};
  TPM2B_SENSITIVE_DATA *data = &sensitive.sensitive.data;
  TPM2B_AUTH *auth = &sensitive.sensitive.userAuth;
  if (secret_size > sizeof data->buffer || pin_size > sizeof auth->buffer) return TSS2_ESYS_RC_BAD_SIZE;
  memcpy(data->buffer, secret, secret_size);
  data->size = (UINT16)secret_size;
  if (pin) memcpy(auth->buffer, pin, pin_size), auth->size = (UINT16)pin_size;

  ESYS_TR primary = ESYS_TR_NONE, object = ESYS_TR_NONE;
  uint32_t rc = make_primary(t, owner, &primary);
  if (!rc) rc = seal(t, primary, &sensitive, &object);
  if (!rc) rc = unseal(t, object, auth, data, &outcome->matches);
  if (!rc && pin) {
    TPM2B_AUTH wrong = *auth;
    bool leaked = false;
    wrong.buffer[0] ^= 1;
    uint32_t refusal = unseal(t, object, &wrong, data, &leaked);
    outcome->refuses_wrong_pin = is_auth_refusal(refusal);
  }
  if (object != ESYS_TR_NONE) t->flush(t->esys, object);
  if (primary != ESYS_TR_NONE) t->flush(t->esys, primary);
  explicit_bzero(&sensitive, sizeof sensitive);
  return rc;
}

#else

uint32_t ctpm_open(const char *tcti, ctpm **opened) {
  (void)tcti, (void)opened;
  return CTPM_NO_LIBRARY;
}
uint32_t ctpm_owner_auth(ctpm *tpm, bool *is_set) {
  (void)tpm, (void)is_set;
  return CTPM_NO_LIBRARY;
}
uint32_t ctpm_seal_round_trip(ctpm *tpm, bool owner, const uint8_t *secret, size_t secret_size, const uint8_t *pin,
                              size_t pin_size, struct ctpm_seal *outcome) {
  (void)tpm, (void)owner, (void)secret, (void)secret_size, (void)pin, (void)pin_size, (void)outcome;
  return CTPM_NO_LIBRARY;
}
void ctpm_close(ctpm *tpm) { (void)tpm; }
#endif
