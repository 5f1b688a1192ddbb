//! Images in memory, with their symbols.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::abi::Handle;
use crate::code_object::{CodeObject, CodeObjectFault, Kernel, Relocation, Symbol, SymbolKind};
use crate::memory::Pages;

/// An image that was loaded for a device.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// The how many-th of the process it is, from 0.
    pub(crate) number: u64,
    pub(crate) agent: Handle,
    pub(crate) code: Arc<CodeObject>,
    /// Where address 0 of the image is.
    pub(crate) base: usize,
}

impl Loaded {
    /// Where an address of the image is.
    pub(crate) fn address(&self, in_image: u64) -> u64 {
        (self.base as u64).wrapping_add(in_image)
    }
}

/// An executable.
#[derive(Debug, Default)]
pub(crate) struct Executable {
    pub(crate) is_frozen: bool,
    pub(crate) images: Vec<Arc<Loaded>>,
}

/// A symbol that a program holds a handle of.
#[derive(Clone, Debug)]
pub(crate) struct FoundSymbol {
    pub(crate) image: Arc<Loaded>,
    pub(crate) symbol: Symbol,
    /// What the runtime knows of it, if it is a kernel's.
    pub(crate) kernel: Option<Kernel>,
}

/// A kernel that a packet names.
#[derive(Clone, Debug)]
pub(crate) struct FoundKernel {
    pub(crate) image: Arc<Loaded>,
    pub(crate) kernel: Kernel,
    pub(crate) executable: Handle,
    pub(crate) is_frozen: bool,
}

/// Everything that programs have loaded or are about to.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    /// The last handle that was given.
    handles: Handle,
    loaded: u64,
    /// What `hsa_code_object_deserialize` has made.
    pub(crate) objects: HashMap<Handle, Arc<CodeObject>>,
    /// What `hsa_code_object_reader_create_from_memory` has made.
    pub(crate) readers: HashMap<Handle, Vec<u8>>,
    pub(crate) executables: HashMap<Handle, Executable>,
    symbols: HashMap<Handle, FoundSymbol>,
    /// Names of kernels whose executable was destroyed, by where their descriptors were.
    gone: HashMap<u64, String>,
}

impl Tables {
    /// A new handle.
    pub(crate) fn handle(&mut self) -> Handle {
        self.handles += 1;
        0xc0de_0000_0000 + self.handles
    }

    /// Adds an image that lies at `base` to an executable.
    pub(crate) fn add(
        &mut self,
        executable: Handle,
        agent: Handle,
        code: Arc<CodeObject>,
        base: usize,
    ) -> u64 {
        let number = self.loaded;
        self.loaded += 1;
        let image = Arc::new(Loaded {
            number,
            agent,
            code,
            base,
        });
        if let Some(executable) = self.executables.get_mut(&executable) {
            executable.images.push(image);
        }
        number
    }

    /// Takes an executable away, and remembers its kernels' names.
    pub(crate) fn remove(&mut self, handle: Handle) -> Option<Executable> {
        let executable = self.executables.remove(&handle)?;
        for image in &executable.images {
            for kernel in &image.code.kernels {
                self.gone
                    .insert(image.address(kernel.descriptor), kernel.metadata.name.clone());
            }
            self.symbols
                .retain(|_, symbol| !Arc::ptr_eq(&symbol.image, image));
        }
        Some(executable)
    }

    /// A handle of a symbol of an executable, for an agent.
    pub(crate) fn symbol_named(
        &mut self,
        executable: Handle,
        agent: Option<Handle>,
        name: &str,
    ) -> Option<Handle> {
        let images = self.executables.get(&executable)?.images.iter();
        let mut images = images.filter(|image| agent.is_none_or(|agent| agent == image.agent));
        let found = images.find_map(|image| {
            let symbol = image.code.symbols.iter().find(|symbol| symbol.name == name)?;
            found_symbol(image, symbol)
        })?;
        Some(self.add_symbol(found))
    }

    /// Handles of all variables and kernels of an executable.
    pub(crate) fn symbols_of(&mut self, executable: Handle) -> Vec<Handle> {
        let images = self
            .executables
            .get(&executable)
            .map(|executable| executable.images.clone());
        let images = images.unwrap_or_default();
        let all = images.iter().flat_map(|image| {
            image
                .code
                .symbols
                .iter()
                .filter_map(|symbol| found_symbol(image, symbol))
        });
        let all: Vec<_> = all.collect();
        all.into_iter().map(|found| self.add_symbol(found)).collect()
    }

    fn add_symbol(&mut self, found: FoundSymbol) -> Handle {
        let handle = self.handle();
        self.symbols.insert(handle, found);
        handle
    }

    /// The symbol of a handle.
    pub(crate) fn symbol(&self, handle: Handle) -> Option<FoundSymbol> {
        self.symbols.get(&handle).cloned()
    }

    /// The kernel whose descriptor lies at an address, or the name of one that lay there.
    pub(crate) fn kernel_at(&self, address: u64) -> Result<FoundKernel, Option<String>> {
        for (handle, executable) in &self.executables {
            for image in &executable.images {
                let mut kernels = image.code.kernels.iter();
                if let Some(kernel) = kernels.find(|kernel| image.address(kernel.descriptor) == address) {
                    return Ok(FoundKernel {
                        image: Arc::clone(image),
                        kernel: kernel.clone(),
                        executable: *handle,
                        is_frozen: executable.is_frozen,
                    });
                }
            }
        }
        Err(self.gone.get(&address).cloned())
    }
}

