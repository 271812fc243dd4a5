/* driver/program.c - main(). Compiled once for each program, with RT_APP the app's table. */
#include "driver/driver.h"

extern const rt_app_t RT_APP;

int main(int argc, char **argv)
{
    return rt_app_main(&RT_APP, argc, argv);
}
