//! Writes the manual pages of `airqueued` and `airqueue-endpoint`, and their completion for shells, below a share
//! directory: `cargo run -p airqueue-manual -- SHARE`. A program of its own, so that neither carries its manual.

#![allow(clippy::disallowed_methods)] // It writes files.

use clap::{Command, CommandFactory};
use clap_complete::Shell;
use std::path::Path;
use std::{env, fs, io};

#[allow(dead_code)] // The programs read the values.
#[path = "../../airqueued/src/commands/args.rs"]
mod daemon;
#[allow(dead_code)]
#[path = "../../airqueue-host/src/bin/airqueue-endpoint/args.rs"]
mod endpoint;

/// As `airqueue-endpoint` has it; its command line names it.
#[allow(dead_code)]
enum Stop {
    Failed(String),
}

/// Where shells look for completion, and what comes before and behind a program's name there.
const COMPLETIONS: [(Shell, &str, &str, &str); 3] = [
    (Shell::Bash, "bash-completion/completions", "", ""),
    (Shell::Zsh, "zsh/site-functions", "_", ""),
    (Shell::Fish, "fish/vendor_completions.d", "", ".fish"),
];

fn main() -> io::Result<()> {
    let share = env::args_os().nth(1).ok_or_else(|| io::Error::other("usage: man_pages SHARE"))?;
    let share = Path::new(&share);
    let pages = share.join("man/man1");
    fs::create_dir_all(&pages)?;
    for command in [daemon::Args::command(), endpoint::Args::command()] {
        let name = command.get_name().to_owned();
        for (shell, folder, before, behind) in COMPLETIONS {
            let folder = share.join(folder);
            fs::create_dir_all(&folder)?;
            let mut file = fs::File::create(folder.join(format!("{before}{name}{behind}")))?;
            clap_complete::generate(shell, &mut command.clone(), &name, &mut file);
        }
        // Commands that are hidden get no page; `help` only repeats the others.
        clap_mangen::generate_to(visible(command.disable_help_subcommand(true)), &pages)?;
    }
    Ok(())
}

fn visible(command: Command) -> Command {
    command.mut_subcommands(|each| visible(each).disable_help_subcommand(true))
}
