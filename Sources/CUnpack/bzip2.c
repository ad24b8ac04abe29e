/* libbz2: the stream structure and the two functions that reading takes, as bzlib.h has declared them since 1.0. */
#include "stream.h"
#include <dlfcn.h>
#include <stdlib.h>

struct bz_stream_layout {
  const char *next_in;
  unsigned avail_in, total_in_low, total_in_high;
  char *next_out;
  unsigned avail_out, total_out_low, total_out_high;
  void *internal, *allocate, *release, *opaque;
};

enum { BZ_FINE = 0, BZ_DONE = 4 };

struct bzip2 {
  void *library;
  struct bz_stream_layout stream;
  int (*decompress)(struct bz_stream_layout *);
  int (*end)(struct bz_stream_layout *);
};

static void close_bzip2(void *state) {
  struct bzip2 *bzip2 = state;
  if (bzip2->stream.internal) bzip2->end(&bzip2->stream);
  if (bzip2->library) dlclose(bzip2->library);
  free(bzip2);
}

static void *open_bzip2(void) {
  struct bzip2 *bzip2 = calloc(1, sizeof *bzip2);
  if (!bzip2) return NULL;
  int (*init)(struct bz_stream_layout *, int, int) = NULL;
  bzip2->library = dlopen("libbz2.so.1.0", RTLD_NOW | RTLD_LOCAL);
  if (!bzip2->library) bzip2->library = dlopen("libbz2.so.1", RTLD_NOW | RTLD_LOCAL);
  if (unpack_find(bzip2->library, "BZ2_bzDecompressInit", &init) &&
      unpack_find(bzip2->library, "BZ2_bzDecompress", &bzip2->decompress) &&
      unpack_find(bzip2->library, "BZ2_bzDecompressEnd", &bzip2->end) && init(&bzip2->stream, 0, 0) == BZ_FINE)
    return bzip2;
  close_bzip2(bzip2);
  return NULL;
}

static enum cunpack_status step_bzip2(
    void *state, const uint8_t *in, size_t in_size, size_t *taken, uint8_t *out, size_t out_size, size_t *made) {
  struct bzip2 *bzip2 = state;
  bzip2->stream.next_in = (const char *)in, bzip2->stream.avail_in = (unsigned)in_size;
  bzip2->stream.next_out = (char *)out, bzip2->stream.avail_out = (unsigned)out_size;
  int rc = bzip2->decompress(&bzip2->stream);
  *taken = in_size - bzip2->stream.avail_in, *made = out_size - bzip2->stream.avail_out;
  if (rc == BZ_DONE) return CUNPACK_END;
  return rc == BZ_FINE ? CUNPACK_MORE : CUNPACK_DAMAGED;
}

const struct format bzip2_format = {open_bzip2, step_bzip2, close_bzip2};
