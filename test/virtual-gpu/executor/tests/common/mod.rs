//! A device for tests: PTX texts in, words out.
#![allow(dead_code, reason = "each test file uses a part of it")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "only tests call it")]

use std::sync::{Arc, Mutex};

use offloom_virtual_gpu::{
    DeviceProperties, Fault, Launch, LaunchOptions, Memory, Owner, Poison, Program, Statistics, launch,
};

/// What every text begins with.
pub(crate) const HEADER: &str = ".version 7.8\n.target sm_80\n.address_size 64\n";

/// A program in the memory of a device of its own.
pub(crate) struct Device {
    pub(crate) memory: Arc<Memory>,
    pub(crate) program: Program,
    pub(crate) options: LaunchOptions,
    pub(crate) printed: Arc<Mutex<Vec<u8>>>,
}

impl Device {
    /// A device with the program of this text, to which the header is added.
    pub(crate) fn new(text: &str) -> Self {
        Self::of(&format!("{HEADER}{text}"))
    }

    /// A device with the program of this text.
    pub(crate) fn of(text: &str) -> Self {
        Self::with(&Memory::new(&[256 << 20]), text)
    }

    /// The program in memory that there is.
    pub(crate) fn with(memory: &Arc<Memory>, text: &str) -> Self {
        let module = offloom_ptx::parse("test.ptx", text.as_bytes()).unwrap();
        let properties = DeviceProperties::new(0, (8, 0));
        let program = Program::new(&module, &properties, memory).unwrap();
        let printed = Arc::new(Mutex::new(Vec::new()));
        let to = Arc::clone(&printed);
        let options = LaunchOptions {
            workers: 2,
            poison: Poison::Report,
            instruction_limit: Some(50_000_000),
            output: Some(Arc::new(move |bytes| to.lock().unwrap().extend_from_slice(bytes))),
            ..LaunchOptions::default()
        };
        Self {
            memory: Arc::clone(memory),
            program,
            options,
            printed,
        }
    }

    /// Memory that holds these words.
    pub(crate) fn words(&self, words: &[u32]) -> u64 {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let address = self
            .memory
            .allocate(bytes.len() as u64, Owner::Device(0))
            .unwrap();
        self.memory.write(address, &bytes).unwrap();
        address
    }

    /// Words of memory.
    pub(crate) fn read(&self, address: u64, count: usize) -> Vec<u32> {
        let mut bytes = vec![0; count * 4];
        self.memory.read(address, &mut bytes).unwrap();
        bytes
            .chunks(4)
            .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
            .collect()
    }

    /// Launches a kernel with parameters of 8 bytes.
    pub(crate) fn launch(
        &self,
        kernel: &str,
        grid: u32,
        block: u32,
        parameters: &[u64],
    ) -> Result<Statistics, Fault> {
        let parameters: Vec<u8> = parameters.iter().flat_map(|value| value.to_le_bytes()).collect();
        let shape = Launch {
            kernel,
            grid: [grid, 1, 1],
            block: [block, 1, 1],
            dynamic_shared_bytes: 0,
            parameters: &parameters,
        };
        launch(&self.program, &shape, &self.options)
    }

    /// Runs a kernel whose one parameter is memory for one word of each thread, and returns the words.
    pub(crate) fn run(&self, kernel: &str, grid: u32, block: u32) -> Vec<u32> {
        let count = (grid * block) as usize;
        let output = self.words(&vec![0xEEEE_EEEE; count]);
        self.launch(kernel, grid, block, &[output])
            .unwrap_or_else(|fault| panic!("{fault}"));
        self.read(output, count)
    }
}

/// A kernel `k` that gets the address of its thread's word in `%out`, then runs this code, and stores `%r0`.
pub(crate) fn kernel(code: &str) -> String {
    format!(
        ".visible .entry k(.param .u64 out)
{{
.reg .u64 %out,%t,%d<10>; .reg .u32 %x,%l,%w,%r<20>; .reg .pred %p<10>; .reg .f32 %f<10>; .reg .f64 %g<10>; .reg .u16 %h<10>;
ld.param.u64 %out,[out]; mov.u32 %x,%tid.x; and.b32 %l,%x,31; shr.u32 %w,%x,5; mul.wide.u32 %t,%x,4; add.u64 %out,%out,%t; mov.u32 %r0,0;
{code}
END: st.global.u32 [%out],%r0; ret;
}}
"
    )
}
