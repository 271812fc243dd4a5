/* app/grade.c - VALID, UNSTEADY, NOT CONVERGED or INVALID. */
#include "config.h"
#include "app/app.h"

const char *rt_grade_name(rt_grade_t grade)
{
    static const char *const name[] = {[RT_GRADE_VALID] = "VALID",
                                       [RT_GRADE_UNSTEADY] = "UNSTEADY",
                                       [RT_GRADE_NOT_CONVERGED] = "NOT CONVERGED",
                                       [RT_GRADE_INVALID] = "INVALID"};
    return name[grade];
}

rt_grade_t rt_grade_worse(rt_grade_t a, rt_grade_t b)
{
    return a > b ? a : b;
}

rt_grade_t rt_outcome_grade(const rt_outcome_t *out)
{
    if (!out->verdict.valid)
        return rt_verdict_not_converged(&out->verdict) ? RT_GRADE_NOT_CONVERGED : RT_GRADE_INVALID;
    return rt_steady(&out->unrest) ? RT_GRADE_VALID : RT_GRADE_UNSTEADY;
}
