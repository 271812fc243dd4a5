/* main.c - nekbone. The app is a table (app.c); the driver (driver/main.c) gives it its life. */
#include "nekbone.h"

int main(int argc, char **argv)
{
    return rt_app_main(&nek_app, argc, argv);
}
