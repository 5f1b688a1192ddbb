//! Every test of `offloom-ir` in one program, so that the cost of linking libLLVM is paid once.

mod module;
