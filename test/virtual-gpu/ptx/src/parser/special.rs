//! Names of the registers that the hardware writes.

use crate::tree::SpecialRegister;

/// The special register of a name such as `%tid.x`.
pub(super) fn special_register(name: &str) -> Option<SpecialRegister> {
    use SpecialRegister as S;
    Some(match name {
        "%tid.x" => S::TidX,
        "%tid.y" => S::TidY,
        "%tid.z" => S::TidZ,
        "%ntid.x" => S::NtidX,
        "%ntid.y" => S::NtidY,
        "%ntid.z" => S::NtidZ,
        "%ctaid.x" => S::CtaidX,
        "%ctaid.y" => S::CtaidY,
        "%ctaid.z" => S::CtaidZ,
        "%nctaid.x" => S::NctaidX,
        "%nctaid.y" => S::NctaidY,
        "%nctaid.z" => S::NctaidZ,
        "%laneid" => S::Laneid,
        "%warpid" => S::Warpid,
        "%nwarpid" => S::Nwarpid,
        "%smid" => S::Smid,
        "%nsmid" => S::Nsmid,
        "%gridid" => S::Gridid,
        "%lanemask_eq" => S::LanemaskEq,
        "%lanemask_le" => S::LanemaskLe,
        "%lanemask_lt" => S::LanemaskLt,
        "%lanemask_ge" => S::LanemaskGe,
        "%lanemask_gt" => S::LanemaskGt,
        "%clock" => S::Clock,
        "%clock_hi" => S::ClockHi,
        "%clock64" => S::Clock64,
        "%globaltimer" => S::Globaltimer,
        "%globaltimer_lo" => S::GlobaltimerLo,
        "%globaltimer_hi" => S::GlobaltimerHi,
        "%dynamic_smem_size" => S::DynamicSmemSize,
        "%total_smem_size" => S::TotalSmemSize,
        "WARP_SZ" => S::WarpSize,
        _ => {
            let number = name.strip_prefix("%envreg")?.parse().ok()?;
            return (number < 32).then_some(S::Envreg(number));
        }
    })
}
