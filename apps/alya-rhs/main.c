/* main.c - alya-rhs. The app is a table (app.c); the driver (rt_app.c) gives it its life. */
#include "alya.h"

int main(int argc, char **argv)
{
    return rt_app_main(&alya_app, argc, argv);
}
