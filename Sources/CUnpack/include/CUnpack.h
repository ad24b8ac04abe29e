/// Decompression as a stream through the libraries of the operating system, loaded at run time: which of them a machine
/// has depends on how its kernel image is packed.
#ifndef CUNPACK_H
#define CUNPACK_H
#include <stddef.h>
#include <stdint.h>

typedef struct cunpack cunpack;

/// XZ stands for its older form, lzma, too.
enum cunpack_format { CUNPACK_GZIP, CUNPACK_ZSTD, CUNPACK_XZ, CUNPACK_LZ4, CUNPACK_BZIP2 };

enum cunpack_status {
  /// Go on, with more input where all of it was taken.
  CUNPACK_MORE,
  /// The compressed part ends; what is left of the input lies behind it.
  CUNPACK_END,
  CUNPACK_DAMAGED,
};

/// NULL where the library is not installed.
cunpack *cunpack_open(enum cunpack_format format);

/// Reads from `in` and writes to `out`; says how much of both.
enum cunpack_status cunpack_step(
    cunpack *stream, const uint8_t *in, size_t in_size, size_t *taken, uint8_t *out, size_t out_size, size_t *made);

void cunpack_close(cunpack *stream);
#endif
