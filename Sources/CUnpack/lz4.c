/* liblz4: the kernel takes the legacy frame only (`lz4 -l`): a magic number, then blocks of at most 8 MiB, each behind
   its size. The frame has no end of its own: it ends with the file, or where no size could follow. */
#include "stream.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 8 << 20, BOUND = BLOCK + BLOCK / 255 + 16 };
static const uint32_t magic = 0x184C2102;

struct lz4 {
  void *library;
  int (*decompress)(const char *, char *, int, int);
  bool has_begun;
  uint8_t number[4];
  size_t number_size;
  uint32_t block_size;
  size_t block_filled, plain_size, plain_given;
  uint8_t *block, *plain;
};

static void close_lz4(void *state) {
  struct lz4 *lz4 = state;
  free(lz4->block), free(lz4->plain);
  if (lz4->library) dlclose(lz4->library);
  free(lz4);
}

static void *open_lz4(void) {
  struct lz4 *lz4 = calloc(1, sizeof *lz4);
  if (!lz4) return NULL;
  lz4->library = dlopen("liblz4.so.1", RTLD_NOW | RTLD_LOCAL);
  if (unpack_find(lz4->library, "LZ4_decompress_safe", &lz4->decompress) && (lz4->block = malloc(BOUND)) &&
      (lz4->plain = malloc(BLOCK)))
    return lz4;
  close_lz4(lz4);
  return NULL;
}

/// The little-endian number at hand, once all four bytes of it are.
static bool take_number(struct lz4 *lz4, const uint8_t *in, size_t in_size, size_t *taken, uint32_t *number) {
  while (lz4->number_size < 4 && *taken < in_size) lz4->number[lz4->number_size++] = in[(*taken)++];
  if (lz4->number_size < 4) return false;
  lz4->number_size = 0;
  const uint8_t *n = lz4->number;
  *number = n[0] | (uint32_t)n[1] << 8 | (uint32_t)n[2] << 16 | (uint32_t)n[3] << 24;
  return true;
}

static enum cunpack_status step_lz4(
    void *state, const uint8_t *in, size_t in_size, size_t *taken, uint8_t *out, size_t out_size, size_t *made) {
  struct lz4 *lz4 = state;
  size_t ready = lz4->plain_size - lz4->plain_given;
  if (ready) {
    *made = ready < out_size ? ready : out_size;
    memcpy(out, lz4->plain + lz4->plain_given, *made);
    lz4->plain_given += *made;
    return CUNPACK_MORE;
  }
  if (!lz4->block_size) {
    uint32_t number = 0;
    if (!take_number(lz4, in, in_size, taken, &number)) return CUNPACK_MORE;
    /* Frames may stand one behind the other. */
    if (number == magic) return lz4->has_begun = true, CUNPACK_MORE;
    /* Padding, or another segment: the kernel stops here as well. */
    if (!lz4->has_begun || number > BOUND) return CUNPACK_DAMAGED;
    if (number == 0) return CUNPACK_END;
    lz4->block_size = number, lz4->block_filled = 0;
  }
  size_t wanted = lz4->block_size - lz4->block_filled, here = in_size - *taken;
  size_t part = wanted < here ? wanted : here;
  memcpy(lz4->block + lz4->block_filled, in + *taken, part);
  *taken += part, lz4->block_filled += part;
  if (lz4->block_filled < lz4->block_size) return CUNPACK_MORE;
  int plain = lz4->decompress((char *)lz4->block, (char *)lz4->plain, (int)lz4->block_size, BLOCK);
  lz4->block_size = 0;
  if (plain < 0) return CUNPACK_DAMAGED;
  lz4->plain_size = (size_t)plain, lz4->plain_given = 0;
  return CUNPACK_MORE;
}

const struct format lz4_format = {open_lz4, step_lz4, close_lz4};
