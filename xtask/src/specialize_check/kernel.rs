//! Random kernels: a function of C with one target region.
//!
//! What is computed does not depend on the order of threads, and on their number only where a kernel asks for
//! it: floating-point sums stay within an iteration, sums over threads are of unsigned integers. Only to
//! integers of 8 and 16 bits is anything converted that they do not hold, and in some kernels only: a program
//! that does so in vectors is for one processor.

use std::fmt::Write as _;

use super::BATCH;
use super::launch::{Box, Pointer, SCALAR_TYPES, Scalar};
use super::random::Random;

/// Elements of each array; a power of two.
pub(crate) const ELEMENTS: u64 = 64;

/// Types of the numbers of iterations.
const LOOP_TYPES: [&str; 5] = ["int", "int", "long", "unsigned", "short"];
const SIGNED_LOOP_TYPES: [&str; 3] = ["int", "long", "short"];

/// One kernel and what it is launched with.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub(crate) seed: u64,
    pub(crate) scalars: Vec<Scalar>,
    pub(crate) pointers: Vec<Pointer>,
    pub(crate) object: Box,
    /// Whether the descriptor asks for the form for one team of one thread.
    pub(crate) one_thread: bool,
    /// Its function in C, and what this needs.
    pub(crate) source: String,
}

impl Kernel {
    /// The kernel of a seed.
    pub(crate) fn of(seed: u64, narrows: Narrows) -> Self {
        let mut random = Random::new(seed);
        let mut scalars = Vec::new();
        for index in 0..random.below(6) + 2 {
            let scalar_type = random.pick(&SCALAR_TYPES);
            scalars.push(Scalar::new(&mut random, format!("s{index}"), scalar_type));
        }
        let (n, m) = (random.pick(&[1, 7, 32, 64]), random.below(9));
        scalars.push(Scalar::of_value(&mut random, "n", n));
        scalars.push(Scalar::of_value(&mut random, "m", m));
        let teams = random.below(3) + 1;
        let threads = random.below(3) + 1;
        scalars.push(Scalar::of_value(&mut random, "teams", teams));
        scalars.push(Scalar::of_value(&mut random, "threads", threads));
        let pointers = ["in", "fin", "out", "fout"].map(|name| Pointer::new(&mut random, name));
        let object = Box::new(&mut random);
        let one_thread = random.chance(60);
        let source = Writer {
            random: &mut random,
            scalars: &scalars,
            construct_clauses: clauses(&object),
            narrows: narrows.is_for(seed),
        }
        .function(seed);
        Self {
            seed,
            scalars,
            pointers: pointers.to_vec(),
            object,
            one_thread,
            source,
        }
    }

    /// The name of its function.
    pub(crate) fn name(&self) -> String {
        format!("case_{}", self.seed)
    }

    /// The statements that launch it once and print what it left.
    pub(crate) fn launch(&self) -> String {
        self.launch_with(&self.scalars)
    }

    /// As [`Kernel::launch`], with the arguments of a launch before.
    pub(crate) fn earlier_launch(&self) -> String {
        let scalars = self.scalars.iter().enumerate();
        let earlier = scalars.map(|(index, scalar)| scalar.of_earlier_launch(self.seed, index));
        self.launch_with(&earlier.collect::<Vec<_>>())
    }

    fn launch_with(&self, scalars: &[Scalar]) -> String {
        let offsets = self.pointers.iter().map(|pointer| pointer.offset.to_string());
        let values = scalars.iter().map(Scalar::in_c);
        format!(
            "  begin({}ul, {});\n  {}(at(0), at(1), at(2), at(3), {}, {});\n  end({}ul);\n",
            self.seed,
            offsets.collect::<Vec<_>>().join(", "),
            self.name(),
            self.object.in_c(),
            values.collect::<Vec<_>>().join(", "),
            self.seed
        )
    }
}

/// Which kernels convert numbers to integers of 8 and 16 bits that do not hold them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Narrows {
    /// Those of every other batch.
    InEveryOtherBatch,
    /// None.
    Never,
}

impl Narrows {
    fn is_for(self, seed: u64) -> bool {
        self == Self::InEveryOtherBatch && seed.wrapping_sub(1) / BATCH % 2 == 1
    }
}

