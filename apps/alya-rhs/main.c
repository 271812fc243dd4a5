/* main.c - alya-rhs. The app is a table (app.c); the driver (driver/main.c) gives it its life. */
#include "alya.h"

int main(int argc, char **argv)
{
    return rt_app_main(&alya_app, argc, argv);
}
