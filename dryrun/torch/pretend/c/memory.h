/* Virtual memory of the pretend devices, for driver.c. Sizes are whole grains. */
#ifndef PRETEND_MEMORY_H
#define PRETEND_MEMORY_H
#include "pretend.h"

#define GRAIN (2ul << 20)             /* bytes that a device gives out at once */

typedef struct physical physical;
void *pretend_reserve(size_t size);
int pretend_unreserve(void *p, size_t size);
physical *pretend_physical(int device, size_t size); /* NULL: out of memory */
void pretend_release(physical *handle);
int pretend_map(void *p, size_t size, physical *handle); /* NULL: unmap */
#endif
