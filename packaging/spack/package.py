"""Rooftop for Spack.

Put this file into a repository of your own, as packages/rooftop/package.py (`spack repo create rooftop-repo rooftop`
makes a repository, `spack repo add rooftop-repo` registers it). Put the tarball of the release into the folder where
you call spack. Then:

    spack install --no-checksum rooftop +cuda cuda_arch=90 +nccl
    spack load rooftop && rooftop doctor
    spack test run rooftop                              the programs that were installed, on a tiny problem

GPUs of AMD are reached through Kokkos: rooftop +hip +kokkos amdgpu_target=gfx90a. Nobody has tried that.
To build a git clone as it is: `spack dev-build rooftop@develop` in its folder.
"""
import os

from spack.package import *

try:  # Spack 1.0 and later
    from spack_repo.builtin.build_systems.autotools import AutotoolsPackage
    from spack_repo.builtin.build_systems.cuda import CudaPackage
    from spack_repo.builtin.build_systems.rocm import ROCmPackage
except ImportError:  # Spack 0.23: the import above has them
    pass

RELEASE = "1.1.0"


class Rooftop(AutotoolsPackage, CudaPackage):
    """Four mini-apps in C (spectral elements, finite elements, block-sparse sweeps, elastic waves) that climb to the
    roofline, on CPUs and GPUs, and the suite that runs and judges them."""

    manual_download = True
    url = f"file://{os.getcwd()}/rooftop-{RELEASE}.tar.gz"

    license("BSD-3-Clause")

    version("develop")  # for dev-build
    version(RELEASE)

    variant("mpi", default=True, description="Several ranks, with MPI")
    variant("kokkos", default=False, description="Kokkos rungs; with +cuda the programs need a driver to start")
    variant("hip", default=False, description="Kokkos rungs on GPUs of AMD")
    variant("amdgpu_target", default="none", values=("none",) + ROCmPackage.amdgpu_targets, description="AMD architecture")
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
    depends_on("kokkos@4: +openmp ~cuda", when="+kokkos ~cuda ~hip")
    depends_on("hip", when="+hip")
    for arch in ROCmPackage.amdgpu_targets:
        depends_on(f"kokkos@4: +openmp +rocm amdgpu_target={arch}", when=f"+hip amdgpu_target={arch}")
    for arch in CudaPackage.cuda_arch_values:
        depends_on(f"kokkos@4: +openmp +cuda +wrapper cuda_arch={arch}", when=f"+kokkos +cuda cuda_arch={arch}")

    conflicts("+hip", when="~kokkos", msg="HIP is reached through Kokkos: rooftop +hip +kokkos")
    conflicts("+hip", when="+cuda", msg="a Kokkos is for one make of GPU: rooftop +hip ~cuda")
    conflicts("amdgpu_target=none", when="+hip", msg="name the architecture: rooftop +hip +kokkos amdgpu_target=gfx90a")
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
        if spec.satisfies("+hip"):
            args.append(f"CXX={spec['hip'].prefix.bin.hipcc} --offload-arch={spec.variants['amdgpu_target'].value}")
        return args

    def try_app(self, name):
        """run it on a tiny problem: every check of it must hold, and its report be consistent"""
        app, rooftop = (which(self.prefix.bin.join(program), required=True) for program in (name, "rooftop"))
        app("--device", "cpu", "--size", "tiny", "--seconds", "0", "--json", f"{name}.json")
        rooftop("verify", f"{name}.json")

    def test_nekbone(self):
        """nekbone's answer is right"""
        self.try_app("nekbone")

    def test_alya_rhs(self):
        """alya-rhs's answer is right"""
        self.try_app("alya-rhs")

    def test_fun3d_mcpi(self):
        """fun3d-mcpi's answer is right"""
        self.try_app("fun3d-mcpi")

    def test_gfnn_wave(self):
        """gfnn-wave's answer is right"""
        self.try_app("gfnn-wave")
