/* mesh/builder.c - lists of elements and faces that grow as a file is read. */
#include "config.h"
#include "mesh/builder.h"

#include <inttypes.h>
#include <string.h>
#include "base/numbers.h"

const char *rt_element_name(rt_element_t type)
{
    static const char *const names[] = {"tetrahedron", "pyramid", "prism", "hexahedron"};
    return names[type];
}

bool rt_mesh_refuse_type(rt_scan_t *s, const rt_mesh_draft_t *draft, int64_t number,
                         const char *shape, int64_t type)
{
    static const char *const plural[] = {"tetrahedra", "pyramids", "prisms", "hexahedra"};
    char list[64] = "";
    for (int t = 0; t < RT_ELEMENTS; t++)
        if (rt_mesh_allows(draft, t)) {
            const bool last = draft->types >> (t + 1) == 0;
            strcat(list, list[0] == '\0' ? "" : last ? " and " : ", ");
            strcat(list, plural[t]);
        }
    return rt_scan_fail(s, "element %" PRId64 " is %s (type %" PRId64 "): only %s can be used",
                        number, shape, type, list);
}

/* Returns how much room a list of n items gets that has room for `room` now. */
static int64_t grown(int64_t room, int64_t n)
{
    return n <= room ? room : n > 2 * room ? n : 2 * room;
}

bool rt_mesh_reserve_elements(rt_scan_t *s, rt_mesh_draft_t *draft, int type, int64_t more)
{
    rt_mesh_t *mesh = &draft->mesh;
    const int64_t n = mesh->elements[type], room = grown(draft->element_room[type], n + more);
    if (n + more > INT32_MAX)
        return rt_scan_fail_file(s, "more than %d elements of one type", INT32_MAX);
    if (room > draft->element_room[type])
        mesh->element[type] = rt_scan_resize(s, mesh->element[type], n, room,
                                             (size_t)rt_element_size(type) * sizeof(int32_t));
    if (!s->failed)
        draft->element_room[type] = room;
    return !s->failed;
}

bool rt_mesh_reserve_faces(rt_scan_t *s, rt_mesh_draft_t *draft, int type, int64_t more)
{
    rt_mesh_t *mesh = &draft->mesh;
    const int64_t n = mesh->faces[type], room = grown(draft->face_room[type], n + more);
    if (n + more > INT32_MAX)
        return rt_scan_fail_file(s, "more than %d faces of one type", INT32_MAX);
    if (room > draft->face_room[type]) {
        mesh->face[type] = rt_scan_resize(s, mesh->face[type], n, room,
                                          (size_t)rt_face_size(type) * sizeof(int32_t));
        mesh->tag[type] = rt_scan_resize(s, mesh->tag[type], n, room, sizeof *mesh->tag[type]);
    }
    if (!s->failed)
        draft->face_room[type] = room;
    return !s->failed;
}

int32_t *rt_mesh_add_element(rt_mesh_draft_t *draft, int type)
{
    return draft->mesh.element[type] + draft->mesh.elements[type]++ * rt_element_size(type);
}

int32_t *rt_mesh_add_face(rt_scan_t *s, rt_mesh_draft_t *draft, int type, int64_t tag)
{
    if (tag < INT32_MIN || tag > INT32_MAX) {
        rt_scan_fail(s, "a boundary face has the tag %" PRId64, tag);
        return NULL;
    }
    const int64_t n = draft->mesh.faces[type]++;
    draft->mesh.tag[type][n] = (int32_t)tag;
    return draft->mesh.face[type] + n * rt_face_size(type);
}

bool rt_mesh_scan_finite(rt_scan_t *s, const double x[3], int64_t tag)
{
    for (int d = 0; d < 3; d++)
        if (!rt_finite(x[d]))
            return rt_scan_fail(s, "node %" PRId64 ": its %c coordinate is not finite", tag,
                                "xyz"[d]);
    return true;
}
