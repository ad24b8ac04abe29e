#include "stream.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

struct cunpack {
  const struct format *format;
  void *state;
};

bool unpack_find(void *library, const char *name, void *function) {
  void *symbol = library ? dlsym(library, name) : NULL;
  memcpy(function, &symbol, sizeof symbol);
  return symbol != NULL;
}

cunpack *cunpack_open(enum cunpack_format format) {
  static const struct format *const formats[] = {&gzip_format, &zstd_format, &xz_format, &lz4_format, &bzip2_format};
  cunpack *stream = calloc(1, sizeof *stream);
  if (!stream) return NULL;
  stream->format = formats[format];
  stream->state = stream->format->open();
  if (stream->state) return stream;
  free(stream);
  return NULL;
}

enum cunpack_status cunpack_step(
    cunpack *stream, const uint8_t *in, size_t in_size, size_t *taken, uint8_t *out, size_t out_size, size_t *made) {
  *taken = 0, *made = 0;
  return stream->format->step(stream->state, in, in_size, taken, out, out_size, made);
}

void cunpack_close(cunpack *stream) {
  stream->format->close(stream->state);
  free(stream);
}
