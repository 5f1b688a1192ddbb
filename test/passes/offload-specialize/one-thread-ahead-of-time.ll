; Where a kernel's ahead-of-time code is offered and the region is all that the kernel does, it takes the place of the region for more
; threads. A kernel that does something else, before or after, begins the region itself: started over, the code would do that once more, or
; it would do what comes behind. So does one that may ask for more in every launch.
; RUN: %opt -load-pass-plugin %passes -passes='offload-specialize-launch<descriptor=kernel=all;arch=x86-64;teams=1;threads=1>,verify' -S %s | FileCheck %s --check-prefix=ALL
; RUN: %opt -load-pass-plugin %passes -passes='offload-specialize-launch<descriptor=kernel=asks;arch=x86-64;teams=1;threads=1>,verify' -S %s | FileCheck %s --check-prefix=ASKS
; RUN: %opt -load-pass-plugin %passes -passes='offload-specialize-launch<descriptor=kernel=asks_for_two;arch=x86-64;teams=1;threads=1>,verify' -S %s | FileCheck %s --check-prefix=TWO
; RUN: %opt -load-pass-plugin %passes -passes='offload-specialize-launch<descriptor=kernel=asks_for_some;arch=x86-64;teams=1;threads=1>,verify' -S %s | FileCheck %s --check-prefix=SOME
; RUN: %opt -load-pass-plugin %passes -passes='offload-specialize-launch<descriptor=kernel=writes_before;arch=x86-64;teams=1;threads=1>,verify' -S %s | FileCheck %s --check-prefix=BEFORE
; RUN: %opt -load-pass-plugin %passes -passes='offload-specialize-launch<descriptor=kernel=writes_behind;arch=x86-64;teams=1;threads=1>,verify' -S %s | FileCheck %s --check-prefix=BEHIND
; RUN: %opt -load-pass-plugin %passes -passes='offload-specialize-launch<descriptor=kernel=reads_volatile;arch=x86-64;teams=1;threads=1>,verify' -S %s | FileCheck %s --check-prefix=VOLATILE
; RUN: %opt -load-pass-plugin %passes -passes='offload-specialize-launch<descriptor=kernel=allocates;arch=x86-64;teams=1;threads=1>,verify' -S %s | FileCheck %s --check-prefix=ALLOCATES
; RUN: %opt -load-pass-plugin %passes -passes='offload-specialize-launch<descriptor=kernel=calls;arch=x86-64;teams=1;threads=1>,verify' -S %s | FileCheck %s --check-prefix=CALLS
; RUN: %opt -load-pass-plugin %passes -passes='offload-specialize-launch<descriptor=kernel=begins_two;arch=x86-64;teams=1;threads=1>,verify' -S %s | FileCheck %s --check-prefix=TWICE
; RUN: %opt -load-pass-plugin %passes -passes='offload-specialize-launch<descriptor=kernel=branches;arch=x86-64;teams=1;threads=1>,verify' -S %s | FileCheck %s --check-prefix=BRANCHES
; RUN: %opt -load-pass-plugin %passes -passes='offload-specialize-launch<descriptor=kernel=not_offered;arch=x86-64;teams=1;threads=1>,verify' -S %s | FileCheck %s --check-prefix=NOT-OFFERED

target triple = "x86_64-pc-linux-gnu"

@location = external constant i8

declare void @__kmpc_fork_teams(ptr, i32, ptr, ...)
declare void @__kmpc_push_num_teams(ptr, i32, i32, i32)
declare i32 @__kmpc_global_thread_num(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare ptr @malloc(i64) memory(inaccessiblemem: readwrite)
declare void @unknown()

define internal void @body(ptr %thread, ptr %team, ptr %x, i64 %n) #0 {
  store i64 %n, ptr %x
  ret void
}

