/* Counts what a thread takes from the heap. Preloaded; the test finds its two functions by name. */
#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

/* Of the thread that counts; of others nothing. */
static __thread int is_counting;
static __thread long taken, live, peak;

static void *took(void *block, size_t size) {
  if (is_counting && block) {
    taken += (long)size;
    live += (long)malloc_usable_size(block);
    if (live > peak) peak = live;
  }
  return block;
}

void *malloc(size_t size) { return took(__libc_malloc(size), size); }
void *calloc(size_t count, size_t size) { return took(__libc_calloc(count, size), count * size); }

void free(void *block) {
  if (is_counting && block) live -= (long)malloc_usable_size(block);
  __libc_free(block);
}

void *realloc(void *block, size_t size) {
  if (is_counting && block) live -= (long)malloc_usable_size(block);
  return took(__libc_realloc(block, size), size);
}

void *memalign(size_t alignment, size_t size) { return took(__libc_memalign(alignment, size), size); }
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **block, size_t alignment, size_t size) {
  *block = memalign(alignment, size);
  return *block ? 0 : ENOMEM;
}

void allocations_begin(void) {
  taken = live = peak = 0;
  is_counting = 1;
}

/* Bytes asked for altogether, and the most that was held at once. */
void allocations_end(int64_t *total, int64_t *most) {
  is_counting = 0;
  *total = taken;
  *most = peak;
}
