//! The client role.

use crate::args::{ClientArgs, Talk};
use crate::interrupt::interrupted;
use crate::{Stop, plan};
use airqueue_host::capture_file::CaptureWriter;
use airqueue_host::client::RunState;
use airqueue_host::{ClientHandle, ClientOptions};
use airqueue_probe::records::{MISSING, Run, RunEnd};
use serde_json::{Value, json};
use std::io::IsTerminal;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How often the run's state is polled.
const GLANCE: Duration = Duration::from_millis(100);
/// Longest wait for the end of other clients' runs.
const WAITING: Duration = Duration::from_secs(600);
/// How long the server may take to send its records after the run.
const COLLECTING: Duration = Duration::from_secs(60);

/// Carries the sessions out and writes the capture.
pub(crate) fn run(args: &ClientArgs, talk: Talk) -> Result<(), Stop> {
    let options = ClientOptions {
        host: args.host.clone(),
        port: args.port,
        key: args.key()?,
        flows: plan::FLOWS,
        others: 0,
        local_ports: Vec::new(),
        namespace: None,
        timeout: Duration::from_secs_f64(args.timeout),
        max_wait: WAITING,
    };
    let client = ClientHandle::connect(&options)?;
    let mut capture = CaptureWriter::create(&args.output, &header(args).to_string())?;
    if talk.verbose {
        eprintln!(
            "{} packets/s of {} bytes, {}, for {} s, {} times, with {} port {}",
            args.rate,
            args.size,
            args.direction.name(),
            args.duration,
            args.sessions,
            args.host,
            args.port
        );
    }
    let began = Instant::now();
    for index in 0..args.sessions {
        let started = began.elapsed();
        let run = carry_out(&client, args, talk)?;
        let mut meta = plan::meta(args, index);
        meta["started_s"] = json!(started.as_secs_f64());
        meta["elapsed_s"] = json!((began.elapsed() - started).as_secs_f64());
        capture.append_run(&meta.to_string(), &run)?;
        report(args, index, &run);
        if interrupted() {
            println!("interrupted; {} holds what there was", args.output.display());
            return Err(Stop::Interrupted);
        }
        judge(&run)?;
    }
    println!("wrote {}; now: airqueue analyze {0}", args.output.display());
    Ok(())
}

/// One session, cancelled by Ctrl-C.
fn carry_out(client: &ClientHandle, args: &ClientArgs, talk: Talk) -> Result<Run, Stop> {
    let visible = std::io::stderr().is_terminal() && !talk.quiet && !talk.no_progress;
    client.start(&plan::session(args), args.direction.direction())?;
    let mut cancelled = false;
    loop {
        let (state, progress) = client.poll();
        match state {
            RunState::Failed(reason) => return Err(Stop::Failed(reason)),
            RunState::Done | RunState::Collecting => break,
            RunState::Running => {}
        }
        if interrupted() && !cancelled {
            client.cancel()?;
            cancelled = true;
        }
        if visible {
            eprint!(
                "\r{:6.1} of {:.1} s, {} received, {} lost ",
                progress.elapsed.as_secs_f64(),
                progress.planned.as_secs_f64(),
                progress.received,
                progress.lost
            );
        }
        std::thread::sleep(GLANCE);
    }
    if visible {
        eprint!("\r{:60}\r", "");
    }
    Ok(client.finish(COLLECTING)?)
}

fn report(args: &ClientArgs, index: u32, run: &Run) {
    let present = |column: &[i64]| column.iter().filter(|t| **t != MISSING).count();
    let (sent, received) = (present(&run.records.sent_ns), present(&run.records.received_ns));
    println!(
        "session {} of {}: {sent} sent, {received} received, {} lost, {} blocked by the sender's own host",
        index + 1,
        args.sessions,
        sent.saturating_sub(received),
        run.host.send_blocked
    );
}

/// A run that one end had to stop is in the capture, but is not a success.
fn judge(run: &Run) -> Result<(), Stop> {
    let text = match run.end {
        RunEnd::Complete | RunEnd::Cancelled => return Ok(()),
        RunEnd::ReceiverSilent => "the receiver fell silent, so the sender stopped",
        RunEnd::SenderSilent => "nothing arrived any more although packets were due",
    };
    Err(Stop::Failed(format!("{text}; check that both machines are up, then measure again")))
}

/// No `profile`, which would name a method; this is a single flood.
fn header(args: &ClientArgs) -> Value {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    json!({
        "airqueue": env!("CARGO_PKG_VERSION"),
        "direction": args.direction.name(),
        "target": args.host,
        "created": rfc3339(now.as_secs()),
    })
}

/// Seconds since 1970 as a date and time in UTC (RFC 3339). The calendar is cut into eras of 400
/// years, and years begin in March, so that the leap day comes last.
fn rfc3339(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let day_zero = days + 719_468; // days from 1 March of year 0 to 1 January 1970
    let (era, day) = (day_zero / 146_097, day_zero % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let in_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * in_year + 2) / 153;
    let in_month = in_year - (153 * month + 2) / 5 + 1;
    let (year, month) =
        if month < 10 { (era * 400 + year, month + 3) } else { (era * 400 + year + 1, month - 9) };
    let (hour, minute, second) = (rest / 3_600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{in_month:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_written_as_rfc_3339_says() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(rfc3339(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(rfc3339(1_709_251_200), "2024-03-01T00:00:00Z");
        assert_eq!(rfc3339(4_102_444_799), "2099-12-31T23:59:59Z");
    }
}
