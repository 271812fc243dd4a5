"""Rooftop for Spack.

Put this file into a repository of your own, as packages/rooftop/package.py (`spack repo create rooftop-repo rooftop`
makes a repository, `spack repo add rooftop-repo` registers it). Put the tarball of the release into the folder where
you call spack. Then:

    spack install --no-checksum rooftop@0.1.0 +cuda cuda_arch=90 +nccl
    spack load rooftop && rooftop doctor

To build a git clone as it is: `spack dev-build rooftop@develop` in its folder.
"""
import os

from spack.package import *

try:  # Spack 1.0 and later
    from spack_repo.builtin.build_systems.autotools import AutotoolsPackage
    from spack_repo.builtin.build_systems.cuda import CudaPackage
except ImportError:  # Spack 0.23: the import above has them
    pass


class Rooftop(AutotoolsPackage, CudaPackage):
    """Four mini-apps in C (spectral elements, finite elements, block-sparse sweeps, elastic waves) that climb to the
    roofline, on CPUs and GPUs, and the suite that runs and judges them."""

    manual_download = True
    url = f"file://{os.getcwd()}/rooftop-0.1.0.tar.gz"

    license("BSD-3-Clause")

    version("develop")  # for dev-build
    version("0.1.0")

    variant("mpi", default=True, description="Several ranks, with MPI")
    variant("kokkos", default=False, description="Kokkos rungs; with +cuda the programs need a driver to start")
    variant("nccl", default=False, description="Halo messages between GPUs on their streams")
    variant("openblas", default=True, description="dgemm for nekbone's small matrix products")
    variant("libxsmm", default=False, description="libxsmm for nekbone's small matrix products")
    variant("hwloc", default=True, description="Choose the GPU nearest to a rank's cores")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("gmake", type="build")
    with when("@develop"):
        depends_on("autoconf@2.71:", type="build")
        depends_on("automake@1.16:", type="build")
        depends_on("help2man", type="build")
    depends_on("python@3.9:", type=("build", "run"))
    depends_on("jansson")
    depends_on("mpi", when="+mpi")
    depends_on("cuda@12.3:", when="+cuda")
    depends_on("nccl@2.17:", when="+nccl")
    depends_on("openblas threads=none", when="+openblas")
    depends_on("libxsmm", when="+libxsmm")
    depends_on("hwloc", when="+hwloc")
    depends_on("kokkos@4: +openmp ~cuda", when="+kokkos ~cuda")
    for arch in CudaPackage.cuda_arch_values:
        depends_on(f"kokkos@4: +openmp +cuda +wrapper cuda_arch={arch}", when=f"+kokkos +cuda cuda_arch={arch}")

    conflicts("+nccl", when="~cuda", msg="NCCL needs CUDA: rooftop +nccl +cuda")
    conflicts("+nccl", when="~mpi", msg="NCCL needs MPI: rooftop +nccl +mpi")
    conflicts("cuda_arch=none", when="+cuda", msg="name the architecture of the GPUs: rooftop +cuda cuda_arch=90")

    def autoreconf(self, spec, prefix):
        if not os.path.exists("configure"):
            Executable("./bootstrap")()

    def configure_args(self):
        spec = self.spec
        # Spack's compiler wrappers already tune for the target.
        args = ["--disable-native", f"--with-jansson={spec['jansson'].prefix}"]
        parts = (
            # variant, option, package
            ("mpi", "mpi", "mpi"),
            ("cuda", "cuda", "cuda"),
            ("nccl", "nccl", "nccl"),
            ("kokkos", "kokkos", "kokkos"),
            ("openblas", "blas", "openblas"),
            ("libxsmm", "libxsmm", "libxsmm"),
            ("hwloc", "hwloc", "hwloc"),
        )
        for variant, option, package in parts:
            wanted = spec.satisfies(f"+{variant}")
            args.append(f"--with-{option}={spec[package].prefix}" if wanted else f"--without-{option}")
        if spec.satisfies("+cuda"):
            args.append("--with-cuda-arch=" + ",".join(spec.variants["cuda_arch"].value))
        return args
