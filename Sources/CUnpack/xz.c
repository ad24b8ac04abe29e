/* liblzma: the stream structure and the decoder, as lzma/base.h has declared them since 5.0. */
#include "stream.h"
#include <dlfcn.h>
#include <stdlib.h>

struct lzma_layout {
  const uint8_t *next_in;
  size_t avail_in;
  uint64_t total_in;
  uint8_t *next_out;
  size_t avail_out;
  uint64_t total_out;
  const void *allocator;
  void *internal;
  void *reserved_pointers[4];
  uint64_t seek_position, reserved_number;
  size_t reserved_sizes[2];
  int reserved_enums[2];
};

enum { LZMA_FINE = 0, LZMA_DONE = 1, LZMA_FULL = 10, LZMA_GO = 0 };

/// Memory that a dictionary may take; the kernel's own images stay far below.
static const uint64_t most_memory = 192u << 20;

struct xz {
  void *library;
  struct lzma_layout stream;
  int (*code)(struct lzma_layout *, int);
  void (*end)(struct lzma_layout *);
};

static void close_xz(void *state) {
  struct xz *xz = state;
  if (xz->stream.internal) xz->end(&xz->stream);
  if (xz->library) dlclose(xz->library);
  free(xz);
}

static void *open_xz(void) {
  struct xz *xz = calloc(1, sizeof *xz);
  if (!xz) return NULL;
  int (*init)(struct lzma_layout *, uint64_t, uint32_t) = NULL;
  xz->library = dlopen("liblzma.so.5", RTLD_NOW | RTLD_LOCAL);
  if (unpack_find(xz->library, "lzma_auto_decoder", &init) && unpack_find(xz->library, "lzma_code", &xz->code) &&
      unpack_find(xz->library, "lzma_end", &xz->end) && init(&xz->stream, most_memory, 0) == LZMA_FINE)
    return xz;
  close_xz(xz);
  return NULL;
}

static enum cunpack_status step_xz(
    void *state, const uint8_t *in, size_t in_size, size_t *taken, uint8_t *out, size_t out_size, size_t *made) {
  struct xz *xz = state;
  xz->stream.next_in = in, xz->stream.avail_in = in_size;
  xz->stream.next_out = out, xz->stream.avail_out = out_size;
  int rc = xz->code(&xz->stream, LZMA_GO);
  *taken = in_size - xz->stream.avail_in, *made = out_size - xz->stream.avail_out;
  if (rc == LZMA_DONE) return CUNPACK_END;
  return rc == LZMA_FINE || rc == LZMA_FULL ? CUNPACK_MORE : CUNPACK_DAMAGED;
}

const struct format xz_format = {open_xz, step_xz, close_xz};
