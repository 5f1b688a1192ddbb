! Loops that the threads of a GPU share, in the combined constructs and taken apart, with reductions, collapse and array expressions.
module vectors
  implicit none
contains
  subroutine saxpy(n, f, x, y)
    integer, intent(in) :: n
    real(8), intent(in) :: f, x(n)
    real(8), intent(inout) :: y(n)
    integer :: i
    !$omp target teams distribute parallel do map(to: x) map(tofrom: y)
    do i = 1, n
      y(i) = y(i) + f*x(i)
    end do
    !$omp end target teams distribute parallel do
  end subroutine

  subroutine twice(y)
    real(8), intent(inout) :: y(:)
    integer :: i
    !$omp target teams distribute parallel do map(tofrom: y)
    do i = 1, size(y)
      y(i) = 2*y(i)
    end do
    !$omp end target teams distribute parallel do
  end subroutine
end module

program loops
  use vectors
  implicit none
  integer, parameter :: n = 40
  integer :: i, j, k, total, a(n, n), line(n*n)
  real(8) :: x(200), y(200), sum_of_reals
  real(8), allocatable :: c(:)

  x = 2
  y = 1
  do k = 1, 4
    call saxpy(200, 0.5d0*k, x, y)
  end do
  call saxpy(100, 1d0, x, y)
  call twice(y)
  print '(a,f10.1)', 'teams distribute parallel do: ', sum(y)

  line = 1
  !$omp target parallel do map(tofrom: line)
  do i = 1, n*n
    line(i) = line(i) + i
  end do
  !$omp end target parallel do
  !$omp target teams distribute map(tofrom: line)
  do i = 1, n*n
    line(i) = line(i) + i
  end do
  !$omp end target teams distribute
  !$omp target teams distribute parallel do simd map(tofrom: line)
  do i = 1, n*n
    line(i) = line(i) + i
  end do
  !$omp end target teams distribute parallel do simd
  !$omp target parallel do map(tofrom: line)
  do i = 1, n
    line(i) = 0
  end do
  !$omp end target parallel do
  print '(a,2i8)', 'parallel do, distribute, simd: ', sum(line), line(n + 1)

  a = 1
  !$omp target teams map(tofrom: a)
  !$omp distribute private(j)
  do i = 1, n
    !$omp parallel do
    do j = 1, n
      a(j, i) = a(j, i) + i*j
    end do
    !$omp end parallel do
  end do
  !$omp end distribute
  !$omp end target teams
  !$omp target teams distribute parallel do collapse(2) map(tofrom: a)
  do i = 1, n
    do j = 1, n
      a(j, i) = a(j, i) + i*100 + j
    end do
  end do
  !$omp end target teams distribute parallel do
  print '(a,i0)', 'nested, collapse: ', sum(a)

  total = 5
  sum_of_reals = 5
  !$omp target parallel do reduction(+: total) map(tofrom: total)
  do i = 1, 1000
    total = total + i
  end do
  !$omp end target parallel do
  !$omp target teams distribute parallel do reduction(+: sum_of_reals) map(tofrom: sum_of_reals)
  do i = 1, 1000
    sum_of_reals = sum_of_reals + i
  end do
  !$omp end target teams distribute parallel do
  print '(a,i0,f10.1)', 'reductions: ', total, sum_of_reals

  allocate (c(200))
  c = 1
  !$omp target data map(tofrom: c) map(to: x)
  !$omp target teams loop
  do i = 1, 200
    c(i) = c(i) + x(i)*i
  end do
  !$omp end target teams loop
  !$omp end target data
  !$omp target map(tofrom: y) map(to: x)
  y = y + 2*x
  !$omp end target
  print '(a,2f10.1)', 'allocatable, loop, array expressions: ', sum(c), sum(y)
end program
