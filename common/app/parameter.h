/* app/parameter.h - what can be chosen for a rung, and the point that a choice is made for. */
#ifndef RT_PARAMETER_H
#define RT_PARAMETER_H

enum { RT_TUNE_PARAMETERS = 12, RT_TUNE_COORDINATES = 4, RT_TUNE_VALUES = 32 };

/* A launch parameter of a rung: a name and a list of named values. A choice is an index of a value
 * for each parameter of the rung. */
typedef struct {
    const char *name, *about;
    const char *const *values; /* names, the last followed by NULL; at most RT_TUNE_VALUES */
    int initial;               /* index of the value without tuning */
} rt_parameter_t;

/* A coordinate of the point that a choice was made for: a positive value, the same on all ranks. A
 * factor of e in the value adds `weight` to the distance between two points. */
typedef struct {
    const char *name;
    double value, weight;
} rt_coordinate_t;

#endif
