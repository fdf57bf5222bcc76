//! Both ends of a measurement in one small program that needs no Python: `server` waits on the wired
//! machine, `client` floods a path once and leaves a capture that `airqueue analyze` reads.

// This is a shell (ARCHITECTURE.md, invariant 1).
#![allow(clippy::disallowed_methods)]

mod args;
mod client;
mod interrupt;
mod plan;
mod server;

use clap::Parser;
use std::process::ExitCode;

/// Why a role ended early.
pub(crate) enum Stop {
    /// One sentence for the user.
    Failed(String),
    /// The user pressed Ctrl-C.
    Interrupted,
}

impl<E: std::error::Error> From<E> for Stop {
    fn from(error: E) -> Stop {
        Stop::Failed(error.to_string())
    }
}

fn main() -> ExitCode {
    interrupt::listen();
    let args::Args { role, talk } = args::Args::parse();
    let result = match role {
        args::Role::Server(args) => server::run(&args, talk),
        args::Role::Client(args) => client::run(&args, talk),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(Stop::Failed(text)) => {
            eprintln!("airqueue-endpoint: {text}");
            ExitCode::from(1)
        }
        Err(Stop::Interrupted) => ExitCode::from(130),
    }
}
