/* main.c - fun3d-mcpi. The app is a table (app.c); the driver (driver/main.c) gives it its life. */
#include "mcpi.h"

int main(int argc, char **argv)
{
    return rt_app_main(&mcpi_app, argc, argv);
}
