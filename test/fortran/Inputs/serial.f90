! Target regions that one thread runs: scalars, arrays, derived types, allocatable arrays, declare target, data regions, updates.
module work
  implicit none
  type point
    real(8) :: x, y
    integer :: n
    real(8) :: w(4)
  end type
  real(8) :: factor = 3
  !$omp declare target (factor)
contains
  real(8) function scaled(x)
    !$omp declare target
    real(8), intent(in) :: x
    scaled = x*factor
  end function
end module

program serial
  use work
  implicit none
  integer, parameter :: n = 64
  integer :: i, total, k, a(n), b(n)
  real(8) :: r(50)
  real(8), allocatable :: c(:), d(:, :)
  type(point) :: p, q(10)

  total = 0
  k = 2
  !$omp target map(tofrom: total)
  do i = 1, 100
    total = total + k*i
  end do
  !$omp end target
  print '(a,i0)', 'scalars: ', total

  p = point(1, 2, 3, 4)
  q = p
  !$omp target map(tofrom: p, q)
  p%x = p%x + p%y*p%n + p%w(2)
  do i = 1, 10
    q(i)%x = i*q(i)%y + q(i)%w(3)
  end do
  !$omp end target
  print '(a,2f8.1)', 'derived types:', p%x, sum(q%x)

  allocate (c(n), d(n, 3))
  c = 1
  d = 2
  !$omp target map(tofrom: c) map(to: d)
  do i = 1, n
    c(i) = c(i) + d(i, 2)*i + sqrt(abs(-c(i)))
  end do
  !$omp end target
  print '(a,f8.1)', 'allocatable:', sum(c)

  r = 2
  !$omp target map(tofrom: r)
  do i = 1, 50
    r(i) = scaled(r(i)) + i
  end do
  !$omp end target
  factor = 10
  !$omp target update to(factor)
  !$omp target map(tofrom: r)
  r(1) = scaled(r(1))
  !$omp end target
  print '(a,f8.1)', 'declare target:', sum(r)

  a = 1
  b = 0
  !$omp target enter data map(to: a)
  !$omp target data map(tofrom: b)
  do k = 1, 4
    !$omp target
    do i = 1, n
      b(i) = b(i) + a(i)*i
    end do
    !$omp end target
  end do
  a = 7
  !$omp target update to(a)
  !$omp target
  do i = 1, n
    b(i) = b(i) + a(i)
  end do
  !$omp end target
  !$omp target update from(b)
  print '(a,i0)', 'updated: ', sum(b)
  !$omp end target data
  !$omp target exit data map(delete: a)
  print '(a,i0)', 'data regions: ', sum(b)
end program
