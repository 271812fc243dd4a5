/*
 * app/version.c - what source this was built from.
 *
 * build.h is made by make, which asks tools/version-gen each time: a commit, a checkout or a file
 * that was changed costs one small file and the links, and configure need not run again. It also has
 * the flags of this make, which a user may give on its command line.
 */
#include "config.h"
#include "app/app.h"
#include "build.h"

const char *rt_version(void)
{
    return RT_BUILD_VERSION;
}

const rt_build_fact_t *rt_build(int *n)
{
    static const rt_build_fact_t facts[] = {{"configure", RT_CONFIGURE_LINE},
                                            {"BLAS", RT_BLAS_NAME},
                                            {"CC", RT_BUILD_CC},
                                            {"CPPFLAGS", RT_BUILD_CPPFLAGS},
                                            {"CFLAGS", RT_BUILD_CFLAGS},
                                            {"CXX", RT_BUILD_CXX},
                                            {"CXXFLAGS", RT_BUILD_CXXFLAGS},
                                            {"NVCCFLAGS", RT_BUILD_NVCCFLAGS},
                                            {"LDFLAGS", RT_BUILD_LDFLAGS},
                                            {"LIBS", RT_BUILD_LIBS}};
    *n = (int)(sizeof facts / sizeof *facts);
    return facts;
}
