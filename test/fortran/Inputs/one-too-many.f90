! A loop over a part of an array: what comes behind it shows an iteration too many.
program one_too_many
  implicit none
  integer :: i, a(300)
  a = 1
  !$omp target parallel do map(tofrom: a)
  do i = 1, 200
    a(i) = a(i) + i
  end do
  !$omp end target parallel do
  print '(a,3(1x,i0))', 'a(200), a(201), a(202):', a(200:202)
end program
