/* zlib: the stream structure and the two functions that reading takes, as zlib.h has declared them since 1.0. */
#include "stream.h"
#include <dlfcn.h>
#include <stdlib.h>

struct z_stream_layout {
  const uint8_t *next_in;
  unsigned avail_in;
  unsigned long total_in;
  uint8_t *next_out;
  unsigned avail_out;
  unsigned long total_out;
  const char *message;
  void *internal, *allocate, *release, *opaque;
  int data_type;
  unsigned long adler, reserved;
};

enum { Z_WINDOW_GZIP = 15 + 16, Z_DONE = 1, Z_FINE = 0, Z_FULL = -5 };

struct gzip {
  void *library;
  struct z_stream_layout stream;
  int (*inflate)(struct z_stream_layout *, int);
  int (*end)(struct z_stream_layout *);
};

static void close_gzip(void *state) {
  struct gzip *gzip = state;
  if (gzip->stream.internal) gzip->end(&gzip->stream);
  if (gzip->library) dlclose(gzip->library);
  free(gzip);
}

static void *open_gzip(void) {
  struct gzip *gzip = calloc(1, sizeof *gzip);
  if (!gzip) return NULL;
  int (*init)(struct z_stream_layout *, int, const char *, int) = NULL;
  gzip->library = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
  if (unpack_find(gzip->library, "inflateInit2_", &init) && unpack_find(gzip->library, "inflate", &gzip->inflate) &&
      unpack_find(gzip->library, "inflateEnd", &gzip->end) &&
      init(&gzip->stream, Z_WINDOW_GZIP, "1.2.0", (int)sizeof gzip->stream) == Z_FINE)
    return gzip;
  close_gzip(gzip);
  return NULL;
}

static enum cunpack_status step_gzip(
    void *state, const uint8_t *in, size_t in_size, size_t *taken, uint8_t *out, size_t out_size, size_t *made) {
  struct gzip *gzip = state;
  gzip->stream.next_in = in, gzip->stream.avail_in = (unsigned)in_size;
  gzip->stream.next_out = out, gzip->stream.avail_out = (unsigned)out_size;
  int rc = gzip->inflate(&gzip->stream, 0);
  *taken = in_size - gzip->stream.avail_in, *made = out_size - gzip->stream.avail_out;
  if (rc == Z_DONE) return CUNPACK_END;
  return rc == Z_FINE || rc == Z_FULL ? CUNPACK_MORE : CUNPACK_DAMAGED;
}

const struct format gzip_format = {open_gzip, step_gzip, close_gzip};
