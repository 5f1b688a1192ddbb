//! What of merged device bitcode stays visible.

use std::ffi::OsString;

use offloom_ir::inkwell::module::Module;
use offloom_jit_passes::internalize::{internalize_unlisted, note_names};

/// The names of what others than this bitcode define or use.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct KeptNames {
    /// The name of what others than this bitcode define or use: a definition of it stays visible. What
    /// neither the runtime nor the host program asks for is hidden otherwise.
    #[arg(long = "keep-name", value_name = "NAME", allow_hyphen_values = true)]
    kept_names: Vec<OsString>,
}

impl KeptNames {
    /// Hides what nobody outside of the module asks for.
    pub(crate) fn hide_others(&self, module: &Module<'_>) {
        internalize_unlisted(module, self.names());
    }

    /// Notes the names in the module, which is hidden later.
    pub(crate) fn note(&self, module: &Module<'_>) {
        note_names(module, self.names());
    }

    fn names(&self) -> impl Iterator<Item = String> {
        self.kept_names
            .iter()
            .map(|name| name.to_string_lossy().into_owned())
    }
}
