! A clause of `target` that no Flang here translates.
program firstprivate_scalar
  implicit none
  integer :: k, a(20)
  a = 1
  k = 3
  !$omp target firstprivate(k) map(tofrom: a)
  a(1) = k
  !$omp end target
  print '(i0)', a(1)
end program
