//! The records of a run: one row per planned packet.

/// Marks a time that does not exist: not sent, not stamped, lost.
pub const MISSING: i64 = i64::MIN;

/// Columns of equal length, row `i` is the packet with sequence number `i`. Times are nanoseconds;
/// `scheduled`, `sent` and `kernel_tx` on the sender's clock since the sender's start of the run,
/// `received` on the receiver's clock since an arbitrary epoch of its own (the offset between the
/// two clocks is unknown and constant but for skew and steps).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Records {
    /// Planned send time.
    pub scheduled_ns: Vec<i64>,
    /// When the program handed the packet to the kernel, or [`MISSING`] if it never left.
    pub sent_ns: Vec<i64>,
    /// Kernel transmit timestamp, or [`MISSING`] (only a sample of the packets has one).
    pub kernel_tx_ns: Vec<i64>,
    /// Kernel receive timestamp of the first copy, or [`MISSING`] if lost.
    pub received_ns: Vec<i64>,
    /// Flow of each packet.
    pub flow: Vec<u8>,
    /// IP packet size in bytes.
    pub size_bytes: Vec<u16>,
    /// Traffic classes; `None` if they were not recorded, as by versions that did not know them.
    pub classes: Option<Classes>,
}

/// The traffic classes of the packets (see [`Segment::traffic_class`](crate::plan::Segment::traffic_class)), a row for each row
/// of [`Records`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Classes {
    /// As the sender wrote it.
    pub sent: Vec<u8>,
    /// As the first copy had it on arrival; 0 for a packet that did not arrive.
    pub received: Vec<u8>,
}

/// Reports of the two hosts about themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostReport {
    /// Packets that the sending host's own buffer refused.
    pub send_blocked: u64,
    /// Packets that overflowed the receiving host's socket buffer, as its kernel counted them.
    pub receive_overflow: u64,
    /// Second and later copies of a packet.
    pub duplicates: u64,
    /// Wall-clock steps seen while mapping timestamps, sender and receiver together.
    pub clock_steps: u64,
    /// Whether receive times are the kernel's (otherwise the program's).
    pub kernel_receive_timestamps: bool,
    /// Whether the server also carried packets of other clients during the run.
    pub shared: bool,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// The plan was carried out.
    Complete,
    /// The user stopped it.
    Cancelled,
    /// The sender received nothing from the receiver for too long and stopped.
    ReceiverSilent,
    /// The receiver received nothing for too long although packets were due.
    SenderSilent,
}

/// One run, whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Packet rows; cut after the last packet that was attempted when the run ended early.
    pub records: Records,
    /// Endpoint self-reports.
    pub host: HostReport,
    /// How it ended.
    pub end: RunEnd,
}