; What the kernel reads, and what it keeps in its own variables, may be read and kept again.
; ALL-LABEL: define void @all(
; ALL: call void @body.begin(ptr @location, ptr %x, i64 %{{[a-z]+}}, ptr %x, i64 %n)
; ALL-NEXT: ret void
; ALL: declare void @all.ahead_of_time(ptr, i64)
; ALL-LABEL: define internal void @body.begin(
; ALL-SAME: ) [[ATTRIBUTES:#[0-9]+]] {
; ALL: formed:
; ALL-NEXT: call void @all.ahead_of_time(ptr %3, i64 %4)
; ALL-NEXT: ret void
; ALL: attributes [[ATTRIBUTES]] = { "target-cpu"="x86-64" }
define void @all(ptr %x, i64 %n) "offloom-ahead-of-time"="all.ahead_of_time" {
  %own = alloca i64
  call void @llvm.memcpy.p0.p0.i64(ptr %own, ptr %x, i64 8, i1 false)
  %read = load i64, ptr %own
  %sum = add i64 %read, %n
  store i64 %sum, ptr %own
  %kept = load i64, ptr %own
  call void (ptr, i32, ptr, ...) @__kmpc_fork_teams(ptr @location, i32 2, ptr @body, ptr %x, i64 %kept)
  ret void
}

; Nothing was said of teams when the code starts over.
; ASKS-LABEL: define void @asks(
; ASKS-NOT: @__kmpc_push_num_teams
; ASKS: call void @body.begin(
; ASKS-LABEL: define internal void @body.begin(
; ASKS: formed:
; ASKS-NEXT: call void @asks.ahead_of_time(
; ASKS-NEXT: ret void
define void @asks(ptr %x, i64 %n) "offloom-ahead-of-time"="asks.ahead_of_time" {
  %number = call i32 @__kmpc_global_thread_num(ptr @location)
  call void @__kmpc_push_num_teams(ptr @location, i32 %number, i32 1, i32 0)
  call void (ptr, i32, ptr, ...) @__kmpc_fork_teams(ptr @location, i32 2, ptr @body, ptr %x, i64 %n)
  ret void
}

; Half a form would be of no use.
; TWO-LABEL: define void @asks_for_two(
; TWO: call void @__kmpc_push_num_teams(
; TWO: @__kmpc_fork_teams(
; TWO-NOT: @body.begin
define void @asks_for_two(ptr %x, i64 %n) "offloom-ahead-of-time"="asks_for_two.ahead_of_time" {
  call void @__kmpc_push_num_teams(ptr @location, i32 0, i32 2, i32 0)
  call void (ptr, i32, ptr, ...) @__kmpc_fork_teams(ptr @location, i32 2, ptr @body, ptr %x, i64 %n)
  ret void
}

; SOME-LABEL: define internal void @body.begin(
; SOME: formed:
; SOME-NEXT: call void @__kmpc_push_num_teams(
; SOME-NEXT: @__kmpc_fork_teams(
; SOME-NOT: @asks_for_some.ahead_of_time
define void @asks_for_some(ptr %x, i64 %n) "offloom-ahead-of-time"="asks_for_some.ahead_of_time" {
  %teams = trunc i64 %n to i32
  call void @__kmpc_push_num_teams(ptr @location, i32 0, i32 %teams, i32 0)
  call void (ptr, i32, ptr, ...) @__kmpc_fork_teams(ptr @location, i32 2, ptr @body, ptr %x, i64 %n)
  ret void
}

; BEFORE-LABEL: define internal void @body.begin(
; BEFORE: formed:
; BEFORE-NEXT: @__kmpc_fork_teams(
; BEFORE-NOT: @writes_before.ahead_of_time
define void @writes_before(ptr %x, i64 %n) "offloom-ahead-of-time"="writes_before.ahead_of_time" {
  store i64 1, ptr %x
  call void (ptr, i32, ptr, ...) @__kmpc_fork_teams(ptr @location, i32 2, ptr @body, ptr %x, i64 %n)
  ret void
}

; BEHIND-LABEL: define internal void @body.begin(
; BEHIND: formed:
; BEHIND-NEXT: @__kmpc_fork_teams(
; BEHIND-NOT: @writes_behind.ahead_of_time
define void @writes_behind(ptr %x, i64 %n) "offloom-ahead-of-time"="writes_behind.ahead_of_time" {
  call void (ptr, i32, ptr, ...) @__kmpc_fork_teams(ptr @location, i32 2, ptr @body, ptr %x, i64 %n)
  %count = atomicrmw add ptr %x, i64 1 monotonic
  ret void
}

; VOLATILE-LABEL: define internal void @body.begin(
; VOLATILE: formed:
; VOLATILE-NEXT: @__kmpc_fork_teams(
; VOLATILE-NOT: @reads_volatile.ahead_of_time
define void @reads_volatile(ptr %x, i64 %n) "offloom-ahead-of-time"="reads_volatile.ahead_of_time" {
  %read = load volatile i64, ptr %x
  call void (ptr, i32, ptr, ...) @__kmpc_fork_teams(ptr @location, i32 2, ptr @body, ptr %x, i64 %n)
  ret void
}

; ALLOCATES-LABEL: define internal void @body.begin(
; ALLOCATES: formed:
; ALLOCATES-NEXT: @__kmpc_fork_teams(
; ALLOCATES-NOT: @allocates.ahead_of_time
define void @allocates(ptr %x, i64 %n) "offloom-ahead-of-time"="allocates.ahead_of_time" {
  %memory = call ptr @malloc(i64 %n)
  call void (ptr, i32, ptr, ...) @__kmpc_fork_teams(ptr @location, i32 2, ptr @body, ptr %x, i64 %n)
  ret void
}

; CALLS-LABEL: define internal void @body.begin(
; CALLS: formed:
; CALLS-NEXT: @__kmpc_fork_teams(
; CALLS-NOT: @calls.ahead_of_time
define void @calls(ptr %x, i64 %n) "offloom-ahead-of-time"="calls.ahead_of_time" {
  call void @unknown()
  call void (ptr, i32, ptr, ...) @__kmpc_fork_teams(ptr @location, i32 2, ptr @body, ptr %x, i64 %n)
  ret void
}

; TWICE-LABEL: define internal void @body.begin(
; TWICE: formed:
; TWICE-NEXT: @__kmpc_fork_teams(
; TWICE-NOT: @begins_two.ahead_of_time
define void @begins_two(ptr %x, i64 %n) "offloom-ahead-of-time"="begins_two.ahead_of_time" {
  call void (ptr, i32, ptr, ...) @__kmpc_fork_teams(ptr @location, i32 2, ptr @body, ptr %x, i64 %n)
  call void (ptr, i32, ptr, ...) @__kmpc_fork_teams(ptr @location, i32 2, ptr @body, ptr %x, i64 1)
  ret void
}

; BRANCHES-LABEL: define internal void @body.begin(
; BRANCHES: formed:
; BRANCHES-NEXT: @__kmpc_fork_teams(
; BRANCHES-NOT: @branches.ahead_of_time
define void @branches(ptr %x, i64 %n) "offloom-ahead-of-time"="branches.ahead_of_time" {
  %any = icmp sgt i64 %n, 0
  br i1 %any, label %some, label %none
some:
  call void (ptr, i32, ptr, ...) @__kmpc_fork_teams(ptr @location, i32 2, ptr @body, ptr %x, i64 %n)
  br label %none
none:
  ret void
}

; NOT-OFFERED-LABEL: define internal void @body.begin(
; NOT-OFFERED: formed:
; NOT-OFFERED-NEXT: @__kmpc_fork_teams(
; NOT-OFFERED-NOT: @not_offered.ahead_of_time
define void @not_offered(ptr %x, i64 %n) {
  call void (ptr, i32, ptr, ...) @__kmpc_fork_teams(ptr @location, i32 2, ptr @body, ptr %x, i64 %n)
  ret void
}

attributes #0 = { nounwind "target-cpu"="x86-64" }
