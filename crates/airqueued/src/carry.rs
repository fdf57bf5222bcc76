//! Carrying a transaction out on this machine.

use crate::guard;
use crate::machine;
use crate::points::Points;
use crate::state::{Locked, State};
use airqueue_control::point::PointError;
use airqueue_control::transaction::{Action, Done, Outcome, Transaction};

/// Who takes over if this process dies.
#[derive(Clone, Copy)]
pub enum Company<'a> {
    /// A guard, which is started if there is none.
    Guard(&'a State),
    /// Nobody but a successor: this process is the guard.
    None,
}

/// Does what the transaction says until it ends.
pub fn carry(
    mut work: Transaction,
    lock: &Locked,
    points: &mut Points,
    company: Company,
) -> Outcome {
    loop {
        let done = match work.action() {
            Action::End(outcome) => return outcome.clone(),
            Action::Write(journal) => match lock.write(journal) {
                Ok(()) => Done::Well,
                Err(error) => Done::Badly(error.to_string()),
            },
            Action::Guard => accompanied(company),
            // The guard may have died since.
            Action::Put(set, to) => match (accompanied(company), work.goes_back()) {
                (Done::Badly(why), false) => Done::Badly(why),
                _ => told(points.of(set).and_then(|point| point.put(set, to))),
            },
            Action::Check(set, wanted) => told(points.check(set, wanted)),
        };
        work.on_result(done, machine::now());
    }
}

fn accompanied(company: Company) -> Done {
    match company {
        Company::Guard(state) => match guard::ensure(state) {
            Ok(()) => Done::Well,
            Err(why) => Done::Badly(why),
        },
        Company::None => Done::Well,
    }
}

fn told(result: Result<(), PointError>) -> Done {
    match result {
        Ok(()) => Done::Well,
        Err(PointError::Gone(what)) => Done::Gone(what),
        Err(error) => Done::Badly(error.to_string()),
    }
}
