//! Migrations are embedded through a symlink; Cargo does not detect changes behind it.

fn main() {
    println!("cargo:rerun-if-changed=migrations");
}
