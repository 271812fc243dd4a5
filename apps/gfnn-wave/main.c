/* main.c - gfnn-wave. The app is a table (app.c); the driver (driver/main.c) gives it its life. */
#include "gfnn.h"

int main(int argc, char **argv)
{
    return rt_app_main(&gfnn_app, argc, argv);
}
