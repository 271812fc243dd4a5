# RT_SUMMARY: prints what this build has, why other parts are missing, and how to get them.
AC_DEFUN([RT_SUMMARY_LINE],
  [AS_IF([test $rt_have_$1 = 1], [AS_ECHO(["  $2  $3"])], [AS_ECHO(["  $2  no: $rt_why_$1"])])])

AC_DEFUN([RT_SUMMARY], [
  echo
  AS_ECHO(["$PACKAGE_NAME $PACKAGE_VERSION"])
  AS_ECHO(["  C       $CC $RT_STD_CFLAGS $CFLAGS"])
  RT_SUMMARY_LINE([openmp], [OpenMP], [$OPENMP_CFLAGS])
  RT_SUMMARY_LINE([mpi],    [MPI   ], [$MPICC, tests start with $MPIRUN])
  RT_SUMMARY_LINE([cuda],   [CUDA  ], [$rt_nvcc_id for $rt_cuda_archs in $rt_top])
  RT_SUMMARY_LINE([cublas], [cuBLAS], [loaded when needed, here from $rt_libdir])
  RT_SUMMARY_LINE([nccl],   [NCCL  ], [$NCCL_LIBS])
  RT_SUMMARY_LINE([kokkos], [Kokkos], [$rt_kokkos_version ($rt_kokkos_backends) with $KOKKOS_CXX])
  RT_SUMMARY_LINE([hwloc],  [hwloc ], [yes])
  RT_SUMMARY_LINE([blas],   [BLAS  ], [$rt_blas])
  RT_SUMMARY_LINE([libxsmm], [libxsmm], [yes])
  RT_SUMMARY_LINE([man],    [man   ], [$rt_man_from])
  AS_IF([test "x$with_openacc" != xno], [RT_SUMMARY_LINE([openacc], [OpenACC], [$rt_openacc_id])])
  AS_IF([test "x$with_caliper" != xno], [RT_SUMMARY_LINE([caliper], [Caliper], [$CALIPER_LIBS])])
  AS_IF([test "x$with_cusparse" != xno], [RT_SUMMARY_LINE([cusparse], [cuSPARSE], [yes])])
  AS_IF([test "x$with_hypre" != xno], [RT_SUMMARY_LINE([hypre], [hypre ], [yes])])
  echo
  echo "Next: make -j2, make check, apps/nekbone/nekbone --ladder (docs/building.md, docs/running.md)"
])
