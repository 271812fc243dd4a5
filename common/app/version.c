/*
 * app/version.c - what source this was built from.
 *
 * version.h is made by make, which asks tools/version-gen each time: a commit, a checkout or a file
 * that was changed costs one small file and the links, and configure need not run again.
 */
#include "config.h"
#include "app/app.h"
#include "version.h"

const char *rt_version(void)
{
    return RT_VERSION;
}
