#ifndef CUNPACK_STREAM_H
#define CUNPACK_STREAM_H
#include "CUnpack.h"
#include <stdbool.h>

/// What one library offers; each is in a file of its own.
struct format {
  void *(*open)(void);
  enum cunpack_status (*step)(
      void *state, const uint8_t *in, size_t in_size, size_t *taken, uint8_t *out, size_t out_size, size_t *made);
  void (*close)(void *state);
};

extern const struct format gzip_format, zstd_format, xz_format, lz4_format, bzip2_format;

/// A function of a library that was opened; false where there is none.
bool unpack_find(void *library, const char *name, void *function);
#endif
