//! Each opcode form of the list is executed.

use offloom_virtual_gpu::FaultKind;

use crate::case::Case;
use crate::{accesses, arithmetic, others};

/// The opcode forms of all PTX that tests run, of the device runtime and of libdevice.
const OPCODES: &str = include_str!("../../../ptx/opcodes.txt");

#[test]
fn each_form_is_executed() {
    let forms: Vec<&str> = OPCODES.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(forms.len() >= 529, "{} forms", forms.len());
    let mut wrong = Vec::new();
    for form in forms {
        if form == "trap" {
            let fault = Case::new("trap;", vec![[0; 4]], |_, _| 0).run().unwrap_err();
            assert_eq!(fault.kind, FaultKind::Trap, "{fault}");
            continue;
        }
        let case = others::case(form)
            .or_else(|| accesses::case(form))
            .or_else(|| arithmetic::case(form));
        let Some(case) = case else {
            wrong.push(format!("{form}: no kernel executes it"));
            continue;
        };
        let text = format!("{}{} ", case.module, case.code);
        let executes = text.contains(&format!("{form} ")) || text.contains(&format!("{form};"));
        assert!(executes, "{form} is not in its kernel: {text}");
        wrong.extend(case.difference().map(|what| format!("{form}: {what}")));
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
