"""Rooftop for Ramble: one workload, in which a variable names the app. ramble.yaml beside this file is an experiment.

Ramble finds this file as applications/rooftop/application.py of a repository that it knows: `ramble repo create REPO`, and
`ramble repo add REPO`.
"""
from ramble.appkit import *


class Rooftop(ExecutableApplication):
    """Four mini-apps that climb to the roofline: each run is verified, timed, and verified again"""

    name = "rooftop"
    tags("mini-app", "mpi", "openmp", "cuda", "kokkos")

    # With a package manager the programs are those of the package; otherwise they are on PATH.
    software_spec("rooftop", pkg_spec="rooftop", package_manager="spack*")

    executable(
        "app",
        "{app} --size {size} --windows 5 --window {window} --warm-up {warm_up} --device {device}"
        " --json {experiment_run_dir}/result.json",
        use_mpi=True,
    )
    workload("app", executables=["app"])
    for variable, default, description in (
        ("app", "nekbone", "nekbone, alya-rhs, fun3d-mcpi or gfnn-wave"),
        ("size", "tiny", "memory per rank"),
        ("window", "0.2", "seconds of each window; 10 for a figure that others will look at"),
        ("warm_up", "0.2", "seconds before the first window; 3 for such a figure"),
        ("device", "auto", "auto, cpu, or numbers of GPUs"),
    ):
        workload_variable(variable, default=default, description=description, workloads=["app"])

    # The report is for programs, and says nothing of a figure that is not VALID.
    for figure, key, units in (
        ("FOM", "fom_flop_per_s", "flop/s"),
        ("Seconds per unit", "seconds_per_unit", "s"),
        ("Ranks", "ranks", ""),
    ):
        figure_of_merit(
            figure,
            log_file="{experiment_run_dir}/result.json",
            fom_regex=rf'\s*"{key}": (?P<value>[-+0-9.e]+)',
            group_name="value",
            units=units,
        )
    figure_of_merit(
        "Verdict",
        log_file="{experiment_run_dir}/result.json",
        fom_regex=r'\s*"verdict": "(?P<verdict>[A-Z ]+)"',
        group_name="verdict",
        units="",
    )
    success_criteria(
        "right", mode="string", match=r'\s*"verdict": "(VALID|UNSTEADY)"', file="{experiment_run_dir}/result.json"
    )
