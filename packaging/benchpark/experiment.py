"""Rooftop for Benchpark of January 2025: the experiment; later ones have renamed some methods.

Benchpark finds this file as experiments/rooftop/experiment.py, packaging/ramble/application.py as
repo/rooftop/application.py, and packaging/spack/package.py beside that. With one of its systems, or yours:

    benchpark experiment init --dest=rooftop-gpu rooftop +cuda size=small window=10 warm_up=3
    benchpark setup rooftop-gpu SYSTEM WORKSPACE
"""
from benchpark.cuda import CudaExperiment
from benchpark.directives import variant
from benchpark.experiment import Experiment


class Rooftop(Experiment, CudaExperiment):
    variant("workload", default="app", description="the only one: a variable names the app")
    variant("version", default="develop", description="version of the Spack package")
    variant("size", default="tiny", description="memory per rank")
    variant("window", default="0.2", description="seconds of each window")
    variant("warm_up", default="0.2", description="seconds before the first window")

    def compute_applications_section(self):
        self.add_experiment_variable("app", ["nekbone", "alya-rhs", "fun3d-mcpi", "gfnn-wave"], True)
        for name in ("size", "window", "warm_up"):
            self.add_experiment_variable(name, self.spec.variants[name][0], name == "size")
        # One rank per GPU: Benchpark gives as many ranks as GPUs.
        count = "n_gpus" if self.spec.satisfies("+cuda") else "n_ranks"
        self.add_experiment_variable(count, ["1", "2"], True)
        self.matrix_experiment_variables(["app", count])

    def compute_spack_section(self):
        version = self.spec.variants["version"][0]
        self.add_spack_spec(self.name, [f"rooftop@{version} +mpi ", "default-compiler"])
        self.add_spack_spec("default-mpi")
