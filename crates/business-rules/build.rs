//! Migrations are embedded through a symlink; Cargo does not see changes behind it by itself.

fn main() {
    println!("cargo:rerun-if-changed=migrations");
}