/// What every region gets: device pointers as they are, and the object.
fn clauses(object: &Box) -> &'static str {
    if object.by_value {
        "is_device_ptr(in, fin, out, fout) firstprivate(box)"
    } else {
        "is_device_ptr(in, fin, out, fout) map(to : box)"
    }
}

/// Writes one kernel.
pub(super) struct Writer<'a> {
    pub(super) random: &'a mut Random,
    scalars: &'a [Scalar],
    pub(super) construct_clauses: &'static str,
    /// Whether numbers become small integers, fitting or not.
    narrows: bool,
}

impl Writer<'_> {
    fn function(&mut self, seed: u64) -> String {
        let parameters = self.parameters();
        let (helper, region) = match self.random.below(18) {
            0 => (String::new(), self.combined("parallel for")),
            1 => (String::new(), self.combined("parallel for simd")),
            2 => (String::new(), self.captured()),
            3 => (String::new(), self.nested_loops()),
            4 => (String::new(), self.reduction()),
            5 => (String::new(), self.serial()),
            6 if self.random.chance(50) => (String::new(), self.nested_parallel()),
            6 => (String::new(), self.inner_regions()),
            7 => self.helper(seed),
            8 => (String::new(), self.simd_reduction()),
            9 => (String::new(), self.collapsed()),
            10 => (String::new(), self.divided()),
            11 => (String::new(), self.tasks()),
            12 => (String::new(), self.conditional_regions()),
            13 => self.recursive(seed),
            14 => (String::new(), self.shared_work()),
            15 => (String::new(), self.rows()),
            16 => (String::new(), self.team_memory()),
            _ if self.random.chance(50) => (String::new(), self.overwriting()),
            _ => (String::new(), self.straight()),
        };
        format!("{helper}static void case_{seed}({parameters}) {{\n{region}}}\n\n")
    }

    fn parameters(&self) -> String {
        let scalars = self
            .scalars
            .iter()
            .map(|scalar| format!("{} {}", scalar.scalar_type.name, scalar.name));
        format!(
            "u64 *in, double *fin, u64 *out, double *fout, struct box box, {}",
            scalars.collect::<Vec<_>>().join(", ")
        )
    }

    /// `target teams distribute parallel for`, also `simd`.
    fn combined(&mut self, kind: &str) -> String {
        let clauses = self.construct_clauses;
        let body = self.iteration();
        // With what was there before, an iteration shows that is run twice.
        let (before, real_before) = self
            .random
            .pick(&[("", ""), ("out[i] * 3 + ", "fout[i] * 0.5 + ")]);
        format!(
            "#pragma omp target teams distribute {kind} num_teams(teams) thread_limit(threads) {clauses}\n  for (int i = 0; i < n; i++) \
             {{\n{body}    out[i] = {before}a;\n    fout[i] = {real_before}b;\n  }}\n"
        )
    }

    /// Variables captured by reference, some of which change before, between or in the regions.
    fn captured(&mut self) -> String {
        let clauses = self.construct_clauses;
        let (first, second) = (self.iteration(), self.iteration());
        let changed = self.changeable_scalar();
        let before = if self.random.chance(50) {
            format!("    {changed} += 3;\n")
        } else {
            String::new()
        };
        let between = if self.random.chance(50) {
            format!("    local ^= 5;\n    {changed} -= 1;\n")
        } else {
            String::new()
        };
        let private = self.changeable_scalar();
        let local = self.integer(2, false);
        format!(
            "#pragma omp target {clauses}\n  {{\n{before}    u64 local = {local};\n#pragma omp parallel for num_threads(threads)\n    \
             for (int i = 0; i < n; i++) {{\n{first}    out[i] = a + local;\n    fout[i] = b;\n    }}\n{between}#pragma omp parallel \
             num_threads(threads) firstprivate({private})\n    {{\n    {private} += 2;\n#pragma omp for\n    for (int i = 0; i < n; i++) \
             {{\n{second}    out[i] ^= a * local;\n    fout[i] += b + real({private});\n    }}\n    }}\n  }}\n"
        )
    }

    fn nested_loops(&mut self) -> String {
        let clauses = self.construct_clauses;
        let body = self.iteration();
        format!(
            "#pragma omp target teams distribute num_teams(teams) thread_limit(threads) {clauses}\n  for (int k = 0; k < 8; k++) {{\n    \
             u64 row = (u64)k * m;\n#pragma omp parallel for num_threads(threads)\n    for (int l = 0; l < 8; l++) {{\n    int i = k * 8 \
             + l;\n{body}    out[i] = a + row;\n    fout[i] = b;\n    }}\n  }}\n"
        )
    }

    fn reduction(&mut self) -> String {
        let clauses = self.construct_clauses;
        let body = self.iteration();
        let construct = self
            .random
            .pick(&["parallel for", "teams distribute parallel for num_teams(teams)"]);
        format!(
            "  u64 sum = 7;\n#pragma omp target {construct} reduction(+ : sum) map(tofrom : sum) {clauses}\n  for (int i = 0; i < n; i++) \
             {{\n{body}    sum += a;\n    fout[i] = b;\n  }}\n  result += sum;\n"
        )
    }

    /// Sums whose order the vectoriser chooses, whose lengths and strides are arguments.
    fn simd_reduction(&mut self) -> String {
        let clauses = self.construct_clauses;
        let (p, q) = (self.double_leaf(false), self.double_leaf(false));
        let stride = self.random.pick(&["1", "m", "(m & 1) + 1"]);
        let width = self.random.pick(&["", " simdlen(4)"]);
        format!(
            "#pragma omp target teams distribute parallel for num_teams(teams) thread_limit(threads) {clauses}\n  for (int i = 0; i < 8; \
             i++) {{\n    double sum = {p};\n#pragma omp simd reduction(+ : sum){width}\n    for (int j = 0; j < n / 8; j++)\n      sum += \
             fin[j * ({stride}) + i] * {q};\n    double product = 1;\n#pragma omp simd reduction(* : product)\n    for (int j = 0; \
             j < n; j++)\n      product *= fin[j] * 0.3 + {q};\n    fout[i] = sum;\n    fout[i + 8] = product;\n  }}\n"
        )
    }

    fn serial(&mut self) -> String {
        let clauses = self.construct_clauses;
        let mut body = self.iteration();
        if self.random.chance(50) {
            body.push_str("    box.count ^= 3;\n    box.real += 1;\n");
        }
        let changed = self.changeable_scalar();
        format!(
            "#pragma omp target {clauses}\n  for (int i = 0; i < n; i++) {{\n{body}    out[i] = a;\n    fout[i] = b;\n    {changed} = \
             {changed} + 1;\n  }}\n"
        )
    }

    fn nested_parallel(&mut self) -> String {
        let clauses = self.construct_clauses;
        let value = self.integer(3, false);
        format!(
            "#pragma omp target {clauses}\n#pragma omp parallel num_threads(threads)\n#pragma omp for\n  for (int i = 0; i < 8; i++) {{\n    \
             int j = i;\n#pragma omp parallel num_threads(2)\n#pragma omp for\n    for (int k = 0; k < 8; k++) {{\n      u64 value = \
             {value} + k;\n#pragma omp atomic\n      out[j] += value;\n    }}\n  }}\n"
        )
    }

    /// Iterations, more than threads perhaps, that start regions or make tasks, after which a device runtime
    /// may have each thread run all that follow. So they only store.
    fn inner_regions(&mut self) -> String {
        let clauses = self.construct_clauses;
        let (p, q) = (self.integer(2, false), self.double_leaf(false));
        let inner = self.random.pick(&[
            "#pragma omp parallel for\n    for (int k = 0; k < 8; k++)\n      rest[k] = p + k * i;\n",
            "#pragma omp parallel reduction(max : most)\n    for (int k = 0; k < m; k++)\n      most = p + k > most ? p + k : most;\n",
            "#pragma omp parallel for reduction(+ : most)\n    for (int k = 0; k < 8; k++)\n      most += p + k;\n",
            "#pragma omp task shared(rest, most) firstprivate(i)\n    { rest[i & 7] = p; most = p ^ i; }\n#pragma omp taskwait\n",
            "    omp_set_max_active_levels(1);\n    rest[1] = p;\n",
        ]);
        let teams = self.random.pick(&["1", "teams"]);
        format!(
            "#pragma omp target teams distribute parallel for num_teams({teams}) thread_limit(threads) {clauses}\n  for (int i = 0; i < n; \
             i++) {{\n    u64 p = {p}, most = 5, rest[8] = {{0}};\n    double q = {q};\n{inner}    u64 sum = most;\n    for (int k = 0; k < \
             8; k++)\n      sum += rest[k];\n    out[i] = sum;\n    fout[i] = q * i;\n  }}\n"
        )
    }

    /// A function with a region of its own, called twice, perhaps with the same values.
    fn helper(&mut self, seed: u64) -> (String, String) {
        let clauses = self.construct_clauses;
        let function = format!(
            "static __attribute__((noinline)) void helper_{seed}(u64 *out, int from, int n, u64 p, double q) {{\n#pragma omp parallel \
             for\n  for (int i = 0; i < n; i++)\n    out[from + i] = p * i + (p >> 3) + (q > 1.5 ? p : 7);\n}}\n"
        );
        let mut calls = String::new();
        for from in [0, 32] {
            let (p, q) = (self.leaf(false), self.double_leaf(false));
            let n = self.random.pick(&["n / 2", "32", "m"]);
            let _ = writeln!(calls, "    helper_{seed}(out, {from}, {n}, {p}, {q});");
        }
        (
            function,
            format!("#pragma omp target {clauses}\n  {{\n{calls}  }}\n"),
        )
    }

    /// Loops that the vectoriser takes.
    fn straight(&mut self) -> String {
        let clauses = self.construct_clauses;
        let (p, q) = (self.leaf(false), self.double_leaf(false));
        let element = if self.narrows {
            self.narrowed("fin[i]")
        } else {
            "in[i]".to_owned()
        };
        format!(
            "#pragma omp target {clauses}\n  {{\n    for (int i = 0; i < 64; i++)\n      fout[i] = fin[i] * {q};\n    for (int i = 0; i < \
             64; i++)\n      out[i] = {element} + {p};\n  }}\n"
        )
    }

    /// Loops of `collapse`, whose iterations add to elements.
    fn collapsed(&mut self) -> String {
        let loops = self.random.below(3) + 2;
        let (construct, schedule) = self.shared_loop();
        let mut text = String::new();
        for number in 0..loops {
            let kind = self.random.pick(&LOOP_TYPES);
            let from = self.random.pick(&["0", "0", "1", "m"]);
            let to = if number < 2 {
                self.random.pick(&["n", "n / 2 + 1", "m + 1", "12", "3", "m * 2"])
            } else {
                self.random.pick(&["m + 1", "2", "3"])
            };
            let step = self.random.pick(&["1", "1", "1", "2"]);
            let _ = writeln!(
                text,
                "  for ({kind} i{number} = {from}; i{number} < ({kind})({to}); i{number} += {step})"
            );
        }
        let numbers: Vec<_> = (0..loops).map(|number| format!("(u64)i{number}")).collect();
        let added = self.added(&numbers);
        let clauses = self.construct_clauses;
        format!("#pragma omp target {construct} collapse({loops}){schedule} {clauses}\n{text}{added}")
    }

    /// A loop that divides its number: one that threads share, or one in each iteration of such a loop, with
    /// a value that goes from iteration to iteration.
    fn divided(&mut self) -> String {
        let from = self.random.pick(&["0", "1", "m", "40", "-5", "-20"]);
        // Unsigned numbers would go round.
        let kind = if from.starts_with('-') {
            self.random.pick(&SIGNED_LOOP_TYPES)
        } else {
            self.random.pick(&LOOP_TYPES)
        };
        let (divisor, second) = (self.divisor(), self.divisor());
        let length = self.random.pick(&["n", "n * 8", "n * m", "200"]);
        let step = self.random.pick(&["1", "1", "1", "3"]);
        let divided = self.random.pick(&["row", "column", "k"]);
        let quotients = format!(
            "    {kind} row = k / {divisor}, column = k % {divisor}, part = {divided} / {second}, rest = {divided} % {second};\n"
        );
        let header = format!("  for ({kind} k = {from}; k < ({kind})({from} + {length}); k += {step})");
        let numbers = ["row", "column", "part", "rest"].map(|number| format!("(u64){number}"));
        let (construct, schedule) = self.shared_loop();
        let clauses = self.construct_clauses;
        if self.random.chance(50) {
            let added = self.added(&numbers);
            return format!(
                "#pragma omp target {construct}{schedule} {clauses}\n{header} {{\n{quotients}{added}  }}\n"
            );
        }
        let (p, q) = (self.leaf(false), self.leaf(false));
        let seldom = self
            .random
            .pick(&["column == 0", "rest == 1", "(a & 3) == 0", "1"]);
        let [row, column, part, rest] = numbers;
        format!(
            "#pragma omp target {construct}{schedule} {clauses}\n  for (int j = 0; j < 8; j++) {{\n  u64 a = j;\n{header} {{\n{quotients}    \
             a = a * 3 + {row} * {p} + {part};\n    if ({seldom})\n      a ^= {column} * 5 + {rest} + {q};\n  }}\n  out[j] = a;\n  }}\n"
        )
    }

    /// A construct whose loop threads share, and the clauses that say how.
    fn shared_loop(&mut self) -> (&'static str, &'static str) {
        let construct = self.random.pick(&[
            "parallel for num_threads(threads)",
            "teams distribute parallel for num_teams(teams) thread_limit(threads)",
        ]);
        let schedule = self.random.pick(&[
            "",
            "",
            " schedule(static)",
            " schedule(static, 3)",
            " schedule(dynamic, 2)",
        ]);
        (construct, schedule)
    }

    /// What a number is divided by.
    fn divisor(&mut self) -> &'static str {
        self.random.pick(&["n", "n", "(m + 1)", "8", "5", "(n / 2 + 1)"])
    }

    /// Statements that add a value to an element, both made of these numbers.
    fn added(&mut self, numbers: &[String]) -> String {
        let place = numbers.iter().zip([7, 3, 11, 5]);
        let place: Vec<_> = place
            .map(|(number, factor)| format!("{number} * {factor}"))
            .collect();
        let value: Vec<_> = numbers
            .iter()
            .map(|number| format!("({number} ^ {})", self.leaf(false)))
            .collect();
        format!(
            "  {{\n    u64 value = {};\n#pragma omp atomic\n    out[({}) & 63] += value;\n  }}\n",
            value.join(" * 3 + "),
            place.join(" + ")
        )
    }

    /// Statements that compute `a` and `b` for one `i`.
    fn iteration(&mut self) -> String {
        let mut text = format!(
            "    u64 a = {};\n    double b = {};\n",
            self.integer(2, false),
            self.double(2, false)
        );
        if self.random.chance(30) {
            text.push_str("    a ^= (u64)omp_get_num_threads() << 20 ^ (u64)omp_get_num_teams() << 30;\n");
        }
        for _ in 0..self.random.below(3) + 1 {
            match self.random.below(5) {
                0 | 1 => {
                    let (x, y) = (self.integer(2, true), self.double(2, true));
                    let bound = self.random.pick(&["m", "m", "(int)box.count"]);
                    let end = self
                        .random
                        .pick(&["", "", "      if ((a & 7) == 3)\n        break;\n"]);
                    let _ = writeln!(
                        text,
                        "    for (int j = 0; j < {bound}; j++) {{\n      a = a * 3 + ({x});\n      b = b * 0.5 + ({y});\n{end}    }}"
                    );
                }
                2 => {
                    let condition = self.integer(1, false);
                    let (x, y) = (self.integer(2, false), self.double(2, false));
                    let _ = writeln!(
                        text,
                        "    if (({condition}) & 1)\n      a ^= {x};\n    else\n      b = {y};"
                    );
                }
                3 => {
                    // The loop of iterations has another end then.
                    let value = self.integer(1, false);
                    let _ = writeln!(
                        text,
                        "    if (({value}) == 0x2545f4914f6cdd1dul)\n      __builtin_trap();"
                    );
                }
                _ => {
                    let (value, x, y) = (self.leaf(false), self.integer(2, false), self.double(2, false));
                    let _ = writeln!(
                        text,
                        "    switch (({value}) % 5) {{\n    case 0: a += 17; break;\n    case 1: a = {x}; break;\n    case 2: b = {y}; \
                         break;\n    default: a /= 3;\n    }}"
                    );
                }
            }
        }
        text
    }

    fn any_scalar(&mut self) -> String {
        let index = self.random.below(self.scalars.len() as u64 - 4) as usize;
        self.scalars[index].name.clone()
    }

    fn changeable_scalar(&mut self) -> String {
        let name = self.any_scalar();
        let is_changeable = |scalar: &&Scalar| scalar.name == name && scalar.can_be_changed();
        match self.scalars.iter().find(is_changeable) {
            Some(_) => name,
            None => "m".to_owned(),
        }
    }

    /// An unsigned value. `in_loop`: `j` is there.
    pub(super) fn integer(&mut self, depth: u32, in_loop: bool) -> String {
        if depth == 0 {
            return self.leaf(in_loop);
        }
        if self.narrows && self.random.chance(20) {
            let number = self.double(1, in_loop);
            return self.narrowed(&number);
        }
        let (x, y) = (self.integer(depth - 1, in_loop), self.integer(depth - 1, in_loop));
        match self.random.below(9) {
            0 => format!("({x} + {y})"),
            1 => format!("({x} - {y})"),
            2 => format!("({x} * {y})"),
            3 => format!("({x} / ({y} | 1))"),
            4 => format!("({x} % ({y} | 1))"),
            5 => format!("({x} << ({y} & 63))"),
            6 => format!("({x} >> ({y} & 63))"),
            7 => format!("({x} ^ {y})"),
            _ => format!("({x} < {y} ? {x} : {y})"),
        }
    }

    /// A number as a small integer, and that as an unsigned value. A constant of the source that does not fit
    /// is none of it, nor an arm of a choice: the compile ahead of time makes any number of it, and another
    /// one each time.
    fn narrowed(&mut self, number: &str) -> String {
        const VARIABLE: [&str; 4] = ["real(", "fin[", "box.", ")j"];
        let may_be_folded =
            number.contains('?') || !VARIABLE.iter().any(|variable| number.contains(variable));
        let number = if may_be_folded { "fin[0]" } else { number };
        let small = self
            .random
            .pick(&["unsigned char", "signed char", "unsigned short", "short"]);
        let of = self.random.pick(&["", "(float)"]);
        let factor = self.random.pick(&["1", "300", "-70000", "1e9"]);
        format!("(u64)({small})({of}({number} * {factor}))")
    }

    pub(super) fn leaf(&mut self, in_loop: bool) -> String {
        match self.random.below(7) {
            6 => self.random.pick(&["(u64)box.count", "box.word"]).to_owned(),
            0 => self.random.below(100).to_string() + "ul",
            1 if in_loop => "(u64)j".to_owned(),
            2 => format!("in[{} & 63]", if in_loop { "j" } else { "n" }),
            _ => format!("whole({})", self.any_scalar()),
        }
    }

    fn double(&mut self, depth: u32, in_loop: bool) -> String {
        if depth == 0 {
            return self.double_leaf(in_loop);
        }
        let (x, y) = (self.double(depth - 1, in_loop), self.double(depth - 1, in_loop));
        match self.random.below(11) {
            0 => format!("({x} + {y})"),
            1 => format!("({x} - {y})"),
            2 => format!("({x} * {y})"),
            3 => format!("({x} / ({y} * {y} + 1.0))"),
            4 => format!("(-{x})"),
            5 => format!("pow({x}, {y})"),
            6 => format!("fmin({x}, {y})"),
            7 => format!("sqrt({x} * {x})"),
            8 => format!("(double)sinhf((float){x})"),
            9 => format!("({x} * {y} + {x})"),
            _ => format!("({x} < {y} ? {x} : {y})"),
        }
    }

    pub(super) fn double_leaf(&mut self, in_loop: bool) -> String {
        match self.random.below(7) {
            6 => self.random.pick(&["(double)box.scale", "box.real"]).to_owned(),
            0 => format!("{}.25", self.random.below(9)),
            1 if in_loop => "(double)j".to_owned(),
            2 => format!("fin[{} & 63]", if in_loop { "j" } else { "m" }),
            _ => format!("real({})", self.any_scalar()),
        }
    }
}
