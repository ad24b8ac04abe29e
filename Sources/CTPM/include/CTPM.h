/// A TPM 2.0 through tpm2-tss ESAPI, which is loaded at run time, so that a machine without it runs the same binary.
#ifndef CTPM_H
#define CTPM_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ctpm ctpm;

enum {
  /// tpm2-tss is not installed, or was not there when this was built.
  CTPM_NO_LIBRARY = 0xF0000001u,
  /// No TPM answers at the address.
  CTPM_NO_DEVICE = 0xF0000002u,
};

/// Connects to the TPM at `tcti` ("device:/dev/tpmrm0", "swtpm:port=2321"). 0, one of the above, or a TSS2_RC.
uint32_t ctpm_open(const char *tcti, ctpm **opened);
/// Whether the owner hierarchy has a password (TPMA_PERMANENT ownerAuthSet).
uint32_t ctpm_owner_auth(ctpm *tpm, bool *is_set);

struct ctpm_seal {
  /// The secret came back as it had been sealed.
  bool matches;
  /// With a PIN: a wrong one was refused.
  bool refuses_wrong_pin;
};

/// Seals `secret` under a primary key of the owner (or, with `owner` false, of the null hierarchy), loads and unseals it
/// again. `pin` may be NULL. The object is exempt from dictionary attack protection, so that the wrong PIN costs the
/// TPM's owner nothing. Everything transient is flushed.
uint32_t ctpm_seal_round_trip(
    ctpm *tpm, bool owner, const uint8_t *secret, size_t secret_size, const uint8_t *pin, size_t pin_size,
    struct ctpm_seal *outcome);
void ctpm_close(ctpm *tpm);
#endif
