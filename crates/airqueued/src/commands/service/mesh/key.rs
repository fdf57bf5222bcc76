//! The key of a mesh, from a file that its owner alone may read.

use airqueue_control::mesh::MeshKey;
use nix::fcntl::OFlag;
use nix::unistd::geteuid;
use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// A longer key is a wrong file.
const LONGEST: u64 = 4096;

/// Reads a key; white space around it does not count. The error says what is wrong with which file, and what to do.
pub(super) fn read(path: &Path) -> Result<MeshKey, String> {
    let wrong = |what: String| format!("the file {} {what}", path.display());
    let unread = |error: std::io::Error| wrong(format!("cannot be read: {error}"));
    // A pipe in the file's place would be waited for.
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(OFlag::O_NONBLOCK.bits());
    let file = options.open(path).map_err(unread)?;
    // What was opened, not what has the name by now.
    let about = file.metadata().map_err(unread)?;
    if !about.is_file() {
        return Err(wrong("is not a file of bytes".to_owned()));
    }
    if about.mode() & 0o077 != 0 {
        let mode = about.mode() & 0o777;
        return Err(wrong(format!(
            "may be read or changed by others (mode {mode:03o}); its owner alone may: chmod 600"
        )));
    }
    if ![0, geteuid().as_raw()].contains(&about.uid()) {
        return Err(wrong(
            "is another user's; it must be root's, or that of airqueued's user".into(),
        ));
    }
    let mut secret = Vec::new();
    file.take(LONGEST + 1).read_to_end(&mut secret).map_err(unread)?;
    if secret.len() as u64 > LONGEST {
        return Err(wrong(format!("has more than {LONGEST} bytes")));
    }
    MeshKey::new(secret.trim_ascii()).ok_or_else(|| {
        wrong("has a key of less than 16 bytes; make one: head -c 32 /dev/urandom | base64".into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_key_is_its_owners_alone_and_long_enough() {
        let folder = std::env::temp_dir().join(format!("airqueued-key-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("key");
        let written = |text: &str, mode: u32| {
            fs::write(&file, text).unwrap();
            fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
            read(&file).map(drop)
        };
        assert_eq!(written("0123456789abcdef\n", 0o600), Ok(()));
        assert_eq!(written("0123456789abcdef", 0o400), Ok(()));
        for (text, mode, expected) in [
            ("0123456789abcde\n\n\n", 0o600, "less than 16 bytes"),
            ("0123456789abcdef", 0o640, "may be read or changed by others (mode 640)"),
            ("0123456789abcdef", 0o602, "chmod 600"),
            (&"k".repeat(5000), 0o600, "more than 4096 bytes"),
        ] {
            let error = written(text, mode).unwrap_err();
            assert!(error.contains(expected) && error.contains("/key "), "{error}");
        }
        assert!(read(&folder).map(drop).unwrap_err().contains("is not a file"));
        assert!(read(&folder.join("none")).map(drop).unwrap_err().contains("cannot be read"));
        fs::remove_dir_all(&folder).unwrap();
    }
}
