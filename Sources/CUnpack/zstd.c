/* libzstd: its streaming functions, which are stable since 1.4. */
#include "stream.h"
#include <dlfcn.h>
#include <stdlib.h>

struct zstd_in {
  const void *bytes;
  size_t size, position;
};

struct zstd_out {
  void *bytes;
  size_t size, position;
};

struct zstd {
  void *library, *stream;
  size_t (*step)(void *, struct zstd_out *, struct zstd_in *);
  unsigned (*is_error)(size_t);
  size_t (*release)(void *);
};

static void close_zstd(void *state) {
  struct zstd *zstd = state;
  if (zstd->stream) zstd->release(zstd->stream);
  if (zstd->library) dlclose(zstd->library);
  free(zstd);
}

static void *open_zstd(void) {
  struct zstd *zstd = calloc(1, sizeof *zstd);
  if (!zstd) return NULL;
  void *(*create)(void) = NULL;
  zstd->library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
  if (unpack_find(zstd->library, "ZSTD_createDStream", &create) &&
      unpack_find(zstd->library, "ZSTD_decompressStream", &zstd->step) &&
      unpack_find(zstd->library, "ZSTD_isError", &zstd->is_error) &&
      unpack_find(zstd->library, "ZSTD_freeDStream", &zstd->release) && (zstd->stream = create()))
    return zstd;
  close_zstd(zstd);
  return NULL;
}

static enum cunpack_status step_zstd(
    void *state, const uint8_t *in, size_t in_size, size_t *taken, uint8_t *out, size_t out_size, size_t *made) {
  struct zstd *zstd = state;
  struct zstd_in from = {in, in_size, 0};
  struct zstd_out to = {out, out_size, 0};
  size_t left = zstd->step(zstd->stream, &to, &from);
  *taken = from.position, *made = to.position;
  if (zstd->is_error(left)) return CUNPACK_DAMAGED;
  return left == 0 ? CUNPACK_END : CUNPACK_MORE;
}

const struct format zstd_format = {open_zstd, step_zstd, close_zstd};
