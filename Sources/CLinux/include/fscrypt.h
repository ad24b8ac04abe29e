#ifndef CLINUX_FSCRYPT_H
#define CLINUX_FSCRYPT_H
#include <stdint.h>

/// The name of the key that a directory's encryption policy asks for (ioctl FS_IOC_GET_ENCRYPTION_POLICY_EX): its size,
/// 8 or 16 bytes; 0 where there is no policy, or none can be; -1 where that is not known.
int clinux_encryption_policy(int fd, uint8_t name[16]);
#endif
