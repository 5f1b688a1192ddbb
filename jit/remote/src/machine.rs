//! Which kind of machine this is: what runs of a program want, and what launches take, differs between
//! processors and between GPUs, so each kind has lists and verdicts of its own.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

/// The fields of `/proc/cpuinfo` that tell one model of a processor from another.
const OF_PROCESSOR: [&str; 4] = ["vendor_id", "cpu family", "model", "model name"];
/// Those of NVIDIA's `information` that tell one model of a GPU from another.
const OF_GPU: [&str; 1] = ["Model"];

/// The models of this machine's processors and NVIDIA GPUs, each once. Empty where the system does not say.
pub(crate) fn model() -> String {
    model_in(Path::new("/proc"))
}

/// The models of its processors alone: asked for with each verdict, and read once.
pub(crate) fn processor() -> &'static str {
    static MODELS: OnceLock<String> = OnceLock::new();
    MODELS.get_or_init(|| processors_in(Path::new("/proc")).into_iter().collect())
}

fn model_in(proc: &Path) -> String {
    let mut models = processors_in(proc);
    let gpus = fs::read_dir(proc.join("driver/nvidia/gpus"))
        .into_iter()
        .flatten();
    for gpu in gpus.flatten() {
        models.extend(fields(&gpu.path().join("information"), &OF_GPU));
    }
    models.into_iter().collect()
}

fn processors_in(proc: &Path) -> BTreeSet<String> {
    fields(&proc.join("cpuinfo"), &OF_PROCESSOR)
}

/// What a file says in these fields.
fn fields(file: &Path, wanted: &[&str]) -> BTreeSet<String> {
    let text = fs::read(file).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let found = text.lines().filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        let name = name.trim();
        wanted
            .contains(&name)
            .then(|| format!("{name}={}\n", value.trim()))
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_processor_or_gpu_is_another_model_and_another_clock_rate_is_not() {
        let proc = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| {
            let path = proc.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let model = || model_in(proc.path());
        assert_eq!(model(), "");
        write(
            "cpuinfo",
            "processor\t: 0\nmodel\t\t: 17\ncpu MHz\t\t: 2000\n\nprocessor\t: 1\nmodel\t\t: 17\n",
        );
        let one = model();
        assert_eq!(one, "model=17\n");
        write("cpuinfo", "processor\t: 0\nmodel\t\t: 17\ncpu MHz\t\t: 3000\n");
        assert_eq!(model(), one);
        write("cpuinfo", "processor\t: 0\nmodel\t\t: 18\n");
        assert_ne!(model(), one);
        write(
            "driver/nvidia/gpus/0000:01:00.0/information",
            "Model: \t\t NVIDIA A\nIRQ: 3\n",
        );
        assert_eq!(model(), "Model=NVIDIA A\nmodel=18\n");
        // What the processor takes has nothing to do with that.
        assert_eq!(
            processors_in(proc.path()),
            BTreeSet::from(["model=18\n".to_owned()])
        );
    }
}
