//! A kernel that executes an opcode form, and what it must give.

use offloom_virtual_gpu::{Fault, Launch, launch};

use crate::common::{Device, HEADER};

/// Threads of a kernel: a warp.
pub(crate) const THREADS: usize = 32;

/// What each thread gets: words of its own, all threads' words at a multiple of 32 bytes.
pub(crate) type Words = [u64; 4];

/// The parameter that all threads get besides, in the parameter's space.
pub(crate) const PARAMETER: Words = [
    0xF1E2_D3C4_B5A6_9788,
    0x8182_8384_7576_7778,
    0x0011_2233_4455_6677,
    0xFFEE_DDCC_BBAA_9988,
];

/// What a kernel writes to a thread's result before the form is executed.
pub(crate) const UNTOUCHED: u64 = 0xEEEE_EEEE_EEEE_EEEE;

/// A kernel that executes a form.
pub(crate) struct Case {
    /// Variables and functions of the module.
    pub(crate) module: String,
    /// Instructions that leave their result in `%d0`. `%a` is the address of the thread's words, `%x` its
    /// number.
    pub(crate) code: String,
    /// The words of each thread.
    pub(crate) words: Vec<Words>,
    /// The result of each thread.
    pub(crate) expected: Vec<u64>,
}

impl Case {
    /// A case without variables in which all threads have these words, and the result is that of a function
    /// of words and thread.
    pub(crate) fn new(
        code: impl Into<String>,
        words: Vec<Words>,
        expected: impl Fn(usize, &Words) -> u64,
    ) -> Self {
        let expected = words
            .iter()
            .enumerate()
            .map(|(x, words)| expected(x, words))
            .collect();
        Self {
            module: String::new(),
            code: code.into(),
            words,
            expected,
        }
    }

    /// With variables or functions of the module.
    pub(crate) fn with(mut self, module: impl Into<String>) -> Self {
        self.module = module.into();
        self
    }

    /// The kernel's text.
    fn text(&self) -> String {
        format!(
            "{}{}
.visible .entry k(.param .b64 in, .param .b64 out, .param .align 16 .b8 words[32]) {{
.reg .b64 %a, %o, %d<20>; .reg .b32 %x, %r<20>; .reg .b16 %h<20>; .reg .pred %p<9>;
ld.param.b64 %a,[in]; ld.param.b64 %o,[out]; mov.u32 %x,%ctaid.x; shl.b32 %x,%x,5; mov.u32 %r0,%tid.x; add.u32 %x,%x,%r0;
mul.wide.u32 %d0,%x,32; add.u64 %a,%a,%d0; mul.wide.u32 %d0,%x,8; add.u64 %o,%o,%d0;
{}
END: st.global.b64 [%o],%d0; ret;
}}
",
            HEADER,
            self.module,
            self.code
        )
    }

    /// Executes the kernel; the results of all threads.
    pub(crate) fn run(&self) -> Result<Vec<u64>, Fault> {
        let device = Device::of(&self.text());
        let halves = |words: &[u64]| -> Vec<u32> {
            let halves = words.iter().flat_map(|&word| [word as u32, (word >> 32) as u32]);
            halves.collect()
        };
        // The last warp is whole too.
        let blocks = self.words.len().div_ceil(THREADS);
        let mut words = self.words.clone();
        words.resize(blocks * THREADS, [0; 4]);
        let input = device.words(&halves(words.as_flattened()));
        let output = device.words(&halves(&vec![UNTOUCHED; words.len()]));
        let parameters: Vec<u8> = [input, output]
            .iter()
            .chain(&PARAMETER)
            .flat_map(|word| word.to_le_bytes())
            .collect();
        let shape = Launch {
            kernel: "k",
            grid: [blocks as u32, 1, 1],
            block: [THREADS as u32, 1, 1],
            dynamic_shared_bytes: 0,
            parameters: &parameters,
        };
        let statistics = launch(&device.program, &shape, &device.options)?;
        assert!(statistics.reports.is_empty(), "{:?}", statistics.reports);
        let words = device.read(output, self.words.len() * 2);
        let whole = words
            .chunks(2)
            .map(|halves| u64::from(halves[0]) | u64::from(halves[1]) << 32);
        Ok(whole.collect())
    }

    /// Why the form does not what it must.
    pub(crate) fn difference(&self) -> Option<String> {
        match self.run() {
            Ok(results) if results == self.expected => None,
            Ok(results) => {
                let rows = results.iter().zip(&self.expected).zip(&self.words).enumerate();
                let (x, ((result, expected), words)) = rows.into_iter().find(|(_, ((a, b), _))| a != b)?;
                Some(format!("thread {x}, {words:x?}: {result:x}, not {expected:x}"))
            }
            Err(fault) => Some(fault.to_string()),
        }
    }
}