/// A variable or kernel of an image: the runtime has no others.
fn found_symbol(image: &Arc<Loaded>, symbol: &Symbol) -> Option<FoundSymbol> {
    let kernel = match symbol.kind {
        SymbolKind::Variable if !symbol.name.is_empty() => None,
        SymbolKind::Descriptor => {
            let mut kernels = image.code.kernels.iter();
            Some(
                kernels
                    .find(|kernel| kernel.descriptor == symbol.address)?
                    .clone(),
            )
        }
        _ => return None,
    };
    Some(FoundSymbol {
        image: Arc::clone(image),
        symbol: symbol.clone(),
        kernel,
    })
}

/// The tables of the process.
#[derive(Debug, Default)]
pub(crate) struct Executables(RwLock<Tables>);

impl Executables {
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Tables> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, Tables> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Puts an image into memory, with its relocations applied.
///
/// # Errors
///
/// When there is no memory, or a symbol that it needs has no definition.
pub(crate) fn place(code: &CodeObject) -> Result<Pages, CodeObjectFault> {
    let size = usize::try_from(code.memory_size()).map_err(|_| CodeObjectFault::NoMemory)?;
    let mut pages = Pages::of_device(size.max(1)).ok_or(CodeObjectFault::NoMemory)?;
    for segment in &code.segments {
        let bytes = code.bytes.get(segment.file.clone()).unwrap_or_default();
        write(&mut pages, segment.address, bytes)?;
    }
    for relocation in &code.relocations {
        let value = relocated(relocation, pages.address as u64, code)?;
        write(&mut pages, relocation.address, &value.to_le_bytes())?;
    }
    Ok(pages)
}

/// Writes to an address of the image.
fn write(pages: &mut Pages, address: u64, bytes: &[u8]) -> Result<(), CodeObjectFault> {
    let offset = usize::try_from(address).map_err(|_| CodeObjectFault::NoMemory)?;
    // Segments and relocations were checked to lie in the image.
    pages
        .write(offset, bytes)
        .then_some(())
        .ok_or(CodeObjectFault::NoMemory)
}

/// The number that a relocation writes.
fn relocated(relocation: &Relocation, base: u64, code: &CodeObject) -> Result<u64, CodeObjectFault> {
    let mut value = base.wrapping_add_signed(relocation.addend);
    if let Some(symbol) = relocation.symbol.and_then(|index| code.symbols.get(index)) {
        if symbol.kind == SymbolKind::Undefined {
            return Err(CodeObjectFault::Undefined(symbol.name.clone()));
        }
        value = value.wrapping_add(symbol.address);
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code_object::tests::KERNELS;

    /// The number at an address of an image.
    fn read(pages: &Pages, address: usize) -> u64 {
        let place = std::ptr::with_exposed_provenance::<u64>(pages.inside(pages.address + address));
        // SAFETY: the image has memory there.
        unsafe { place.read_unaligned() }
    }

    #[test]
    fn an_image_is_placed_with_its_relocations() {
        let code = CodeObject::parse(KERNELS).unwrap();
        let pages = place(&code).unwrap();
        let at = |name: &str| {
            code.symbols
                .iter()
                .find(|symbol| symbol.name == name)
                .unwrap()
                .address as usize
        };
        assert_eq!(read(&pages, at("answer")) & 0xffff_ffff, 42);
        assert_eq!(
            read(&pages, at("where")),
            (pages.address + at("answer") + 1) as u64
        );
        assert_eq!(read(&pages, at("other")), (pages.address + at("other")) as u64);
        assert_eq!(
            read(&pages, at("add.kd")),
            16 << 32 | 128,
            "sizes of the segments"
        );
    }

    #[test]
    fn what_has_no_definition_cannot_be_placed() {
        let mut code = CodeObject::parse(KERNELS).unwrap();
        let symbol = code
            .symbols
            .iter_mut()
            .find(|symbol| symbol.name == "other")
            .unwrap();
        symbol.kind = SymbolKind::Undefined;
        assert_eq!(
            place(&code).unwrap_err(),
            CodeObjectFault::Undefined("other".to_owned())
        );
    }

    #[test]
    fn a_destroyed_executable_leaves_only_the_names_of_its_kernels() {
        let mut tables = Tables::default();
        let (executable, code) = (tables.handle(), Arc::new(CodeObject::parse(KERNELS).unwrap()));
        tables.executables.insert(executable, Executable::default());
        tables.add(executable, 7, Arc::clone(&code), 0x1000);
        assert_eq!(tables.symbols_of(executable).len(), 5);
        assert!(
            tables.symbol_named(executable, Some(8), "answer").is_none(),
            "another agent"
        );
        assert!(
            tables.symbol_named(executable, None, "add").is_none(),
            "a function"
        );
        let symbol = tables.symbol_named(executable, Some(7), "add.kd").unwrap();
        assert_eq!(
            tables.symbol(symbol).unwrap().kernel.unwrap().metadata.name,
            "add"
        );
        let object = 0x1000 + code.kernels[0].descriptor;
        assert_eq!(tables.kernel_at(object).unwrap().executable, executable);
        tables.remove(executable).unwrap();
        assert!(tables.symbol(symbol).is_none());
        assert_eq!(tables.kernel_at(object).unwrap_err(), Some("add".to_owned()));
        assert_eq!(tables.kernel_at(object + 4).unwrap_err(), None);
    }
}
