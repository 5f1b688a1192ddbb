//! Base images as the program has them loaded, and the kernels in them.

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_int, c_uint};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};

use crate::arguments::{Layout, MOST_PARAMETERS, Place};
use crate::client::{KernelData, client};
use crate::context::{Context, Current};
use crate::driver::Driver;
use crate::error::{CudaError, Status};
use crate::handles::{FunctionHandle, ModuleHandle};
use crate::timing;
use crate::variant::Variant;
use offloom_jit_policy::gpu_image::{Held, Presence, Withdrawn};
use offloom_jit_policy::process::handle_table::{Found, HandleTable};
use offloom_jit_policy::process::lock::lock;
use offloom_jit_policy::process::settings::settings;

/// A module that the program has loaded, and whose kernels' launches are asked about. Lives for ever; the
/// module may not.
#[derive(Debug)]
pub struct ImageCopy {
    number: u32,
    module: ModuleHandle,
    context: &'static Context,
    presence: Presence,
    /// The file that it was loaded from, if that is known.
    file: Option<Vec<u8>>,
    kernels: Mutex<Vec<&'static Kernel>>,
    /// Those that are loaded.
    pub(crate) variants: Mutex<Vec<&'static Variant>>,
}

/// A kernel of an image copy.
#[derive(Debug)]
pub struct Kernel {
    image: &'static ImageCopy,
    function: FunctionHandle,
    name: CString,
    layout: Layout,
    data: usize,
    /// What the program has set, which its variants get too.
    pub(crate) set: Mutex<Vec<Setting>>,
}

/// Something that the program has set for a kernel.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Setting {
    /// `cuFuncSetAttribute`: attribute and value.
    Attribute(c_int, c_int),
    /// `cuFuncSetCacheConfig`.
    CacheConfiguration(c_uint),
}

impl Setting {
    /// Whether it sets the same as another.
    fn replaces(self, other: Self) -> bool {
        match (self, other) {
            (Self::Attribute(attribute, _), Self::Attribute(other, _)) => attribute == other,
            (Self::CacheConfiguration(_), Self::CacheConfiguration(_)) => true,
            _ => false,
        }
    }

    /// Sets it for a kernel.
    pub(crate) fn apply(self, driver: &Driver, function: FunctionHandle) -> Result<(), CudaError> {
        // SAFETY: the driver knows which handles are kernels.
        unsafe {
            match self {
                Self::Attribute(attribute, value) => (driver.func_set_attribute)(function, attribute, value),
                Self::CacheConfiguration(configuration) => match driver.func_set_cache_config {
                    Some(set) => set(function, configuration),
                    None => Status::NOT_SUPPORTED,
                },
            }
        }
        .check()
    }
}

/// The kernels whose launches are asked about.
pub(crate) static FUNCTIONS: HandleTable<Kernel> = HandleTable::new();

type Modules = HashMap<ModuleHandle, Option<&'static ImageCopy>>;

/// The modules that the program has loaded since its calls are led here; `None` for those that are not ours.
fn modules() -> &'static Mutex<Modules> {
    // Leaked: what waits on a static's mutex when `exit` destroys it hangs.
    static MODULES: OnceLock<&'static Mutex<Modules>> = OnceLock::new();
    MODULES.get_or_init(|| Box::leak(Box::default()))
}

/// Takes note of a module that was loaded from `file`, or is met for the first time. The image copy, if it is
/// ours.
pub(crate) fn met(
    driver: &'static Driver,
    module: ModuleHandle,
    file: Option<&[u8]>,
) -> Option<&'static ImageCopy> {
    let image = adopt(driver, module, file);
    lock(modules()).insert(module, image);
    image
}

/// What a module is, if it is known or can be found out.
pub(crate) fn known(driver: &'static Driver, module: ModuleHandle) -> Option<&'static ImageCopy> {
    let find = || lock(modules()).get(&module).copied();
    find().unwrap_or_else(|| {
        // Threads may launch kernels of it for the first time together.
        static MEETING: Mutex<()> = Mutex::new(());
        let _meeting = lock(&MEETING);
        find().unwrap_or_else(|| met(driver, module, None))
    })
}

fn adopt(driver: &'static Driver, module: ModuleHandle, file: Option<&[u8]>) -> Option<&'static ImageCopy> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let client = client()?;
    let context = Context::current(driver).ok()?;
    let current = context.enter(driver).ok()?;
    let image: &'static ImageCopy = Box::leak(Box::new(ImageCopy {
        number: NEXT.fetch_add(1, Ordering::Relaxed),
        module,
        context,
        presence: Presence::default(),
        // Only dumped launches need it later.
        file: settings().dump_directory.as_ref().and(file).map(<[u8]>::to_vec),
        kernels: Mutex::default(),
        variants: Mutex::default(),
    }));
    client.adopt(image, file, &current).then_some(image)
}

/// Takes note of a kernel that the program has asked for.
pub(crate) fn met_kernel(
    driver: &'static Driver,
    module: ModuleHandle,
    function: FunctionHandle,
    name: &CStr,
) {
    let kernel = known(driver, module).and_then(|image| image.kernel(driver, function, name));
    FUNCTIONS.insert(function.0, kernel.map_or(Found::Foreign, Found::Ours));
}

