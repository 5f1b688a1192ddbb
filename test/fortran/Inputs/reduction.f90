! A reduction, and nothing else.
program reduction
  implicit none
  integer :: i, total
  total = 5
  !$omp target parallel do reduction(+: total) map(tofrom: total)
  do i = 1, 1000
    total = total + i
  end do
  !$omp end target parallel do
  print '(i0)', total
end program
