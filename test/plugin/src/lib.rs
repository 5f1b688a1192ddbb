//! Passes that only tests use: taking offload entries away, failing on purpose, showing what the plugin glue
//! hands over.
#![forbid(unsafe_code)]

use llvm_plugin::PassBuilder;

mod glue_probes;
mod print_module;
mod strip_offload;

#[llvm_plugin::plugin(name = "offloom-test", version = "0.1.0")]
fn plugin_registrar(builder: &mut PassBuilder) {
    glue_probes::register(builder);
    print_module::register(builder);
    strip_offload::register(builder);
}
