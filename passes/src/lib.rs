//! The pass plugin: offload entries, visibility, internalisation.