/// Finds out about a kernel that is launched and was never asked for since calls are led here.
#[cold]
pub(crate) fn unknown_kernel(driver: &'static Driver, function: FunctionHandle) -> Option<&'static Kernel> {
    let find = || {
        let mut module = ModuleHandle::NULL;
        let mut name = std::ptr::null();
        // SAFETY: the driver fills in handle and name, which it keeps as long as the kernel is there.
        let name = unsafe {
            driver.func_get_module?(&raw mut module, function).check().ok()?;
            driver.func_get_name?(&raw mut name, function).check().ok()?;
            if name.is_null() {
                return None;
            }
            CStr::from_ptr(name)
        };
        known(driver, module)?.kernel(driver, function, name)
    };
    let kernel = find();
    FUNCTIONS.insert(function.0, kernel.map_or(Found::Foreign, Found::Ours));
    kernel
}

/// Takes note that the program is about to unload a module.
pub(crate) fn withdraw(driver: &'static Driver, module: ModuleHandle) {
    let Some(image) = lock(modules()).remove(&module).flatten() else {
        return;
    };
    // When the process ends there is nothing to be gained.
    let Ok(current) = image.context.enter(driver) else {
        return;
    };
    for kernel in lock(&image.kernels).drain(..) {
        FUNCTIONS.insert(kernel.function.0, Found::Unknown);
    }
    // Work that needs the module ends first.
    image.presence.withdraw();
    timing::forget(image);
    if let Some(client) = client() {
        client.withdraw(image);
    }
    for variant in lock(&image.variants).drain(..) {
        variant.note_unloaded();
        // It would have failed for the base image too.
        let _ = current.unload(variant.module());
    }
    lock(&image.context.unused).retain(|variant| !std::ptr::eq(variant.kernel().image(), image));
}

impl ImageCopy {
    /// Tells it from other copies of this process, for people.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Where it is loaded.
    pub fn context(&self) -> &'static Context {
        self.context
    }

    /// The file that it was loaded from, where launches are dumped.
    pub fn file(&self) -> Option<&[u8]> {
        self.file.as_deref()
    }

    /// The module itself.
    pub fn module(&self) -> ModuleHandle {
        self.module
    }

    /// Has the module stay meanwhile.
    pub(crate) fn hold(&self) -> Result<Held<'_>, Withdrawn> {
        self.presence.hold()
    }

    /// Does work that needs the module, with its context current, on the calling thread. The module stays
    /// until the work is done, so the work must not wait for anything that waits for an unload.
    ///
    /// # Errors
    /// When the image was withdrawn, its context destroyed, or the process is ending.
    pub fn with_current<T>(&'static self, work: impl FnOnce(&Current<'_>) -> T) -> Result<T, Withdrawn> {
        let driver = crate::driver::driver().ok_or(Withdrawn)?;
        let _held = self.presence.hold()?;
        let current = self.context.enter(driver).map_err(|_| Withdrawn)?;
        Ok(work(&current))
    }

    /// The kernel of this name, made if the program asks for it for the first time.
    fn kernel(
        &'static self,
        driver: &Driver,
        function: FunctionHandle,
        name: &CStr,
    ) -> Option<&'static Kernel> {
        let mut kernels = lock(&self.kernels);
        if let Some(known) = kernels.iter().find(|kernel| kernel.function == function) {
            return Some(known);
        }
        let KernelData { data, parameters } = client()?.kernel(self, name)?;
        let layout = layout(driver, function, parameters)?;
        let kernel: &'static Kernel = Box::leak(Box::new(Kernel {
            image: self,
            function,
            name: name.to_owned(),
            layout,
            data,
            set: Mutex::default(),
        }));
        kernels.push(kernel);
        Some(kernel)
    }
}

impl Kernel {
    /// Where it is from.
    pub fn image(&self) -> &'static ImageCopy {
        self.image
    }

    /// The program's own kernel.
    pub fn function(&self) -> FunctionHandle {
        self.function
    }

    /// Its name.
    pub fn name(&self) -> &CStr {
        &self.name
    }

    /// Its parameters.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// What the client has given for it.
    #[inline]
    pub fn data(&self) -> usize {
        self.data
    }

    /// Takes note of something that the program has set, and sets it for the variants that are loaded.
    pub(crate) fn set(&'static self, driver: &Driver, setting: Setting) {
        let mut set = lock(&self.set);
        set.retain(|other| !setting.replaces(*other));
        set.push(setting);
        let variants = lock(&self.image.variants);
        for variant in variants
            .iter()
            .filter(|variant| std::ptr::eq(variant.kernel(), self))
        {
            // A launch that this would have been needed for is refused, and made with the base kernel.
            let _ = setting.apply(driver, variant.function());
        }
    }
}

/// Where the parameters of a kernel lie, of which there are to be so many. `None`: one does not fit a word,
/// or there are others.
fn layout(driver: &Driver, function: FunctionHandle, parameters: usize) -> Option<Layout> {
    let Some(get) = driver.func_get_param_info else {
        // An older driver. Clang passes each captured variable as one word.
        return Layout::words(parameters);
    };
    let mut places = Vec::new();
    for index in 0..=MOST_PARAMETERS {
        let (mut offset, mut size) = (0, 0);
        // SAFETY: the driver fills in the numbers, or says that there is no such parameter.
        if unsafe { get(function, index, &raw mut offset, &raw mut size) } != Status::SUCCESS {
            break;
        }
        places.push(Place { offset, size });
    }
    Layout::new(&places).filter(|layout| layout.len() == parameters)
}
