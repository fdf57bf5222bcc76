//! Running a function inside another network namespace.

use crate::error::{HostError, words};
use nix::sched::{CloneFlags, setns};
use std::fs::File;
use std::io;
use std::path::Path;

/// Runs `work` inside the network namespace at `path` (for example `/run/netns/x` or
/// `/proc/self/fd/7`), or right here if there is none.
///
/// A scratch thread enters the namespace and ends with the work, so the process stays in its own;
/// a socket that the work opened stays in the namespace.
pub fn within<T: Send>(
    path: Option<&Path>,
    work: impl FnOnce() -> Result<T, HostError> + Send,
) -> Result<T, HostError> {
    let Some(path) = path else { return work() };
    let failed = |error: io::Error| HostError::Namespace {
        path: path.to_owned(),
        reason: words(&error),
        denied: error.kind() == io::ErrorKind::PermissionDenied,
    };
    let namespace = File::open(path).map_err(failed)?;
    std::thread::scope(|scope| {
        let scratch = scope.spawn(|| {
            setns(&namespace, CloneFlags::CLONE_NEWNET).map_err(|e| failed(e.into()))?;
            work()
        });
        scratch.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_namespace_is_named() {
        let error = within(Some(Path::new("/run/netns/no-such")), || Ok(())).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("/run/netns/no-such") && text.contains("no such file"), "{text}");
    }

    #[test]
    fn a_file_that_is_no_namespace_is_refused() {
        let error = within(Some(Path::new("/dev/null")), || Ok(())).unwrap_err();
        assert!(error.to_string().contains("/dev/null"), "{error}");
    }
}
