/* nek_test.h - what the tests of nekbone share: a run and its problem. */
#ifndef NEK_TEST_H
#define NEK_TEST_H

#include "apps/nekbone/nekbone.h"
#include "tests/common/app_test.h"

APP_TEST(nek_test, nek_problem_t, nek_config_t)

#endif
