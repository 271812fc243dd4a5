/*
 * by_name.h - tables that are filled by name.
 *
 * A struct that is marked so, `typedef struct { .. } RT_BY_NAME name_t;`, has no initialiser without
 * the names of its fields: else one that is added in the middle would shift the others without a
 * word. GCC sees to it in C (-Werror=designated-init); C++, and other compilers, have no such attribute.
 */
#ifndef RT_BY_NAME_H
#define RT_BY_NAME_H

#if defined(__GNUC__) && !defined(__clang__) && !defined(__cplusplus)
#define RT_BY_NAME __attribute__((designated_init))
#else
#define RT_BY_NAME
#endif

#endif
