/* alya_test.h - a run of alya-rhs and its problem, for tests. */
#ifndef ALYA_TEST_H
#define ALYA_TEST_H

#include "apps/alya-rhs/alya.h"
#include "tests/common/app_test.h"

APP_TEST(alya_test, alya_problem_t, alya_config_t)

#endif
