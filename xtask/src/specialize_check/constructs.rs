//! Random kernels whose iterations do more than compute: tasks in tasks, regions that are one thread's by a
//! condition, recursion, what one thread does for all, rows of memory that a loop reads and writes.

use std::fmt::Write as _;

use super::kernel::Writer;

impl Writer<'_> {
    /// Tasks that make tasks, in a region or in none.
    pub(super) fn tasks(&mut self) -> String {
        let clauses = self.construct_clauses;
        let (p, q) = (self.integer(2, false), self.leaf(false));
        let condition = self.condition();
        let inner = self.random.pick(&["", " if(choice)", " final(choice)"]);
        let made = self.random.pick(&[
            "        second = p * 3 ^ i;\n",
            "        {\n#pragma omp parallel for reduction(+ : second)\n          for (int k = 0; k < 8; k++)\n            second += p + \
             k * i;\n        }\n",
            "        {\n          u64 third = p >> 2;\n#pragma omp task shared(third) firstprivate(p)\n          third ^= p;\n#pragma omp \
             taskwait\n          second = third + i;\n        }\n",
        ]);
        let construct = self.random.pick(&[
            "parallel for num_threads(threads)",
            "teams distribute num_teams(teams) thread_limit(threads)",
            "teams distribute parallel for num_teams(1) thread_limit(threads)",
        ]);
        let sum = self.random.pick(&["", " + omp_in_final()"]);
        format!(
            "#pragma omp target {construct} {clauses}\n  for (int i = 0; i < 8; i++) {{\n    u64 p = {p}, q = {q}, first = 1, second = \
             2;\n    int choice = {condition};\n#pragma omp task shared(first, second) firstprivate(i, p, choice)\n    {{\n      first = p + \
             i{sum};\n#pragma omp task shared(second) firstprivate(i, p){inner}\n{made}#pragma omp taskwait\n      first += second;\n    \
             }}\n#pragma omp taskwait\n    out[i] = first ^ second * q;\n  }}\n"
        )
    }

    /// Regions whose threads are one where a condition is false, one after another.
    pub(super) fn conditional_regions(&mut self) -> String {
        let clauses = self.construct_clauses;
        let mut text = String::new();
        for from in [0, 16, 32] {
            let condition = self.condition();
            let (p, q) = (self.leaf(false), self.double_leaf(false));
            let between = self.random.pick(&["", "    total += 3;\n", "    total ^= m;\n"]);
            let threads = self
                .random
                .pick(&["num_threads(threads)", "num_threads(m + 1)", ""]);
            let _ = write!(
                text,
                "#pragma omp parallel for if({condition}) {threads} reduction(+ : total)\n    for (int i = 0; i < 16; i++) {{\n      \
                 total += {p} + i;\n      out[i + {from}] ^= {p} * i;\n      fout[i + {from}] = {q} * i;\n    }}\n{between}"
            );
        }
        format!(
            "  u64 total = 7;\n#pragma omp target map(tofrom : total) thread_limit(threads) {clauses}\n  {{\n{text}  }}\n  result += \
             total;\n"
        )
    }

    /// A function with a region that calls itself, from a region or from the thread that starts regions. It
    /// only stores, for the reason that [`Writer::inner_regions`] says.
    pub(super) fn recursive(&mut self, seed: u64) -> (String, String) {
        let clauses = self.construct_clauses;
        let bound = self.random.pick(&["5", "3", "(int)(p & 3)"]);
        let next = self.random.pick(&["p ^ depth", "p * 3", "p"]);
        let function = format!(
            "static __attribute__((noinline)) void walk_{seed}(u64 *out, int depth, int from, u64 p) {{\n  if (depth <= 0)\n    \
             return;\n#pragma omp parallel for\n  for (int i = 0; i < {bound}; i++)\n    out[from + i] = p * i + depth;\n  \
             walk_{seed}(out, depth - 1, from + 5, {next});\n}}\n"
        );
        let (p, q) = (self.integer(2, false), self.leaf(false));
        let depth = self.random.pick(&["m & 3", "2", "1", "(int)box.count & 3"]);
        let region = if self.random.chance(50) {
            format!(
                "#pragma omp target {clauses}\n  {{\n    walk_{seed}(out, {depth}, 0, {p});\n    walk_{seed}(out, {depth}, 32, {q});\n  \
                 }}\n"
            )
        } else {
            let construct = self.random.pick(&[
                "parallel for num_threads(threads)",
                "teams distribute num_teams(teams) thread_limit(threads)",
            ]);
            format!(
                "#pragma omp target {construct} {clauses}\n  for (int i = 0; i < 4; i++)\n    walk_{seed}(out, {depth}, i * 16, {p} ^ \
                 i);\n"
            )
        };
        (function, region)
    }

    /// A region in which one thread does something for all: loops, sections, `single`, `masked`, sums.
    pub(super) fn shared_work(&mut self) -> String {
        let clauses = self.construct_clauses;
        let mut text = String::new();
        for number in 0..self.random.below(3) + 2 {
            let (p, q) = (self.integer(1, false), self.double_leaf(false));
            let piece = match self.random.below(7) {
                0 => format!(
                    "#pragma omp single\n      {{\n        one += {p};\n        fout[{number}] = {q};\n      }}\n"
                ),
                1 => format!("#pragma omp masked\n      one ^= {p} + {number};\n#pragma omp barrier\n"),
                2 => format!("#pragma omp atomic\n      all += {p};\n#pragma omp barrier\n"),
                3 => format!(
                    "#pragma omp sections\n      {{\n#pragma omp section\n        out[60] += {p};\n#pragma omp section\n        out[61] \
                     ^= {p} + one;\n#pragma omp section\n        fout[62] = {q};\n      }}\n"
                ),
                4 => format!(
                    "#pragma omp for lastprivate(last) schedule(static, 2)\n      for (int i = 0; i < 48; i++) {{\n        last = {p} + \
                     i;\n        out[i] += last ^ one;\n      }}\n"
                ),
                5 => format!(
                    "#pragma omp for reduction(+ : sum) reduction(max : most)\n      for (int i = 0; i < n; i++) {{\n        sum += {p} * \
                     i;\n        most = ({p} ^ i) > most ? ({p} ^ i) : most;\n      }}\n"
                ),
                _ => format!(
                    "#pragma omp for nowait\n      for (int i = 0; i < 32; i++)\n        out[i] ^= {p} + i;\n#pragma omp for\n      for \
                     (int i = 0; i < 32; i++)\n        fout[i + 16] = {q} * i;\n"
                ),
            };
            text.push_str(&piece);
        }
        format!(
            "#pragma omp target {clauses}\n  {{\n    u64 one = 3, all = 1, last = 0, sum = 5, most = 2;\n#pragma omp parallel \
             num_threads(threads)\n    {{\n{text}    }}\n    out[63] = one + (last ^ sum) * 3 + most + all;\n  }}\n"
        )
    }

    /// Rows of memory, one for each iteration, that loops read and write at other places of the same row, or
    /// of none of the others.
    pub(super) fn rows(&mut self) -> String {
        let clauses = self.construct_clauses;
        let mut loops = String::new();
        for _ in 0..self.random.below(3) + 1 {
            let bound = self.random.pick(&["8", "4", "m", "2", "n / 8"]);
            let to = self.place();
            let from = self.place();
            let (p, q) = (self.leaf(true), self.double_leaf(true));
            let source = self.random.pick(&["row", "row", "in", "local"]);
            let fsource = self.random.pick(&["frow", "frow", "fin", "flocal"]);
            let local = self
                .random
                .pick(&["", "      local[(j * 3 + m) & 7] ^= row[j & 7];\n"]);
            let flocal = self
                .random
                .pick(&["", "      flocal[(j + 1) & 7] += frow[(j ^ m) & 7];\n"]);
            let operator = self.random.pick(&["=", "+=", "^="]);
            let foperator = self.random.pick(&["=", "+=", "-="]);
            let _ = write!(
                loops,
                "    for (int j = 0; j < {bound}; j++) {{\n      row[{to}] {operator} {source}[{from}] * 5 + {p};\n      frow[{to}] \
                 {foperator} {fsource}[{from}] * {q};\n{local}{flocal}    }}\n"
            );
        }
        let pair = self.random.pick(&[
            "",
            "    struct pair { double x, y; } whole;\n    memcpy(&whole, frow + 2, sizeof whole);\n    frow[0] += whole.x * \
             whole.y;\n",
            "    memcpy(frow + 4, fin + i, 16);\n",
        ]);
        let construct = self.random.pick(&[
            "parallel for num_threads(threads)",
            "teams distribute parallel for num_teams(teams) thread_limit(threads)",
            "teams distribute num_teams(teams)",
        ]);
        format!(
            "#pragma omp target {construct} {clauses}\n  for (int i = 0; i < 8; i++) {{\n    u64 *row = out + i * 8, local[8];\n    double \
             *frow = fout + i * 8, flocal[8];\n    for (int j = 0; j < 8; j++) {{\n      local[j] = in[(i + j) & 63];\n      flocal[j] = \
             fin[i * 8 + j];\n    }}\n{loops}{pair}    row[m & 7] += local[(m + 1) & 7];\n    frow[(m + i) & 7] -= flocal[m & 7];\n  }}\n"
        )
    }

    /// Memory of a team, that its regions share.
    pub(super) fn team_memory(&mut self) -> String {
        let clauses = self.construct_clauses;
        let (p, q) = (self.leaf(false), self.leaf(false));
        let length = self.random.pick(&["8", "m + 1", "16"]);
        let inner = self.random.pick(&["num_threads(threads)", "", "num_threads(2)"]);
        let used = self.random.pick(&[
            "shared[(k + 1) & 15] * 3",
            "shared[15 - k] ^ scalar",
            "shared[k] + scalar",
        ]);
        format!(
            "#pragma omp target teams num_teams(teams) thread_limit(threads) {clauses}\n  {{\n    u64 shared[16], scalar = {q};\n    int \
             team = omp_get_team_num() & 3;\n    for (int k = 0; k < 16; k++)\n      shared[k] = {p} + k + team;\n#pragma omp parallel for \
             {inner}\n    for (int k = 0; k < {length}; k++)\n      shared[k & 15] ^= {q} + k;\n    scalar += shared[3];\n#pragma omp \
             parallel for {inner}\n    for (int k = 0; k < 16; k++)\n      out[team * 16 + k] = {used};\n  }}\n"
        )
    }

    /// A condition that a launch decides.
    fn condition(&mut self) -> String {
        let value = self.leaf(false);
        match self.random.below(4) {
            0 => "m > 3".to_owned(),
            1 => format!("(({value}) & 1) != 0"),
            2 => "n == 32".to_owned(),
            _ => format!("({value}) < 50"),
        }
    }

    /// A place in a row of eight. `j` is there.
    fn place(&mut self) -> &'static str {
        self.random.pick(&[
            "j & 7",
            "j & 7",
            "(j + 1) & 7",
            "7 - (j & 7)",
            "(j + m) & 7",
            "(j * 3) & 7",
            "(j * 2 + 1) & 7",
        ])
    }

    /// A loop that sums what it then overwrites, in the order of the iterations.
    pub(super) fn overwriting(&mut self) -> String {
        let clauses = self.construct_clauses;
        let (p, q) = (self.leaf(false), self.double_leaf(false));
        let (added, stored) = (self.double_leaf(false), self.double_leaf(false));
        let unroll = self.random.pick(&["", "#pragma clang loop unroll(disable)\n"]);
        let bound = self.random.pick(&["n", "m", "m + 5", "13"]);
        let (condition, other) = self.random.pick(&[
            ("1", ""),
            ("in[i] & 1", ""),
            ("fin[i] < 1.5", " else {\n      sum += fin[i];\n    }"),
        ]);
        format!(
            "#pragma omp target {clauses}\n  {{\n    double sum = {q};\n    u64 whole_sum = {p};\n{unroll}    for (int i = 0; i < {bound}; \
             i++) {{\n    if ({condition}) {{\n      sum += fout[i] * {added};\n      fout[i] = {stored};\n      whole_sum += out[i];\n      \
             out[i] = i;\n    }}{other}\n    }}\n    fout[63] = sum;\n    out[63] = whole_sum;\n  }}\n"
        )
    }
}
