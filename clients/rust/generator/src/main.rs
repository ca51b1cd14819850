//! Writes the generated code of the crate. usage: generator PROTO_DIR CASES_DIR OUTPUT
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(protos), Some(cases), Some(out)) = (args.next(), args.next(), args.next()) else {
        return Err("usage: generator PROTO_DIR CASES_DIR OUTPUT".into());
    };
    let mut files: Vec<PathBuf> = std::fs::read_dir(protos.join("flightplan/v1"))?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    files.sort();
    let generated = out.join("src/generated");
    let rpc = ["status", "error_details"].map(|name| protos.join(format!("google/rpc/{name}.proto")));
    write(&rpc, &[&protos], &generated, None)?;
    write(&files, &[&protos], &generated, Some((".google.rpc", "crate::rpc")))?;
    write(
        &[cases.join("conformance.proto")],
        &[&cases, &protos],
        &out.join("examples/conformance/generated"),
        Some((".flightplan.v1", "::flightplan::v1")),
    )
}

/// `outside`: a package whose types are elsewhere.
fn write(
    files: &[PathBuf],
    includes: &[&Path],
    out: &Path,
    outside: Option<(&str, &str)>,
) -> Result<(), Box<dyn std::error::Error>> {
    std::fs::create_dir_all(out)?;
    let mut builder = tonic_build::configure().build_server(false).out_dir(out);
    if let Some((package, path)) = outside {
        builder = builder.extern_path(package, path);
    }
    Ok(builder.compile(files, includes)?)
}
