//! Parameters of channel access in hostapd's configuration, and hostapd's defaults where it has none.

use crate::radio::edca::{Parameters, letters};
use crate::radio::error::RadioError;
use crate::radio::own_edca;
use airqueue_control::plan::Category;
use serde::Serialize;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Longest file that is read as a configuration.
const LONGEST: u64 = 1 << 20;
/// Folders in which Debian and OpenWrt keep hostapd's configurations.
const FOLDERS: [&str; 4] = ["/etc/hostapd", "/run/hostapd", "/run", "/var/run"];

/// The folders in which configurations are looked for.
pub fn folders() -> Vec<PathBuf> {
    FOLDERS.map(PathBuf::from).into()
}

/// Where a value comes from that hostapd itself does not tell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A configuration of hostapd.
    Configuration(PathBuf),
    /// The default, since no configuration says otherwise.
    Default,
    /// What mac80211 begins with, since hostapd sets nothing there.
    Kernel,
}

impl std::fmt::Display for Source {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Configuration(path) => write!(out, "from {}", path.display()),
            Self::Default => write!(out, "the default of hostapd"),
            Self::Kernel => {
                write!(out, "mac80211's default; hostapd sets tx_queue_* at a radio's first BSS")
            }
        }
    }
}

/// The keys of what is announced (`wmm_ac_*`), with values.
pub fn announced(category: Category, parameters: &Parameters) -> [(String, u16); 4] {
    let key = |last: &str| format!("wmm_ac_{}_{last}", letters(category));
    [
        (key("aifs"), u16::from(parameters.aifsn)),
        (key("cwmin"), u16::from(parameters.ecw_min)),
        (key("cwmax"), u16::from(parameters.ecw_max)),
        (key("txop_limit"), parameters.txop_32us),
    ]
}

/// What a configuration has an access point announce for a category.
pub fn announced_by(text: &str, category: Category) -> Parameters {
    let default = Parameters::default_of(category);
    let [aifsn, ecw_min, ecw_max, txop] =
        announced(category, &default).map(|(key, default)| number(text, &key).unwrap_or(default));
    let byte = |value: u16, default| u8::try_from(value).unwrap_or(default);
    Parameters {
        aifsn: byte(aifsn, default.aifsn),
        ecw_min: byte(ecw_min, default.ecw_min),
        ecw_max: byte(ecw_max, default.ecw_max),
        txop_32us: txop,
    }
}

/// What a configuration has the access point use for its own frames of a category: windows are numbers of slots,
/// the TXOP is in milliseconds with one decimal (`hostapd_config_tx_queue`).
pub fn own_by(text: &str, category: Category) -> Parameters {
    let default = own_default(category);
    let queue = own_edca::number(category);
    let key = |last: &str| format!("tx_queue_data{queue}_{last}");
    let exponent = |last: &str, default| {
        let window = number::<u16>(text, &key(last));
        window.map_or(default, |window| (window + 1).checked_ilog2().unwrap_or(0) as u8)
    };
    let burst = value(text, &key("burst")).and_then(|burst| burst.parse::<f64>().ok());
    let burst = burst.filter(|milliseconds| (0.0..=2000.0).contains(milliseconds));
    Parameters {
        aifsn: number(text, &key("aifs")).unwrap_or(default.aifsn),
        ecw_min: exponent("cwmin", default.ecw_min),
        ecw_max: exponent("cwmax", default.ecw_max),
        // `hostapd_set_tx_queue_params`: tenths of milliseconds, rounded to 32 microseconds.
        txop_32us: burst.map_or(default.txop_32us, |ms| ((ms * 1000.0 + 16.0) / 32.0) as u16),
    }
}

/// hostapd's defaults for the access point's own frames (`hostapd_config_defaults`, and
/// 802.11-2016, table 9-138 of what access points may use).
pub fn own_default(category: Category) -> Parameters {
    let announced = Parameters::default_of(category);
    match category {
        Category::Background => announced,
        Category::BestEffort => Parameters { ecw_max: 6, ..announced },
        Category::Video | Category::Voice => Parameters { aifsn: 1, ..announced },
    }
}

/// Whether a configuration is that of an interface's radio.
pub fn names(text: &str, interface: &str) -> bool {
    settings(text).any(|(key, value)| matches!(key, "interface" | "bss") && value == interface)
}

/// Whether an interface is the first BSS of a configuration: `hostapd_tx_queue_params` sets own queues there alone.
pub fn is_first(text: &str, interface: &str) -> bool {
    value(text, "interface") == Some(interface)
}

/// What `ieee80211_set_wmm_default` gives an access point before anybody sets anything: the numbers that hostapd
/// announces by default, with the windows of OFDM.
pub fn kernel_default(category: Category) -> Parameters {
    Parameters::default_of(category)
}

/// The configuration of an interface's radio, looked for in folders.
pub fn find(interface: &str, folders: &[PathBuf]) -> Option<(PathBuf, String)> {
    for folder in folders {
        let Ok(entries) = fs::read_dir(folder) else { continue };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths.into_iter().filter(|path| is_configuration(path)) {
            if let Ok(text) = read(&path)
                && names(&text, interface)
            {
                return Some((path, text));
            }
        }
    }
    None
}

/// Reads a configuration that a user names.
pub fn read(path: &Path) -> Result<String, RadioError> {
    let failed = |reason: String| RadioError::File {
        action: "read",
        path: path.to_owned(),
        reason,
        denied: false,
    };
    let kind = fs::metadata(path).map_err(|error| failed(error.to_string()))?;
    if !kind.is_file() {
        return Err(failed("it is no file".to_owned()));
    }
    let file = fs::OpenOptions::new().read(true).open(path);
    let mut text = Vec::new();
    let mut file = file.map_err(|error| failed(error.to_string()))?.take(LONGEST + 1);
    file.read_to_end(&mut text).map_err(|error| failed(error.to_string()))?;
    if text.len() as u64 > LONGEST {
        return Err(failed("it is longer than 1 MB".to_owned()));
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn is_configuration(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("hostapd") && name.ends_with(".conf")
}

/// Lines `key=value`; hostapd knows comments at the beginning of lines only.
fn settings(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.trim_end().split_once('='))
}

/// The last value of a key: hostapd reads from top to bottom.
fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    settings(text).filter(|each| each.0 == key).last().map(|each| each.1)
}

fn number<T: std::str::FromStr>(text: &str, key: &str) -> Option<T> {
    value(text, key)?.parse().ok()
}
