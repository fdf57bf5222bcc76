//! The server role.

use crate::Stop;
use crate::args::{ServerArgs, Talk};
use crate::interrupt::interrupted;
use airqueue_host::{ServerHandle, ServerOptions};
use std::time::Duration;

/// Serves until Ctrl-C.
pub(crate) fn run(args: &ServerArgs, talk: Talk) -> Result<(), Stop> {
    let options = ServerOptions {
        bind: args.bind,
        port: args.port,
        key: args.key()?,
        limits: args.limits(),
        namespace: None,
        tcp: !args.no_tcp,
        attends: args.attend.clone(),
    };
    let server = ServerHandle::start(&options)?;
    let who = if options.key.is_some() { "clients that know the key" } else { "everyone" };
    let without = server.no_tcp().map_or(String::new(), |why| format!("; no TCP load: {why}"));
    println!("listening on UDP {} for {who}{without}; Ctrl-C ends it", server.local_addr());
    if talk.verbose {
        eprintln!("limits: {:?}", options.limits);
    }
    while !interrupted() {
        if let Some(reason) = server.failure() {
            return Err(Stop::Failed(reason));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    server.stop();
    let stats = server.stats();
    println!(
        "{} sessions, {} runs, {} requests refused, {} datagrams ignored",
        stats.sessions_opened, stats.runs, stats.refused, stats.ignored
    );
    Ok(())
}
