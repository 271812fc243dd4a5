/*
 * mesh/read_all.c - a mesh file that every rank reads; rank 0 first, so that a bad file is refused in
 * one line.
 */
#include "config.h"
#include "mesh/mesh.h"
#include <stdio.h>
#include "base/error.h"
#include "machine/comm.h"

/* Returns NULL and one line in why if the file cannot be used. */
static rt_mesh_t *read_good(const char *path, unsigned types, rt_mesh_usable_fn *usable,
                            const void *data, char *why, size_t len)
{
    char fault[256];
    rt_mesh_t *mesh = rt_mesh_read(path, types, why, len);
    if (!mesh || (rt_mesh_check(mesh, fault, sizeof fault) &&
                  (!usable || usable(mesh, data, fault, sizeof fault))))
        return mesh;
    snprintf(why, len, "%.200s: %s", path, fault);
    rt_mesh_destroy(mesh);
    return NULL;
}

rt_mesh_t *rt_mesh_read_all(const char *path, unsigned types, rt_mesh_usable_fn *usable,
                            const void *data)
{
    char why[512] = "";
    rt_mesh_t *mesh =
        rt_comm_rank() == 0 ? read_good(path, types, usable, data, why, sizeof why) : NULL;
    if (rt_comm_agree(why, sizeof why) >= 0)
        rt_refuse(RT_USAGE, "--mesh %s", why);
    if (!mesh && !(mesh = read_good(path, types, usable, data, why, sizeof why)))
        rt_die(RT_ENVIRONMENT, "rank 0 could read it, this rank on %s cannot: %s", rt_comm_host(),
               why);
    return mesh;
}
