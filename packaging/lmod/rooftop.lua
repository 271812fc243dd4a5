-- Rooftop as an Lmod module. Copy this file to MODULES/rooftop/1.1.0.lua; its name says the version. Set the lines marked SITE.
--   module use MODULES && module load rooftop && rooftop doctor
local root = pathJoin("/opt/rooftop", myModuleVersion()) -- SITE: the --prefix of configure

whatis("Name: Rooftop")
whatis("Version: " .. myModuleVersion())
whatis("Description: four mini-apps that climb to the roofline, and the suite that runs and judges them")
help([[
nekbone, alya-rhs, fun3d-mcpi, gfnn-wave: each has --help.
rooftop: runs and judges them; rooftop --help lists the commands.
]])

if mode() == "load" and not isFile(pathJoin(root, "bin", "rooftop")) then
    LmodError("there is no bin/rooftop in " .. root .. ": set root in " .. myFileName() .. " to the --prefix of configure")
end
-- depends_on("openmpi") -- SITE: the modules that the programs were built with

prepend_path("PATH", pathJoin(root, "bin"))
prepend_path("MANPATH", pathJoin(root, "share", "man"))
prepend_path("PKG_CONFIG_PATH", pathJoin(root, "lib", "pkgconfig"))
setenv("ROOFTOP_BIN", pathJoin(root, "bin")) -- where packaging/slurm looks
