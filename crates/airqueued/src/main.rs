//! Settings of queues on a Linux machine: applied, confirmed and taken back.

use airqueued::commands::{self, args::Args};
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    commands::run(&Args::parse())
}
