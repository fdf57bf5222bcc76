//! Settings of queues on a Linux machine: applied, confirmed and taken back.

use airqueued::commands::{self, args::Args};
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    match Args::try_parse() {
        Ok(args) => commands::run(&args),
        Err(said) => commands::refuse(&said),
    }
}
