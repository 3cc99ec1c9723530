//! `keygen`: a key to sign reports with.

use crate::exit::{Exit, Stop};
use cetp_reports::key::PrivateKey;
use std::path::PathBuf;

/// Arguments of `keygen`.
#[derive(clap::Args)]
pub struct KeygenArgs {
    /// The file for the private key, which only you can read; the public one lies beside it as FILE.pub.pem
    #[arg(value_name = "FILE.pem")]
    file: PathBuf,
}

/// Carries out `keygen`.
pub fn keygen(args: &KeygenArgs) -> Result<Exit, Stop> {
    let key = PrivateKey::generate()?;
    let public = args.file.with_extension("pub.pem");
    if public.exists() {
        return Err(Stop::usage(format!("{} is there already", public.display())));
    }
    key.write_new(&args.file)?;
    crate::forms::write(&public, &key.public().to_pem()?)?;
    anstream::println!("private key: {}", args.file.display());
    anstream::println!("public key:  {}", public.display());
    anstream::println!("fingerprint: {}", key.public().fingerprint());
    Ok(Exit::Good)
}
