! Functions of the mathematics library, which Flang does not look for in that of NVIDIA.
program functions
  implicit none
  integer :: i
  real(8) :: a(100)
  a = 0
  !$omp target map(tofrom: a)
  do i = 1, 100
    a(i) = exp(-real(i, 8))
  end do
  !$omp end target
  print '(f20.12)', sum(a)
end program
