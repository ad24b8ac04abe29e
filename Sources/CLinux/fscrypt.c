#include "fscrypt.h"
#include <errno.h>
#include <linux/fscrypt.h>
#include <string.h>
#include <sys/ioctl.h>

int clinux_encryption_policy(int fd, uint8_t name[16]) {
  struct fscrypt_get_policy_ex_arg policy = {.policy_size = sizeof policy.policy};
  int rc = ioctl(fd, FS_IOC_GET_ENCRYPTION_POLICY_EX, &policy);
  if (rc < 0 && errno == ENOTTY) rc = ioctl(fd, FS_IOC_GET_ENCRYPTION_POLICY, &policy.policy.v1);
  if (rc < 0) return errno == ENODATA || errno == ENOTTY || errno == EOPNOTSUPP ? 0 : -1;
  if (policy.policy.version == FSCRYPT_POLICY_V1) {
    memcpy(name, policy.policy.v1.master_key_descriptor, FSCRYPT_KEY_DESCRIPTOR_SIZE);
    return FSCRYPT_KEY_DESCRIPTOR_SIZE;
  }
  if (policy.policy.version != FSCRYPT_POLICY_V2) return -1;
  memcpy(name, policy.policy.v2.master_key_identifier, FSCRYPT_KEY_IDENTIFIER_SIZE);
  return FSCRYPT_KEY_IDENTIFIER_SIZE;
}
